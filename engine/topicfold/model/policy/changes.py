"""Changes of policies: pure functions from the policies of one scope to the next ones, and the updates that apply them.

Setting a policy creates the scope's policies if there were none; a removal does not. Retention and backlog quota are
compared inside the update, so of two concurrent changes that contradict each other, one is refused.

Source: PIP-428 (`updateTopicPoliciesAsync` with its flag for absent records).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from types import MappingProxyType

from topicfold.model.events import Verdict
from topicfold.model.policy.resolve import Policies
from topicfold.model.policy.retention import QUOTA_EXCEEDS, RETENTION_BELOW, conflicts
from topicfold.model.policy.shapes import QUOTA_TYPES
from topicfold.model.policy.values import MAX_ITEMS, Value
from topicfold.model.records import EMPTY, NamespaceRecord, Record, TopicRecord
from topicfold.model.updates import Refuse, Stored, Updater, of_namespace, of_topic

RETENTION = "retentionPolicies"
QUOTAS = "backLogQuotaMap"

Change = Callable[[Policies], Policies | Refuse]
"""Takes the policies of one scope; returns the next ones, or a refusal."""


def set_value(name: str, value: Value) -> Change:
    """Return the change that sets policy `name` to this value."""
    return lambda old: MappingProxyType({**old, name: value})


def remove_value(name: str, entry: str = "") -> Change:
    """Return the change that removes policy `name`, or one entry of one that is a map, and with the last the policy."""

    def change(old: Policies) -> Policies:
        kept = _without(old.get(name, EMPTY), entry) if entry else EMPTY
        return MappingProxyType({**old, name: kept}) if kept else _without(old, name)

    return change


def set_entry(name: str, key: str, value: Value) -> Change:
    """Return the change that sets one entry of a policy that is a map, and keeps the others.

    It is refused if the map would have more than `MAX_ITEMS` entries.
    """

    def change(old: Policies) -> Policies | Refuse:
        entries = {**old.get(name, EMPTY), key: value}
        if len(entries) > MAX_ITEMS:
            return Refuse(Verdict.POLICY_UNMET, f"{name} would have {len(entries)} entries, {MAX_ITEMS} are allowed")
        return MappingProxyType({**old, name: MappingProxyType(dict(sorted(entries.items())))})

    return change


def holding(change: Change, name: str, below: Callable[[], Policies], types: Collection[str] = QUOTA_TYPES) -> Change:
    """Return `change`, refused if retention and backlog quota would contradict each other after it.

    `name` is the policy that is changed, and that the refusal names. `below` is called when the update runs; it returns
    the policies that apply where this scope has none: the namespace's, then the node's. The two scopes of a topic are
    checked separately.

    `types` are the quotas to check: when quotas are set, only these. Another one may contradict a retention that was
    uncovered after that quota was set, which is no reason to refuse this change.

    Source: `internalSetBacklogQuota` of Pulsar; its issues #17706, #17707, #20690.
    """

    def checked(old: Policies) -> Policies | Refuse:
        new = change(old)
        if isinstance(new, Refuse):
            return new
        if not contradicts(new, below(), types):
            return new
        if name == RETENTION:
            return Refuse(Verdict.RETENTION_BELOW_QUOTA, RETENTION_BELOW)
        return Refuse(Verdict.QUOTA_EXCEEDS_RETENTION, QUOTA_EXCEEDS)

    return checked


def contradicts(policies: Policies, below: Policies, types: Collection[str] = QUOTA_TYPES) -> bool:
    """Return whether retention and a quota of `types` contradict each other; `below` supplies what `policies` lack."""
    quotas = {**below.get(QUOTAS, EMPTY), **policies.get(QUOTAS, EMPTY)}
    looked_at = {kind: quota for kind, quota in quotas.items() if kind in types}
    return conflicts(policies.get(RETENTION, below.get(RETENTION)), looked_at)


def change_topic(name: str, change: Change, *, is_global: bool = False, skip_if_absent: bool = False) -> Updater:
    """Return the update that changes a topic's policies of one scope.

    With `skip_if_absent` a topic that never had policies in that scope is left as it is.
    """

    def update(old: TopicRecord) -> Record | Refuse:
        policies = old.global_ if is_global else old.local
        if policies is None and skip_if_absent:
            return old
        new = change(EMPTY if policies is None else policies)
        return new if isinstance(new, Refuse) else old.with_policies(new, is_global=is_global)

    return of_topic(name, update)


def delete_policies(*, keeps_global: bool = False) -> Updater:
    """Return the update that removes all policies of a topic, in both scopes or, with `keeps_global`, in the local one.

    It does nothing if there is no such topic.
    """

    def update(old: Stored) -> Record | Refuse | None:
        if not isinstance(old, TopicRecord):
            return None
        return replace(old, local=None, global_=old.global_ if keeps_global else None)

    return update


def change_namespace(name: str, change: Change) -> Updater:
    """Return the update that changes a namespace's policies."""

    def update(old: NamespaceRecord) -> Record | Refuse:
        new = change(old.policies)
        return new if isinstance(new, Refuse) else replace(old, policies=new)

    return of_namespace(name, update)


def _without(pairs: Policies, name: str) -> Policies:
    return MappingProxyType({each: value for each, value in pairs.items() if each != name})
