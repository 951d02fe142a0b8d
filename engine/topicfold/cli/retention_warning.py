"""Warns of a retention by which Kafka deletes messages, once `topicfold enforce` has written it there.

What applied before a change is compared with what applies after it, whatever was changed, and on whatever level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from topicfold.cli.steps import counted_by_kind
from topicfold.errors import TopicfoldError, Wait
from topicfold.model.names import NON_PERSISTENT
from topicfold.model.policy.changes import RETENTION
from topicfold.model.policy.description import EnforcedBy
from topicfold.model.policy.kafka_settings import kafka_settings, lowers

if TYPE_CHECKING:
    from topicfold.cli.session import Session
    from topicfold.client.desired import Step

WRITTEN = "'topicfold enforce' writes it into Kafka, while that runs"
_LOST = "and no rollback brings that back"
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
        before = _limits(session, name)
    except Wait:
        raise
    except TopicfoldError:
        return lambda: _UNTOLD

    def warning() -> str:
        try:
            return _warning(before, _limits(session, name))
        except TopicfoldError:
            return _UNTOLD

    return warning


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


def _limits(session: Session, name: str) -> dict[str, str]:
    """Return Kafka's settings for the retention of a topic or a namespace; none where none applies."""
    if "://" not in name:
        value = session.client.get_namespace_policy(name, RETENTION)
    else:
        found = session.client.effective(name)["policies"][RETENTION]
        value = found["value"] if found["enforcedBy"] == EnforcedBy.KAFKA.value else None
    return kafka_settings(RETENTION, value) if value else {}


def _warning(before: dict[str, str], after: dict[str, str]) -> str:
    # Of a limit of Kafka's own nothing is known here.
    lowered = any(lowers(before.get(setting, ""), limit) is not False for setting, limit in after.items())
    if not (lowered or (before and not after)):
        return ""
    beyond = "it" if after else "the retention that applies instead"
    return f"{WRITTEN}; Kafka then deletes what is beyond {beyond}, {_LOST}"
