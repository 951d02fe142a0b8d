"""`topicfold topics effective`: what takes effect on a topic, where it comes from, and who sees to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from topicfold.cli.arguments import At, Topic
from topicfold.cli.policy_output import value_line
from topicfold.cli.session import Session

_NOBODY_SET = ("broker", "–")
_HEADER = ("POLICY", "ORIGIN", "ENFORCED BY", "VALUE")


def effective(session: Session, topic: Topic, at: At = None) -> None:
    """Show which policies take effect on a topic. And from which level; -o json also prints the values of every level.

    A value of the topic comes before one for all clusters, then the namespace's, then the broker's. Listed first are
    those that topic and namespace set. --at shows their values at that time; the broker's are always the current ones.

    \b
    Examples:
      topicfold topics effective orders
      topicfold topics effective orders --at 1234 -o json
    """
    found = session.client.effective(topic, at=at)
    policies = found["policies"]
    rows = [row for name, policy in policies.items() for row in _rows(name, policy)]
    rows.sort(key=lambda row: row[1] in _NOBODY_SET)
    session.output.show(found, list(policies), _HEADER, rows, spare=("ENFORCED BY",))


def _rows(name: str, policy: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the row of a policy; of one that is merged, one for each part, with the level that it comes from."""
    value, enforcer = policy["value"], policy["enforcedBy"]
    origins: Mapping[str, str] = policy["origins"]
    if len(set(origins.values())) < 2:
        yield name, policy["origin"] or "–", enforcer, value_line(value)
        return
    for member, origin in origins.items():
        yield f"{name}.{member}", origin, enforcer, value_line(value[member])
