"""The table of policies: whole, and without two meanings for one name."""

from __future__ import annotations

from collections import Counter

import pytest

from topicfold.model.policy.description import EnforcedBy, Policy, Source
from topicfold.model.policy.table import BY_NAME, POLICIES

ROWS = {
    "backlogQuota": "backLogQuotaMap", "retention": "retentionPolicies", "messageTTL": "messageTTLInSeconds",
    "subscriptionExpirationTime": "subscriptionExpirationTimeInMinutes", "persistence": "persistence",
    "deduplicationEnabled": "deduplicationEnabled",
    "deduplicationSnapshotInterval": "deduplicationSnapshotIntervalSeconds",
    "inactiveTopicPolicies": "inactiveTopicPolicies", "offloadPolicies": "offloadPolicies",
    "delayedDelivery": "delayedDeliveryPolicies", "dispatchRate": "dispatchRate",
    "subscriptionDispatchRate": "subscriptionDispatchRate", "{subName}/dispatchRate": "subscriptionPolicies",
    "replicatorDispatchRate": "replicatorDispatchRate", "publishRate": "publishRate", "subscribeRate": "subscribeRate",
    "compactionThreshold": "compactionThreshold", "maxMessageSize": "maxMessageSize",
    "maxProducers": "maxProducerPerTopic", "maxConsumers": "maxConsumerPerTopic",
    "maxConsumersPerSubscription": "maxConsumersPerSubscription",
    "maxSubscriptionsPerTopic": "maxSubscriptionsPerTopic",
    "maxUnackedMessagesOnConsumer": "maxUnackedMessagesOnConsumer",
    "maxUnackedMessagesOnSubscription": "maxUnackedMessagesOnSubscription",
    "subscriptionTypesEnabled": "subscriptionTypesEnabled",
    "schemaCompatibilityStrategy": "schemaCompatibilityStrategy",
    "schemaValidationEnforced": "schemaValidationEnforced", "entryFilters": "entryFilters",
    "autoSubscriptionCreation": "autoSubscriptionCreationOverride",
    "dispatcherPauseOnAckStatePersistent": "dispatcherPauseOnAckStatePersistentEnabled",
    "replication": "replicationClusters", "shadowTopics": "shadowTopics",
}  # fmt: skip
"""Rows 1 to 32 of the master table in the specification of topic policies, 1.4: what follows the topic in the path,
and the stored name."""

NO_GLOBAL = {"schemaCompatibilityStrategy", "schemaValidationEnforced", "shadowTopics"}
NO_APPLIED = {
    "deduplicationSnapshotIntervalSeconds", "publishRate", "maxMessageSize", "maxConsumersPerSubscription",
    "maxSubscriptionsPerTopic", "subscriptionTypesEnabled", "dispatcherPauseOnAckStatePersistentEnabled",
    "shadowTopics",
}  # fmt: skip
ENFORCED_BY_KAFKA = {"retentionPolicies", "maxMessageSize", "compactionThreshold"}


def test_every_row_of_the_master_table_has_its_policy_and_there_is_no_other() -> None:
    assert {policy.topic.path: policy.name for policy in POLICIES} == ROWS


def test_scopes_applied_values_and_enforcement_are_those_of_the_specification() -> None:
    assert {policy.name for policy in POLICIES if not policy.topic.has_global} == NO_GLOBAL
    assert {policy.name for policy in POLICIES if not policy.topic.has_applied} == NO_APPLIED
    assert {policy.name for policy in POLICIES if policy.enforced_by is EnforcedBy.KAFKA} == ENFORCED_BY_KAFKA
    assert {policy.name for policy in POLICIES if policy.topic.method == "PUT"} == {
        "schemaCompatibilityStrategy",
        "shadowTopics",
    }
    assert {policy.name for policy in POLICIES if not policy.topic.can_remove} == {"schemaValidationEnforced"}


@pytest.mark.parametrize("level", ["topic", "namespace"])
def test_no_two_policies_share_a_path(level: str) -> None:
    routes = [route for policy in POLICIES if (route := getattr(policy, level))]
    for method in ("GET", "SET"):
        paths = Counter((route.read_path or route.path) if method == "GET" else route.path for route in routes)
        assert [path for path, count in paths.items() if count > 1] == []


def test_no_two_policies_share_a_name_or_a_member_of_a_namespaces_document() -> None:
    assert len(BY_NAME) == len(POLICIES) == len(ROWS)
    assert len({policy.title for policy in POLICIES}) == len(POLICIES)
    members = Counter(policy.namespace.member for policy in POLICIES if policy.namespace)
    assert [member for member, count in members.items() if count > 1] == []


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_every_policy_says_what_it_is(policy: Policy) -> None:
    assert policy.doc.endswith(".")
    assert policy.title
    assert policy.topic.permission.isupper()
    assert policy.topic.source is not Source.QUERY or policy.topic.path == policy.topic.path.strip("/")
