"""The hierarchy: which of a policy's values takes effect, and where it comes from.

The levels, by precedence: topic on this cluster, topic on all clusters, namespace, node. A level without a value, or
with one that does not count (`Policy.is_unset`), leaves the decision to the next level. So removing a value uncovers
the one below.

    >>> from topicfold.model.policy.table import BY_NAME
    >>> chain = resolve(BY_NAME["messageTTLInSeconds"], {Origin.NAMESPACE: {"messageTTLInSeconds": 60}})
    >>> chain.value, chain.origin.value
    (60, 'namespace')

Source: Pulsar's `HierarchyTopicPolicies` and `OffloadPoliciesImpl.mergeConfiguration`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from types import MappingProxyType

from topicfold.model.policy.description import Merge, Policy
from topicfold.model.policy.limits import Limits
from topicfold.model.policy.table import POLICIES
from topicfold.model.policy.values import Value

Policies = Mapping[str, Value]
"""Policies of one level, by name."""


class Origin(Enum):
    """A level."""

    TOPIC = "topic"
    GLOBAL = "global"
    NAMESPACE = "namespace"
    BROKER = "broker"


@dataclass(frozen=True, slots=True)
class Effective:
    """What takes effect for one policy.

    - `value`: None if no level has a value.
    - `origin`: the level of the whole value; if members are merged, the highest level with a part in it.
    - `origins`: the level of each member, if members are merged.
    - `chain`: the value of each level that has one.
    """

    value: Value
    origin: Origin | None
    origins: Mapping[str, Origin]
    chain: Mapping[Origin, Value]


_NOTHING: Mapping[str, Origin] = MappingProxyType({})

# Pulsar's system topics follow neither these policies of their own nor those of their namespace.
# Source: `isSystemTopic` in Pulsar's `AbstractTopic`.
_NOT_OF_SYSTEM_TOPICS = frozenset({"replicationClusters", "schemaCompatibilityStrategy"})
_NOT_FROM_NAMESPACE = frozenset({"publishRate", "dispatchRate", "schemaCompatibilityStrategy"})


def resolve(policy: Policy, levels: Mapping[Origin, Policies | None], *, is_system_topic: bool = False) -> Effective:
    """Return what takes effect for `policy`; without a broker's value in `levels`, the table's default is used."""
    chain: dict[Origin, Value] = {}
    for origin in Origin:
        if is_system_topic and _is_ignored(policy, origin):
            continue
        said = (levels.get(origin) or {}).get(policy.name)
        if said is None and origin is Origin.BROKER:
            said = policy.default
        if said is not None:
            chain[origin] = said
    counting = {
        origin: value for origin, value in chain.items() if origin is Origin.BROKER or not policy.is_unset(value)
    }
    if not counting:
        return Effective(None, None, _NOTHING, MappingProxyType(chain))
    first = next(iter(counting))
    if policy.merge is Merge.WHOLE:
        return Effective(counting[first], first, _NOTHING, MappingProxyType(chain))
    merged: dict[str, Value] = {}
    origins: dict[str, Origin] = {}
    for origin, value in counting.items():
        for name, part in value.items():
            if name not in merged:
                merged[name], origins[name] = part, origin
    return Effective(MappingProxyType(merged), first, MappingProxyType(origins), MappingProxyType(chain))


def resolve_all(levels: Mapping[Origin, Policies | None], *, is_system_topic: bool = False) -> dict[str, Effective]:
    """Return what takes effect for every policy, by name, in the order of the table."""
    return {policy.name: resolve(policy, levels, is_system_topic=is_system_topic) for policy in POLICIES}


def applied(policy: Policy, own: Policies | None, namespace: Policies | None, limits: Limits) -> Value:
    """Return what Pulsar answers to `applied=true`: the value of the requested scope, else the namespace's, else the
    broker's.

    This may differ from what takes effect: a value for all clusters is ignored unless that scope was requested.
    """
    broker = broker_value(policy, limits)
    said = [_said(policy, level) for level in (own, namespace)]
    if policy.name == "entryFilters" and not limits.may_override_entry_filters:
        return broker
    if policy.name == "schemaValidationEnforced" and said[0] is None:
        return bool(said[1]) or bool(broker)
    if policy.name == "offloadPolicies":
        lowest_first = (broker, said[1], said[0])
        return MappingProxyType({name: part for level in lowest_first for name, part in (level or {}).items()})
    return next((value for value in said if value is not None), broker)


def broker_value(policy: Policy, limits: Limits) -> Value:
    """Return the node's own value for `policy`, from its settings, else from the table; None for none.

    If a policy is merged by members, the table supplies those that the settings leave out.
    """
    said = limits.defaults.get(policy.name)
    if said is not None:
        return said if policy.merge is Merge.WHOLE else MappingProxyType({**(policy.default or {}), **said})
    match policy.name:
        case "replicationClusters":
            return (limits.local_cluster,)
        case "maxMessageSize":
            return limits.max_message_bytes
        case _:
            return policy.default


@lru_cache(maxsize=4)
def broker_level(limits: Limits) -> Policies:
    """Return the policies of the node's own level, without those that have no value there.

    Every topic that is enforced or listened to asks for it; a node has one all its life.
    """
    said = {policy.name: broker_value(policy, limits) for policy in POLICIES}
    return MappingProxyType({name: value for name, value in said.items() if value is not None})


def _said(policy: Policy, level: Policies | None) -> Value:
    """Return the value at a level; None for none, and for values that Pulsar treats as none."""
    said = (level or {}).get(policy.name)
    return None if said in (policy.topic.unsets, MappingProxyType({})) else said


def _is_ignored(policy: Policy, origin: Origin) -> bool:
    if origin in (Origin.TOPIC, Origin.GLOBAL):
        return policy.name in _NOT_OF_SYSTEM_TOPICS
    return origin is Origin.NAMESPACE and policy.name in _NOT_FROM_NAMESPACE
