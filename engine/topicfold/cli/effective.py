"""`topicfold topics effective`: what takes effect on a topic, where it comes from, and who sees to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from topicfold.cli.arguments import At, Topic
from topicfold.cli.policies.output import value_line
from topicfold.cli.session import Session
from topicfold.model.names import NON_PERSISTENT
from topicfold.model.policy.description import EnforcedBy

SetOnly = Annotated[
    bool,
    typer.Option(
        "--set-only",
        help="Leave out what neither topic nor namespace sets, unless the broker's value is enforced all the same.",
    ),
]

_NOBODY_SET = ("broker", "–")
_HEADER = ("POLICY", "ORIGIN", "ENFORCED BY", "VALUE")


def effective(session: Session, topic: Topic, at: At = None, set_only: SetOnly = False) -> None:
    """Show which policies take effect on a topic. And from which level; -o json also prints the values of every level.

    A value of the topic comes before one for all clusters, then the namespace's, then the broker's: the server's
    policy_defaults, else Pulsar's own. Listed first are those that topic and namespace set. --at shows their values at
    that time; the broker's are always the current ones.

    \b
    Examples:
      topicfold topics effective orders
      topicfold topics effective orders --set-only
      topicfold topics effective orders --at 1234 -o json
    """
    from topicfold.model.policy.kafka_settings import ENFORCED

    found = session.client.effective(topic, at=at)
    policies = {name: policy for name, policy in found["policies"].items() if not set_only or _is_set(policy)}
    rows = [row for name, policy in policies.items() for row in _rows(name, policy)]
    rows.sort(key=lambda row: row[1] in _NOBODY_SET)
    session.output.show({**found, "policies": policies}, list(policies), _HEADER, rows)
    if not policies:
        session.output.note("neither topic nor namespace sets a policy")
    left = [name for name in ENFORCED if name in policies and policies[name]["enforcedBy"] == EnforcedBy.NOTHING.value]
    if left and not found["name"].startswith(f"{NON_PERSISTENT}://"):
        session.output.note(f"Kafka is not told of {', '.join(left)}: in Kafka its own settings hold instead")


def _is_set(policy: Mapping[str, Any]) -> bool:
    origins = {policy["origin"] or "–", *policy["origins"].values()}
    return not origins.issubset(_NOBODY_SET) or policy["enforcedBy"] != EnforcedBy.NOTHING.value


def _rows(name: str, policy: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the row of a policy; of one that is merged, one for each part, with the level that it comes from."""
    value, enforcer = policy["value"], policy["enforcedBy"]
    origins: Mapping[str, str] = policy["origins"]
    if len(set(origins.values())) < 2:
        yield name, policy["origin"] or "–", enforcer, value_line(value)
        return
    for member, origin in origins.items():
        yield f"{name}.{member}", origin, enforcer, value_line(value[member])
