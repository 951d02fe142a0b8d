"""Warns of policies by which Kafka deletes messages, once `topicfold enforce` has written them there.

What applied before a change is compared with what applies after it, whatever was changed, and on whatever level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from topicfold.errors import TopicfoldError, Wait
from topicfold.model.names import NON_PERSISTENT
from topicfold.model.policy.changes import RETENTION
from topicfold.model.policy.description import EnforcedBy
from topicfold.model.policy.kafka_settings import COMPACTION, kafka_settings, keeps_less

if TYPE_CHECKING:
    from topicfold.cli.session import Session

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


def warning_before(session: Session, topic: str, version: int | str) -> str:
    """Return what `warning_after` would tell of giving a topic back what a version said, named by its offset."""
    try:
        now = session.client.effective(topic)["policies"]
        past = session.client.get_topic_at(topic, version).readable().policies or {}
    except TopicfoldError:
        return _UNTOLD
    after: dict[str, str] = {}
    for policy in _DELETING:
        said = (past.get("local"), past.get("global"), {policy: now[policy]["chain"].get("namespace")})
        values = [found[policy] for found in said if found and found.get(policy) is not None]
        after |= kafka_settings(policy, values[0]) if values else {}
    return _warning(_enforced(now), after)


def _settings(session: Session, name: str) -> dict[str, str]:
    """Return Kafka's settings that a topic or a namespace asks for, of those by which Kafka deletes messages."""
    if "://" in name:
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
