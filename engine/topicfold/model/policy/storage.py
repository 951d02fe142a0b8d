"""Policies for what is stored: backlog, retention, time to live, persistence, compaction, offloading, size."""

from __future__ import annotations

from types import MappingProxyType

from topicfold.model.policy import checks
from topicfold.model.policy.description import (
    NO_ANSWER,
    POLICIES_MISSING,
    Empty,
    EnforcedBy,
    Merge,
    NamespaceRoute,
    Policy,
    Source,
    TopicRoute,
)
from topicfold.model.policy.limits import MAX_MESSAGE_BYTES
from topicfold.model.policy.shapes import (
    BACKLOG_QUOTA,
    INACTIVE_TOPIC,
    INT,
    LONG,
    OFFLOAD,
    PERSISTENCE,
    QUOTA_TYPES,
    RETENTION,
)
from topicfold.model.policy.unset import is_negative
from topicfold.model.policy.values import Flag, MapOf

_NO_QUOTA = MappingProxyType({"limitSize": -1, "limitTime": -1, "policy": "producer_request_hold"})

STORAGE: tuple[Policy, ...] = (
    Policy(
        "backLogQuotaMap", "backlog quota", MapOf(BACKLOG_QUOTA, QUOTA_TYPES),
        TopicRoute("backlogQuota", "BACKLOG", read_path="backlogQuotaMap", unset={}),
        "Limits on the size and the age of a backlog, and what happens when one is reached.",
        NamespaceRoute("backlogQuota", "backlog_quota_map", read_path="backlogQuotaMap", empty=Empty.REFUSED, unset={}),
        default=MappingProxyType(dict.fromkeys(QUOTA_TYPES, _NO_QUOTA)), merge=Merge.MEMBERS, check=checks.quota,
    ),
    Policy(
        "retentionPolicies", "retention", RETENTION,
        TopicRoute("retention", "RETENTION", empty=Empty.IGNORED),
        "How long, and up to what size, acknowledged messages are kept.",
        NamespaceRoute("retention", "retention_policies", missing=POLICIES_MISSING),
        default=MappingProxyType({"retentionTimeInMinutes": 0, "retentionSizeInMB": 0}),
        enforced_by=EnforcedBy.KAFKA, check=checks.retention,
    ),
    Policy(
        "messageTTLInSeconds", "message TTL", INT,
        TopicRoute("messageTTL", "TTL", source=Source.QUERY),
        "Seconds after which an unacknowledged message counts as acknowledged; 0: never.",
        NamespaceRoute("messageTTL", "message_ttl_in_seconds", empty=Empty.REFUSED),
        default=0, check=checks.not_negative("Invalid value for message TTL"), is_unset=is_negative,
    ),
    Policy(
        "subscriptionExpirationTimeInMinutes", "subscription expiration time", INT,
        TopicRoute("subscriptionExpirationTime", "SUBSCRIPTION_EXPIRATION_TIME", source=Source.QUERY),
        "Minutes after which an inactive subscription is deleted; 0: never.",
        NamespaceRoute("subscriptionExpirationTime", "subscription_expiration_time_minutes", empty=Empty.REFUSED),
        default=0, check=checks.not_negative("Invalid value for subscription expiration time"), is_unset=is_negative,
    ),
    Policy(
        "persistence", "persistence", PERSISTENCE,
        TopicRoute("persistence", "PERSISTENCE", empty=Empty.REFUSED),
        "BookKeeper ensemble, write quorum and ack quorum, and the maximum rate of cursor updates.",
        NamespaceRoute("persistence", "persistence", empty=Empty.REFUSED),
        default=MappingProxyType({
            "bookkeeperEnsemble": 2, "bookkeeperWriteQuorum": 2, "bookkeeperAckQuorum": 2,
            "managedLedgerMaxMarkDeleteRate": 1.0,
        }),
        check=checks.persistence,
    ),
    Policy(
        "deduplicationEnabled", "deduplication", Flag(),
        TopicRoute("deduplicationEnabled", "DEDUPLICATION"),
        "Whether duplicate messages from a producer are dropped.",
        NamespaceRoute("deduplication", "deduplicationEnabled", empty=Empty.REFUSED),
        default=False,
    ),
    Policy(
        "deduplicationSnapshotIntervalSeconds", "deduplication snapshot interval", INT,
        TopicRoute("deduplicationSnapshotInterval", "DEDUPLICATION_SNAPSHOT", has_applied=False),
        "Seconds between snapshots of the deduplication state.",
        NamespaceRoute("deduplicationSnapshotInterval", "deduplicationSnapshotIntervalSeconds", has_delete=False,
                       check=checks.not_negative("interval must be greater than or equal to 0"),
                       missing=POLICIES_MISSING),
        default=120, check=checks.not_negative("interval must be 0 or more"), is_unset=is_negative,
    ),
    Policy(
        "inactiveTopicPolicies", "inactive topic policies", INACTIVE_TOPIC,
        TopicRoute("inactiveTopicPolicies", "INACTIVE_TOPIC"),
        "When a topic counts as inactive, and whether it is then deleted.",
        NamespaceRoute("inactiveTopicPolicies", "inactive_topic_policies", missing=POLICIES_MISSING),
        default=MappingProxyType({
            "inactiveTopicDeleteMode": "delete_when_no_subscriptions", "maxInactiveDurationSeconds": 60,
            "deleteWhileInactive": True,
        }),
    ),
    Policy(
        "offloadPolicies", "offload policies", OFFLOAD,
        TopicRoute("offloadPolicies", "OFFLOAD", empty=Empty.UNMET),
        "When older messages are offloaded, and to which storage.",
        NamespaceRoute("offloadPolicies", "offload_policies", remove_path="removeOffloadPolicies", empty=Empty.UNMET,
                       document_check=checks.offload_in_document),
        default=MappingProxyType({}), merge=Merge.MEMBERS, check=checks.offload,
    ),
    Policy(
        "compactionThreshold", "compaction threshold", LONG,
        TopicRoute("compactionThreshold", "COMPACTION", empty=Empty.REFUSED),
        "Size of the backlog, in bytes, at which a topic is compacted; 0: never.",
        NamespaceRoute("compactionThreshold", "compaction_threshold", method="PUT", empty=Empty.REFUSED,
                       check=checks.not_negative("compactionThreshold must be 0 or more")),
        default=0, enforced_by=EnforcedBy.KAFKA, check=checks.not_negative("Invalid value for compactionThreshold"),
        is_unset=is_negative,
    ),
    Policy(
        "maxMessageSize", "maximum message size", INT,
        TopicRoute("maxMessageSize", "MAX_MESSAGE_SIZE", has_applied=False, empty=Empty.REFUSED, unset=NO_ANSWER),
        "Size of the largest accepted message, in bytes.",
        default=MAX_MESSAGE_BYTES, enforced_by=EnforcedBy.KAFKA, check=checks.message_size, is_unset=is_negative,
    ),
)  # fmt: skip
