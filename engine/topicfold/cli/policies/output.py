"""How values of policies are shown: as Pulsar's JSON, or for people, with the members of objects one a line.

What is unset is shown as `null`, as Pulsar's command does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from topicfold.cli.output import Output
from topicfold.model.policy.description import EMPTY_ANSWER, LOCAL_CLUSTER, NO_ANSWER, Policy
from topicfold.model.policy.values import MapOf, shown_value

if TYPE_CHECKING:
    from topicfold.client import Namespace, Topic


def stored_policy(topic: Topic, policy: Policy, entry: str | None, *, is_global: bool) -> Any:
    """Return what a topic's record says of a policy, as reading just that policy answers; None where it is unset.

    `entry` names one entry of a policy that is a map.
    """
    said = (topic.policies or {}).get("global" if is_global else "local")
    value = (said or {}).get(policy.name)
    if value is None:
        unset = policy.topic.absent if said is None and policy.topic.absent is not None else policy.topic.unset
        return None if unset in (EMPTY_ANSWER, NO_ANSWER) else unset
    shown = shown_value(policy.kind, value)
    if entry and isinstance(policy.kind, MapOf):
        return (shown.get(entry) or {}).get(policy.topic.path.rpartition("/")[2])
    return shown


def stored_namespace_policy(namespace: Namespace, policy: Policy) -> Any:
    """Return the same of a namespace's record."""
    value = namespace.policies.get(policy.name)
    if value is None:
        unset = policy.namespace.unset if policy.namespace else None
        return None if unset in (EMPTY_ANSWER, NO_ANSWER, LOCAL_CLUSTER) else unset
    return shown_value(policy.kind, value)


def show_policy(output: Output, value: Any) -> None:
    """Print a policy's value; None is unset."""
    if isinstance(value, Mapping) and value:
        output.show(value, list(value), ("MEMBER", "VALUE"), list(_members(value)))
    else:
        output.show_line(value, value_line(value))


def value_line(value: Any) -> str:
    """Return a value on one line: `600`, `Shared,Failover`, `retentionTimeInMinutes=10,retentionSizeInMB=-1`."""
    if isinstance(value, Mapping) and value:
        return ",".join(f"{name}={text}" for name, text in _members(value))
    if isinstance(value, list) and value:
        return ",".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)


def change_line(value: Any) -> str:
    """Return on one line the value that was set; secrets are masked, for what is said of changes ends in logs."""
    if not isinstance(value, Mapping):
        return value_line(value)
    return value_line({name: "****" if "Secret" in name else member for name, member in value.items()})


def _members(value: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield the members of an object and of those inside, by their path."""
    for name, member in value.items():
        if isinstance(member, Mapping) and member:
            yield from _members(member, f"{above}{name}.")
        else:
            yield f"{above}{name}", value_line(member)
