"""A namespace's own document: Pulsar's `Policies`, with every policy of ours under the member Pulsar has it under.

What Pulsar keeps there and we do not (bundles, geographic settings, thresholds that `offload_policies` replaced) is
shown as a fresh namespace has it, so that Pulsar's clients can read the document, and passed over when it is written.

Source: Pulsar's `org.apache.pulsar.common.policies.data.Policies`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from topicfold.errors import InvalidPolicy
from topicfold.model.policy.description import EMPTY_ANSWER, LOCAL_CLUSTER, Check, NamespaceRoute, Policy
from topicfold.model.policy.limits import Limits
from topicfold.model.policy.resolve import Policies
from topicfold.model.policy.table import POLICIES
from topicfold.model.policy.values import Choice, Value, kind_of, read_value, shown_value
from topicfold.model.records import Grants, NamespaceRecord
from topicfold.wire.policy_schema import schema_of

_TEXTS = {"type": "array", "items": {"type": "string"}}
_GRANTS = {"type": "object", "additionalProperties": _TEXTS}
_FLAG = {"type": "boolean"}
_SIZE = {"type": "integer", "format": "int64"}

ONE_BUNDLE = {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1}
BUNDLES_SCHEMA = {
    "type": "object",
    "title": "BundlesData",
    "properties": {"boundaries": _TEXTS, "numBundles": {"type": "integer", "format": "int32"}},
}
_FRESH: Mapping[str, Any] = MappingProxyType({
    "allowed_clusters": [], "bundles": ONE_BUNDLE, "clusterDispatchRate": {}, "latency_stats_sample_rate": {},
    "deleted": False, "encryption_required": False, "subscription_auth_mode": "None", "offload_threshold": -1,
    "offload_threshold_in_seconds": -1, "migrated": False,
})  # fmt: skip

_SCHEMAS_OF_FRESH: Mapping[str, dict[str, Any]] = {
    "allowed_clusters": _TEXTS, "bundles": BUNDLES_SCHEMA, "clusterDispatchRate": {"type": "object"},
    "latency_stats_sample_rate": {"type": "object"}, "deleted": _FLAG, "encryption_required": _FLAG,
    "subscription_auth_mode": {"type": "string"}, "offload_threshold": _SIZE, "offload_threshold_in_seconds": _SIZE,
    "migrated": _FLAG,
}  # fmt: skip
_AUTH_SCHEMA = {
    "type": "object",
    "title": "AuthPolicies",
    "properties": {
        "namespace_auth": _GRANTS | {"description": "Actions by role."},
        "destination_auth": {
            "type": "object",
            "additionalProperties": _GRANTS,
            "description": "Actions by role, by topic. Passed over when it is written.",
        },
        "subscription_auth_roles": _GRANTS | {"description": "Always empty."},
    },
}


def policies_document(record: NamespaceRecord, topic_grants: Any, local_cluster: str) -> dict[str, Any]:
    """Return the document of a namespace; `topic_grants` stands for those of its topics, by full name."""
    document: dict[str, Any] = {
        "auth_policies": {
            "namespace_auth": shown_grants(record.grants),
            "destination_auth": topic_grants,
            "subscription_auth_roles": {},
        },
        **_FRESH,
    }
    for policy, route in policies_of_namespaces():
        value = record.policies.get(policy.name)
        shown = unset_answer(route, local_cluster) if value is None else shown_value(policy.kind, value)
        if route.by_cluster:
            document[route.member] = {} if value is None else {local_cluster: shown}
        elif shown is not EMPTY_ANSWER:
            document[route.member] = shown
    document["properties"] = dict(record.properties)
    return document


def policies_in_document(document: Mapping[str, Any], limits: Limits) -> Policies:
    """Return the policies that a document sets. A member that is empty, or says what an unset one says, sets nothing.

    An empty text counts as empty where one of several words is meant, and an object as well of which nothing is kept.

    Raises:
        InvalidPolicy, PolicyUnmet, Forbidden: a value may not be set; says which.
    """
    found: dict[str, Value] = {}
    for policy, route in policies_of_namespaces():
        given = document.get(route.member)
        if route.by_cluster and given is not None:
            if not isinstance(given, Mapping):
                reason = f"must be an object, not {kind_of(given)}"
                raise InvalidPolicy(route.member, [{"path": "", "reason": reason}])
            given = given.get(limits.local_cluster)
        if given in (None, [], {}) or given == route.unset or (given == "" and isinstance(policy.kind, Choice)):
            continue
        value = checked_value(policy, route, given, limits, check=route.document_check)
        if value != {}:
            found[policy.name] = value
    return MappingProxyType(found)


def document_schema() -> dict[str, Any]:
    """Return the JSON schema of a document."""
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    fresh = {"description": "Always as in a new namespace."}
    members: dict[str, Any] = {"auth_policies": _AUTH_SCHEMA | {"description": "Who may do what."}}
    members |= {name: schema | fresh for name, schema in _SCHEMAS_OF_FRESH.items()}
    for policy, route in policies_of_namespaces():
        schema = schema_of(policy.kind) | {"description": policy.doc}
        members[route.member] = {"type": "object", "additionalProperties": schema} if route.by_cluster else schema
    return {"type": "object", "title": "NamespacePolicies", "properties": members | {"properties": texts}}


def checked_value(
    policy: Policy, route: NamespaceRoute, given: Any, limits: Limits, *, check: Check | None = None
) -> Value:
    """Return the value of a namespace's policy that JSON says, once it is one that may be set; `check` replaces others.

    Raises:
        InvalidPolicy, PolicyUnmet, Forbidden: it may not.
    """
    value = read_value(policy.kind, given, route.path, refuses_unknown=limits.refuses_unknown)
    (check or route.check or policy.check)(value, limits)
    return value


def unset_answer(route: NamespaceRoute, local_cluster: str) -> Any:
    """Return what stands for a policy that is not set: a JSON value, or `EMPTY_ANSWER`."""
    return [local_cluster] if route.unset is LOCAL_CLUSTER else route.unset


def policies_of_namespaces() -> Iterator[tuple[Policy, NamespaceRoute]]:
    """Yield the policies that namespaces have, each with its route."""
    return ((policy, policy.namespace) for policy in POLICIES if policy.namespace is not None)


def shown_grants(grants: Grants) -> dict[str, list[str]]:
    """Return grants as a document has them: lists of actions by role."""
    return {role: list(actions) for role, actions in grants.items()}
