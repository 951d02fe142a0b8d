"""Shapes of policies that are objects: Pulsar's names of members, and what a missing one means.

Source: Pulsar's `org.apache.pulsar.common.policies.data`.
"""

from __future__ import annotations

from topicfold.model.policy.values import MIB, Choice, Decimal, Flag, MapOf, Member, Number, Shape, Text

INT, LONG = Number(32), Number(64)

QUOTA_TYPES = ("destination_storage", "message_age")
DEFAULT_QUOTA_TYPE = "destination_storage"
SUBSCRIPTION_TYPES = ("Exclusive", "Shared", "Failover", "Key_Shared")
UNDEFINED_STRATEGY = "UNDEFINED"
SCHEMA_STRATEGIES = (
    UNDEFINED_STRATEGY, "ALWAYS_INCOMPATIBLE", "ALWAYS_COMPATIBLE", "BACKWARD", "FORWARD", "FULL",
    "BACKWARD_TRANSITIVE", "FORWARD_TRANSITIVE", "FULL_TRANSITIVE",
)  # fmt: skip
OFFLOAD_DRIVERS = ("S3", "aws-s3", "google-cloud-storage", "filesystem", "azureblob", "aliyun-oss")

BACKLOG_QUOTA = Shape(
    "BacklogQuota",
    (
        Member("limitSize", LONG, 0, "Bytes of backlog; negative: no limit.", alias="limit"),
        Member("limitTime", INT, 0, "Seconds of backlog; not positive: no limit."),
        Member(
            "policy",
            Choice(("producer_request_hold", "producer_exception", "consumer_backlog_eviction")),
            doc="What happens once the limit is reached.",
        ),
    ),
)

RETENTION = Shape(
    "RetentionPolicies",
    (
        Member("retentionTimeInMinutes", INT, 0, "Minutes that acknowledged messages are kept; -1: for ever."),
        Member("retentionSizeInMB", LONG, 0, "Mebibytes of acknowledged messages that are kept; -1: all."),
    ),
)

PERSISTENCE = Shape(
    "PersistencePolicies",
    (
        Member("bookkeeperEnsemble", INT, 2, "Bookies a topic is spread over."),
        Member("bookkeeperWriteQuorum", INT, 2, "Copies of a message."),
        Member("bookkeeperAckQuorum", INT, 2, "Copies that must be safe before a message is acknowledged."),
        Member("managedLedgerMaxMarkDeleteRate", Decimal(), -1.0, "Cursor updates a second."),
        Member("managedLedgerStorageClassName", Text(), doc="Storage class of the ledgers."),
    ),
)

DISPATCH_RATE = Shape(
    "DispatchRate",
    (
        Member("dispatchThrottlingRateInMsg", INT, 0, "Messages in a period; not positive: no limit."),
        Member("dispatchThrottlingRateInByte", LONG, 0, "Bytes in a period; not positive: no limit."),
        Member("relativeToPublishRate", Flag(), False, "The limit is added to the publish rate."),
        Member("ratePeriodInSecond", INT, 0, "Seconds of a period."),
    ),
)

PUBLISH_RATE = Shape(
    "PublishRate",
    (
        Member("publishThrottlingRateInMsg", INT, -1, "Messages a second; not positive: no limit."),
        Member("publishThrottlingRateInByte", LONG, -1, "Bytes a second; not positive: no limit."),
    ),
)

SUBSCRIBE_RATE = Shape(
    "SubscribeRate",
    (
        Member("subscribeThrottlingRatePerConsumer", INT, -1, "Subscribes of a consumer in a period."),
        Member("ratePeriodInSecond", INT, 30, "Seconds of a period."),
    ),
)

SUBSCRIPTION_POLICIES = Shape(
    "SubscriptionPolicies", (Member("dispatchRate", DISPATCH_RATE, doc="Dispatch rate of this subscription."),)
)

INACTIVE_TOPIC = Shape(
    "InactiveTopicPolicies",
    (
        Member(
            "inactiveTopicDeleteMode",
            Choice(("delete_when_no_subscriptions", "delete_when_subscriptions_caught_up")),
            doc="When a topic counts as inactive.",
        ),
        Member("maxInactiveDurationSeconds", INT, 0, "Seconds of inactivity after which it is deleted."),
        Member("deleteWhileInactive", Flag(), False, "Whether inactive topics are deleted at all."),
    ),
)

DELAYED_DELIVERY = Shape(
    "DelayedDeliveryPolicies",
    (
        Member("tickTime", LONG, 0, "Milliseconds between two looks for messages that are due."),
        Member("active", Flag(), False, "Whether delayed delivery is on."),
        Member("maxDeliveryDelayInMillis", LONG, 0, "Longest delay in milliseconds; 0: no limit."),
    ),
)

ENTRY_FILTERS = Shape(
    "EntryFilters", (Member("entryFilterNames", Text(), doc="Names of entry filters, separated by commas."),)
)

AUTO_SUBSCRIPTION = Shape(
    "AutoSubscriptionCreationOverride",
    (Member("allowAutoSubscriptionCreation", Flag(), False, "Whether consumers may make subscriptions."),),
)


OFFLOAD = Shape(
    "OffloadPolicies",
    (
        Member("offloadersDirectory", Text(), "./offloaders", "Where the offloaders lie."),
        Member("managedLedgerOffloadDriver", Text(), doc=f"One of {', '.join(OFFLOAD_DRIVERS)}."),
        Member("managedLedgerOffloadMaxThreads", INT, 2, "Threads that offload."),
        Member("managedLedgerOffloadReadThreads", INT, 2, "Threads that read back."),
        Member("managedLedgerOffloadPrefetchRounds", INT, 1, "Rounds read ahead."),
        Member("managedLedgerOffloadThresholdInBytes", LONG, doc="Size from which a topic is offloaded."),
        Member("managedLedgerOffloadThresholdInSeconds", LONG, doc="Age from which messages are offloaded."),
        Member("managedLedgerOffloadDeletionLagInMillis", LONG, doc="Milliseconds an offloaded ledger is kept."),
        Member("managedLedgerOffloadedReadPriority", Choice(("BOOKKEEPER_FIRST", "TIERED_STORAGE_FIRST")),
               "TIERED_STORAGE_FIRST", "Where offloaded messages are read first."),
        Member("managedLedgerExtraConfigurations", MapOf(Text()), doc="Further settings of the driver."),
        Member("s3ManagedLedgerOffloadRegion", Text(), doc="Region in S3."),
        Member("s3ManagedLedgerOffloadBucket", Text(), doc="Bucket in S3."),
        Member("s3ManagedLedgerOffloadServiceEndpoint", Text(), doc="Endpoint of S3."),
        Member("s3ManagedLedgerOffloadMaxBlockSizeInBytes", INT, 64 * MIB, "Size of a block in S3."),
        Member("s3ManagedLedgerOffloadReadBufferSizeInBytes", INT, MIB, "Read buffer for S3."),
        Member("s3ManagedLedgerOffloadCredentialId", Text(), doc="Id of the credential for S3."),
        Member("s3ManagedLedgerOffloadCredentialSecret", Text(), doc="Secret of the credential for S3."),
        Member("s3ManagedLedgerOffloadRole", Text(), doc="Role in S3."),
        Member("s3ManagedLedgerOffloadRoleSessionName", Text(), "pulsar-s3-offload", "Name of the role's session."),
        Member("gcsManagedLedgerOffloadRegion", Text(), doc="Region in Google Cloud Storage."),
        Member("gcsManagedLedgerOffloadBucket", Text(), doc="Bucket in Google Cloud Storage."),
        Member("gcsManagedLedgerOffloadMaxBlockSizeInBytes", INT, 128 * MIB, "Size of a block there."),
        Member("gcsManagedLedgerOffloadReadBufferSizeInBytes", INT, MIB, "Read buffer for it."),
        Member("gcsManagedLedgerOffloadServiceAccountKeyFile", Text(), doc="File of the service account's key."),
        Member("fileSystemProfilePath", Text(), doc="Profile of the file system driver."),
        Member("fileSystemURI", Text(), doc="Address of the file system."),
        Member("managedLedgerOffloadBucket", Text(), doc="Bucket, whatever the driver."),
        Member("managedLedgerOffloadRegion", Text(), doc="Region, whatever the driver."),
        Member("managedLedgerOffloadServiceEndpoint", Text(), doc="Endpoint, whatever the driver."),
        Member("managedLedgerOffloadMaxBlockSizeInBytes", INT, doc="Size of a block, whatever the driver."),
        Member("managedLedgerOffloadReadBufferSizeInBytes", INT, doc="Read buffer, whatever the driver."),
    ),
    is_sparse=True,
)  # fmt: skip
