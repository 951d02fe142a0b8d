"""Policies for who may connect and where messages go: subscription types, schemas, filters, other clusters."""

from __future__ import annotations

from types import MappingProxyType

from topicfold.model.policy import checks
from topicfold.model.policy.description import (
    LOCAL_CLUSTER,
    NO_ANSWER,
    Empty,
    NamespaceRoute,
    Policy,
    Source,
    TopicRoute,
)
from topicfold.model.policy.shapes import (
    AUTO_SUBSCRIPTION,
    ENTRY_FILTERS,
    SCHEMA_STRATEGIES,
    SUBSCRIPTION_TYPES,
    UNDEFINED_STRATEGY,
)
from topicfold.model.policy.unset import is_empty, is_undefined
from topicfold.model.policy.values import Choice, Flag, ListOf, Text

ACCESS: tuple[Policy, ...] = (
    Policy(
        "subscriptionTypesEnabled", "enabled subscription types",
        ListOf(Choice(SUBSCRIPTION_TYPES, "SubscriptionType")),
        TopicRoute("subscriptionTypesEnabled", "SUBSCRIPTION_AUTH_MODE", has_applied=False, unset=[],
                   absent=NO_ANSWER, removal_makes_policies=True),
        "Subscription types that are allowed.",
        NamespaceRoute("subscriptionTypesEnabled", "subscription_types_enabled", empty=Empty.REFUSED, unset=[]),
        default=SUBSCRIPTION_TYPES, is_unset=is_empty,
    ),
    Policy(
        "schemaCompatibilityStrategy", "schema compatibility strategy",
        Choice(SCHEMA_STRATEGIES, "SchemaCompatibilityStrategy"),
        TopicRoute("schemaCompatibilityStrategy", "SCHEMA_COMPATIBILITY_STRATEGY", method="PUT", has_global=False,
                   unsets=UNDEFINED_STRATEGY),
        "How a new schema must be compatible with earlier ones.",
        NamespaceRoute("schemaCompatibilityStrategy", "schema_compatibility_strategy", method="PUT",
                       has_delete=False, unset=UNDEFINED_STRATEGY),
        default="FULL", is_unset=is_undefined,
    ),
    Policy(
        "schemaValidationEnforced", "schema validation", Flag(),
        TopicRoute("schemaValidationEnforced", "SCHEMA_COMPATIBILITY_STRATEGY", can_remove=False, has_global=False,
                   empty=Empty.REFUSED, unset=False),
        "Whether producers must have a schema.",
        NamespaceRoute("schemaValidationEnforced", "schema_validation_enforced", has_delete=False, has_applied=True,
                       empty=Empty.REFUSED, unset=False),
        default=False,
    ),
    Policy(
        "entryFilters", "entry filters", ENTRY_FILTERS,
        TopicRoute("entryFilters", "ENTRY_FILTERS"),
        "Filters that decide which messages a subscription receives.",
        NamespaceRoute("entryFilters", "entryFilters"),
        default=MappingProxyType({"entryFilterNames": ""}), check=checks.entry_filters,
    ),
    Policy(
        "autoSubscriptionCreationOverride", "automatic subscription creation", AUTO_SUBSCRIPTION,
        TopicRoute("autoSubscriptionCreation", "AUTO_SUBSCRIPTION_CREATION"),
        "Whether a consumer that connects creates a missing subscription.",
        NamespaceRoute("autoSubscriptionCreation", "autoSubscriptionCreationOverride"),
        default=MappingProxyType({"allowAutoSubscriptionCreation": True}),
    ),
    Policy(
        "dispatcherPauseOnAckStatePersistentEnabled", "pause while acknowledgement state is persisted", Flag(),
        TopicRoute("dispatcherPauseOnAckStatePersistent", "DISPATCHER_PAUSE_ON_ACK_STATE_PERSISTENT",
                   has_applied=False, source=Source.TRUE, unset=False, left=False),
        "Whether delivery pauses while too much acknowledgement state is not persisted.",
        NamespaceRoute("dispatcherPauseOnAckStatePersistent", "dispatcherPauseOnAckStatePersistentEnabled",
                       source=Source.TRUE, unset=False),
        default=False,
    ),
    Policy(
        "replicationClusters", "replication clusters", ListOf(Text()),
        TopicRoute("replication", "REPLICATION", empty=Empty.UNMET, applied_sees_both=True),
        "Clusters that the topic is replicated across.",
        NamespaceRoute("replication", "replication_clusters", has_delete=False, empty=Empty.UNMET,
                       unset=LOCAL_CLUSTER),
        check=checks.replication,
    ),
    Policy(
        "shadowTopics", "shadow topics", ListOf(Text()),
        TopicRoute("shadowTopics", "SHADOW_TOPIC", method="PUT", has_global=False, has_applied=False,
                   empty=Empty.UNMET),
        "Topics that serve this topic's messages without copying them.",
        check=checks.shadow_topics,
    ),
)  # fmt: skip
