"""Warns of a retention by which Kafka deletes messages, once `topicfold enforce` has written it there.

What applied before a change is compared with what applies after it, whatever was changed, and on whatever level.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from topicfold.errors import TopicfoldError
from topicfold.model.names import NON_PERSISTENT
from topicfold.model.policy.changes import RETENTION
from topicfold.model.policy.description import EnforcedBy
from topicfold.model.policy.kafka_settings import kafka_settings, lowers

if TYPE_CHECKING:
    from topicfold.cli.session import Session

WRITTEN = "'topicfold enforce' writes it into Kafka, while that runs"


def once_written(warning: str) -> str:
    """Return such a warning with how it comes to that."""
    return warning and f"{WRITTEN}; {warning}"


def warning_after(session: Session, name: str) -> Callable[[], str]:
    """Return what tells, after a change to a topic or a namespace, what Kafka deletes once it is written there.

    It tells "" where that is nothing.
    """
    if name.startswith(f"{NON_PERSISTENT}://"):
        return lambda: ""
    before = _limits(session, name)
    return lambda: _warning(before, _limits(session, name))


def _limits(session: Session, name: str) -> dict[str, str]:
    """Return Kafka's settings for the retention of a topic or a namespace; none where none is told, or none applies."""
    try:
        if "://" not in name:
            value = session.client.get_namespace_policy(name, RETENTION)
        else:
            found = session.client.effective(name)["policies"][RETENTION]
            value = found["value"] if found["enforcedBy"] == EnforcedBy.KAFKA.value else None
    except TopicfoldError:
        return {}
    return kafka_settings(RETENTION, value) if value else {}


def _warning(before: dict[str, str], after: dict[str, str]) -> str:
    # Of a limit of Kafka's own nothing is known here.
    lowered = any(lowers(before.get(setting, ""), limit) is not False for setting, limit in after.items())
    if not (lowered or (before and not after)):
        return ""
    return (
        f"Kafka then deletes what is beyond {'it' if after else 'its own retention'}, and no rollback brings that back"
    )
