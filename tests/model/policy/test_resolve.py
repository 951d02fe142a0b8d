"""The hierarchy: topic before global before namespace before node, policy by policy."""

from __future__ import annotations

from typing import Any

import pytest

from topicfold.model.policy.limits import Limits
from topicfold.model.policy.resolve import Origin, applied, broker_level, resolve, resolve_all
from topicfold.model.policy.shapes import QUOTA_TYPES
from topicfold.model.policy.table import BY_NAME, POLICIES

TTL = "messageTTLInSeconds"
RATE = "dispatchRate"
NO_RATE = {"dispatchThrottlingRateInMsg": -1, "dispatchThrottlingRateInByte": 0}


def value_of(name: str, **levels: Any) -> tuple[Any, str | None]:
    """Return what takes effect of one policy, and its level; `levels` are values by the names of levels."""
    said = {Origin[level.upper()]: {name: value} for level, value in levels.items()}
    found = resolve(BY_NAME[name], said)
    return found.value, found.origin and found.origin.value


def test_the_weightiest_level_that_says_anything_decides() -> None:
    assert value_of(TTL, topic=1, **{"global": 2}, namespace=3, broker=4) == (1, "topic")
    assert value_of(TTL, **{"global": 2}, namespace=3, broker=4) == (2, "global")
    assert value_of(TTL, namespace=3, broker=4) == (3, "namespace")
    assert value_of(TTL, broker=4) == (4, "broker")
    assert value_of(TTL) == (0, "broker")


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_without_a_word_the_table_decides(policy: Any) -> None:
    found = resolve(policy, {})
    assert (found.value, found.origin) == (policy.default, Origin.BROKER if policy.default is not None else None)


@pytest.mark.parametrize(
    ("name", "unset", "below"),
    [
        (TTL, -1, 5),
        ("maxProducerPerTopic", -1, 5),
        ("compactionThreshold", -1, 5),
        ("subscriptionTypesEnabled", (), ("Shared",)),
        ("schemaCompatibilityStrategy", "UNDEFINED", "BACKWARD"),
        (RATE, NO_RATE, {"dispatchThrottlingRateInMsg": 5, "dispatchThrottlingRateInByte": 0}),
        (
            "publishRate",
            {"publishThrottlingRateInMsg": 0, "publishThrottlingRateInByte": -1},
            {"publishThrottlingRateInMsg": 0, "publishThrottlingRateInByte": 5},
        ),
        (
            "subscribeRate",
            {"subscribeThrottlingRatePerConsumer": 0, "ratePeriodInSecond": 30},
            {"subscribeThrottlingRatePerConsumer": 5, "ratePeriodInSecond": 30},
        ),
        (
            "subscribeRate",
            {"subscribeThrottlingRatePerConsumer": 5, "ratePeriodInSecond": 0},
            {"subscribeThrottlingRatePerConsumer": 5, "ratePeriodInSecond": 30},
        ),
    ],
)
def test_a_value_that_limits_nothing_leaves_the_decision_to_the_level_below(name: str, unset: Any, below: Any) -> None:
    assert value_of(name, topic=unset, namespace=below) == (below, "namespace")


def test_zero_is_a_value() -> None:
    assert value_of("maxProducerPerTopic", topic=0, namespace=5) == (0, "topic")


def test_offloading_is_merged_member_by_member() -> None:
    found = resolve(
        BY_NAME["offloadPolicies"],
        {
            Origin.TOPIC: {"offloadPolicies": {"managedLedgerOffloadBucket": "t"}},
            Origin.NAMESPACE: {"offloadPolicies": {"managedLedgerOffloadBucket": "n", "fileSystemURI": "n"}},
            Origin.BROKER: {"offloadPolicies": {"fileSystemURI": "b", "offloadersDirectory": "b"}},
        },
    )
    assert dict(found.value) == {"managedLedgerOffloadBucket": "t", "fileSystemURI": "n", "offloadersDirectory": "b"}
    assert {member: origin.value for member, origin in found.origins.items()} == {
        "managedLedgerOffloadBucket": "topic",
        "fileSystemURI": "namespace",
        "offloadersDirectory": "broker",
    }


def test_quotas_and_rates_of_subscriptions_are_merged_name_by_name() -> None:
    levels = {
        Origin.TOPIC: {"subscriptionPolicies": {"a": 1}, "backLogQuotaMap": {"message_age": 1}},
        Origin.GLOBAL: {"subscriptionPolicies": {"a": 2, "b": 2}},
        Origin.NAMESPACE: {"backLogQuotaMap": {"message_age": 3, "destination_storage": 3}},
    }
    assert dict(resolve(BY_NAME["subscriptionPolicies"], levels).value) == {"a": 1, "b": 2}
    assert dict(resolve(BY_NAME["backLogQuotaMap"], levels).value) == {"message_age": 1, "destination_storage": 3}


def test_the_chain_is_what_each_level_says_even_where_it_does_not_count() -> None:
    found = resolve(BY_NAME[TTL], {Origin.TOPIC: {TTL: -1}, Origin.GLOBAL: None, Origin.NAMESPACE: {TTL: 5}})
    assert {origin.value: value for origin, value in found.chain.items()} == {"topic": -1, "namespace": 5, "broker": 0}


def test_a_system_topic_follows_neither_its_clusters_nor_its_namespaces_rates() -> None:
    rate = {"dispatchThrottlingRateInMsg": 5, "dispatchThrottlingRateInByte": 5}
    said = {
        "replicationClusters": ("a",),
        "schemaCompatibilityStrategy": "FULL",
        RATE: rate,
        "subscriptionDispatchRate": rate,
    }
    found = resolve_all({Origin.TOPIC: said, Origin.NAMESPACE: said}, is_system_topic=True)
    assert found["replicationClusters"].origin is Origin.NAMESPACE
    assert found["schemaCompatibilityStrategy"].origin is Origin.BROKER
    assert found[RATE].origin is Origin.TOPIC
    of_namespace = resolve_all({Origin.NAMESPACE: said}, is_system_topic=True)
    assert of_namespace[RATE].origin is Origin.BROKER
    assert of_namespace["subscriptionDispatchRate"].origin is Origin.NAMESPACE


def test_what_pulsar_applies_passes_over_the_other_scope() -> None:
    policy = BY_NAME[TTL]
    assert applied(policy, {TTL: 1}, {TTL: 2}, Limits()) == 1
    assert applied(policy, None, {TTL: 2}, Limits()) == 2
    assert applied(policy, {}, {}, Limits()) == 0
    assert applied(policy, {}, {}, Limits(defaults={TTL: 9})) == 9


def test_what_pulsar_keeps_as_nothing_is_not_applied() -> None:
    for name, nothing, something in (
        ("schemaCompatibilityStrategy", "UNDEFINED", "BACKWARD"),
        ("backLogQuotaMap", {}, {"message_age": 1}),
    ):
        assert applied(BY_NAME[name], {name: nothing}, {name: something}, Limits()) == something


def test_schemas_are_enforced_where_namespace_or_node_says_so() -> None:
    policy = BY_NAME["schemaValidationEnforced"]
    assert applied(policy, {}, {policy.name: True}, Limits()) is True
    assert applied(policy, {}, {policy.name: False}, Limits(defaults={policy.name: True})) is True
    assert applied(policy, {policy.name: False}, {policy.name: True}, Limits()) is False


def test_offloading_that_is_applied_is_put_together_from_all_levels() -> None:
    name = "offloadPolicies"
    node = {"managedLedgerOffloadDriver": "s3", "managedLedgerOffloadBucket": "node", "s3ManagedLedgerOffloadRole": "n"}
    namespace = {name: {"managedLedgerOffloadBucket": "namespace", "s3ManagedLedgerOffloadRole": "namespace"}}
    topic = {name: {"s3ManagedLedgerOffloadRole": "topic"}}
    limits = Limits(defaults={name: node})
    assert applied(BY_NAME[name], topic, namespace, limits) == {
        "managedLedgerOffloadDriver": "s3",
        "managedLedgerOffloadBucket": "namespace",
        "s3ManagedLedgerOffloadRole": "topic",
    }
    assert applied(BY_NAME[name], None, None, limits) == node
    assert applied(BY_NAME[name], None, None, Limits()) == {}


def test_a_node_that_allows_no_other_filters_applies_its_own() -> None:
    own = {"entryFilters": {"entryFilterNames": "topic"}}
    node = {"entryFilters": {"entryFilterNames": "node"}}
    limits = Limits(defaults=node, may_override_entry_filters=False)
    assert applied(BY_NAME["entryFilters"], own, own, limits) == node["entryFilters"]
    assert applied(BY_NAME[TTL], {TTL: 1}, {TTL: 2}, limits) == 1
    assert applied(BY_NAME["entryFilters"], own, None, Limits(defaults=node)) == own["entryFilters"]


def test_a_node_says_which_cluster_it_is_and_how_large_a_message_may_be() -> None:
    said = broker_level(Limits(local_cluster="east", max_message_bytes=7))
    assert (said["replicationClusters"], said["maxMessageSize"]) == (("east",), 7)
    assert "shadowTopics" not in said


def test_a_node_that_speaks_of_one_type_of_quota_leaves_the_other_to_the_table() -> None:
    policy = BY_NAME["backLogQuotaMap"]
    for kind, other in (QUOTA_TYPES, reversed(QUOTA_TYPES)):
        limits = Limits(defaults={policy.name: {kind: {"limitSize": 1}}})
        both = {kind: {"limitSize": 1}, other: policy.default[other]}
        assert applied(policy, {}, {}, limits) == both
        assert resolve(policy, {Origin.BROKER: broker_level(limits)}).value == both


def test_a_nodes_level_is_made_once_for_what_it_was_told() -> None:
    told = [Limits(defaults={"messageTTLInSeconds": seconds}) for seconds in (5, 5, 6)]
    levels = [broker_level(each) for each in told]
    assert levels[0] is levels[1]
    assert [each["messageTTLInSeconds"] for each in levels] == [5, 5, 6]
