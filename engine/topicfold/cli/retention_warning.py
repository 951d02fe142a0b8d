"""Warns of policies by which Kafka deletes messages, once `topicfold enforce` has written them there.

What applied before a change is compared with what applies after it, whatever was changed, and on whatever level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from topicfold.cli.steps import counted_by_kind
from topicfold.errors import TopicfoldError, Wait
from topicfold.model.names import NON_PERSISTENT, is_topic
from topicfold.model.policy.changes import RETENTION
from topicfold.model.policy.description import EnforcedBy
from topicfold.model.policy.kafka_settings import COMPACTION, kafka_settings, keeps_less, lowers

if TYPE_CHECKING:
    from topicfold.cli.session import Session
    from topicfold.client.desired import Step
    from topicfold.client.history_answers import HistoryEntry

WRITTEN = "'topicfold enforce' writes it into Kafka, while that runs"
_LOST = "and no rollback brings that back"
_DELETING = (RETENTION, COMPACTION)
_UNTOLD = f"{WRITTEN}; where that keeps less than before, Kafka then deletes the rest, {_LOST}"


def warning_after(session: Session, name: str) -> Callable[[], str]:
    """Return what tells, after a change to a topic or a namespace, what Kafka deletes once it is written there.

    It tells "" where that is nothing, and what may be where the server does not tell.

    Raises:
        Wait: the server does not answer now, or not this; nor would it change anything.
    """
    if name.startswith(f"{NON_PERSISTENT}://"):
        return lambda: ""
    try:
        before = _settings(session, name)
    except Wait:
        raise
    except TopicfoldError:
        return lambda: _UNTOLD

    def warning() -> str:
        try:
            return _warning(before, _settings(session, name))
        except TopicfoldError:
            return _UNTOLD

    return warning


def warning_before(session: Session, name: str, version: int | str, undone: Sequence[HistoryEntry]) -> str:
    """Return what to tell before a topic or a namespace goes back to a version, which undoes these changes.

    Where it is not known what changed, there are none.
    """
    if name.startswith(f"{NON_PERSISTENT}://") or (undone and not any(map(_concerns_messages, undone))):
        return ""
    if not is_topic(name):
        return _UNTOLD
    try:
        now = session.client.effective(name)["policies"]
        past = session.client.get_topic_at(name, version).readable().policies or {}
    except TopicfoldError:
        return _UNTOLD
    after: dict[str, str] = {}
    for policy in _DELETING:
        said = (past.get("local"), past.get("global"), {policy: now[policy]["chain"].get("namespace")})
        values = [found[policy] for found in said if found and found.get(policy) is not None]
        after |= kafka_settings(policy, values[0]) if values else {}
    return _warning(_enforced(now), after)


def _concerns_messages(entry: HistoryEntry) -> bool:
    return entry.changes is None or any(policy in each.path for each in entry.changes for policy in _DELETING)


def warning_of(steps: Iterable[Step]) -> str:
    """Return what tells that Kafka may keep less of what is there, once what `steps` say is written into it.

    It is "" if no step lowers, sets or removes a limit. Nobody is asked what applied before a limit was set, or applies
    once it is removed.
    """
    names = [step.name for step in steps if step.etag is not None and _may_keep_less(step)]
    return f"retention of {counted_by_kind(names)}: {_UNTOLD}" if names else ""


def _may_keep_less(step: Step) -> bool:
    if step.name.startswith(f"{NON_PERSISTENT}://"):
        return False
    limits = [each for each in step.differences if RETENTION in each.path]
    # Of neither 0 nor a missing limit Kafka is told.
    return any(not each.new or lowers(str(each.old or ""), str(each.new)) is not False for each in limits)


def _settings(session: Session, name: str) -> dict[str, str]:
    """Return Kafka's settings that a topic or a namespace asks for, of those by which Kafka deletes messages."""
    if is_topic(name):
        return _enforced(session.client.effective(name)["policies"])
    values = {policy: session.client.get_namespace_policy(name, policy) for policy in _DELETING}
    return _kafka_settings(values)


def _enforced(effective: Mapping[str, Any]) -> dict[str, str]:
    told = (policy for policy in _DELETING if effective[policy]["enforcedBy"] == EnforcedBy.KAFKA.value)
    return _kafka_settings({policy: effective[policy]["value"] for policy in told})


def _kafka_settings(values: Mapping[str, Any]) -> dict[str, str]:
    told = (kafka_settings(policy, value) for policy, value in values.items() if value is not None)
    return {setting: value for each in told for setting, value in each.items()}


def _warning(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    # Of a value of Kafka's own nothing is known here.
    changed = {each for each in before.keys() | after.keys() if before.get(each) != after.get(each)}
    less = {keeps_less(each, before.get(each), after.get(each)) for each in changed}
    if True in less:
        return f"{WRITTEN}; that keeps less than before: Kafka then deletes the rest, {_LOST}"
    return _UNTOLD if None in less else ""
