"""Shapes of policies that are objects: Pulsar's names of their members, and the values of missing ones.

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
        Member("limitSize", LONG, 0, "Size of the backlog in bytes; negative: no limit.", alias="limit"),
        Member("limitTime", INT, 0, "Age of the backlog in seconds; 0 or negative: no limit."),
        Member(
            "policy",
            Choice(("producer_request_hold", "producer_exception", "consumer_backlog_eviction"), "RetentionPolicy"),
            doc="What happens when the limit is reached.",
        ),
    ),
)

RETENTION = Shape(
    "RetentionPolicies",
    (
        Member("retentionTimeInMinutes", INT, 0, "Minutes to keep acknowledged messages; -1: for ever."),
        Member("retentionSizeInMB", LONG, 0, "Mebibytes of acknowledged messages to keep; -1: no limit."),
    ),
)

PERSISTENCE = Shape(
    "PersistencePolicies",
    (
        Member("bookkeeperEnsemble", INT, 2, "Number of bookies that store a topic."),
        Member("bookkeeperWriteQuorum", INT, 2, "Number of copies of each message."),
        Member("bookkeeperAckQuorum", INT, 2, "Number of copies that must be stored before a message is acknowledged."),
        Member("managedLedgerMaxMarkDeleteRate", Decimal(), -1.0, "Maximum number of cursor updates per second."),
        Member("managedLedgerStorageClassName", Text(), doc="Storage class of the ledgers."),
    ),
)

DISPATCH_RATE = Shape(
    "DispatchRate",
    (
        Member("dispatchThrottlingRateInMsg", INT, 0, "Messages per period; 0 or negative: no limit."),
        Member("dispatchThrottlingRateInByte", LONG, 0, "Bytes per period; 0 or negative: no limit."),
        Member("relativeToPublishRate", Flag(), False, "Whether the limit is added to the publish rate."),
        Member("ratePeriodInSecond", INT, 0, "Length of the period in seconds."),
    ),
)

PUBLISH_RATE = Shape(
    "PublishRate",
    (
        Member("publishThrottlingRateInMsg", INT, -1, "Messages per second; 0 or negative: no limit."),
        Member("publishThrottlingRateInByte", LONG, -1, "Bytes per second; 0 or negative: no limit."),
    ),
)

SUBSCRIBE_RATE = Shape(
    "SubscribeRate",
    (
        Member("subscribeThrottlingRatePerConsumer", INT, -1, "Subscribe requests per consumer and period."),
        Member("ratePeriodInSecond", INT, 30, "Length of the period in seconds."),
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
            Choice(("delete_when_no_subscriptions", "delete_when_subscriptions_caught_up"), "InactiveTopicDeleteMode"),
            doc="When a topic counts as inactive.",
        ),
        Member("maxInactiveDurationSeconds", INT, 0, "Seconds without activity after which a topic is deleted."),
        Member("deleteWhileInactive", Flag(), False, "Whether inactive topics are deleted."),
    ),
)

DELAYED_DELIVERY = Shape(
    "DelayedDeliveryPolicies",
    (
        Member("tickTime", LONG, 0, "Milliseconds between checks for messages that are due."),
        Member("active", Flag(), False, "Whether delayed delivery is on."),
        Member("maxDeliveryDelayInMillis", LONG, 0, "Maximum delay in milliseconds; 0: no limit."),
    ),
)

ENTRY_FILTERS = Shape(
    "EntryFilters", (Member("entryFilterNames", Text(), doc="Comma-separated names of entry filters."),)
)

AUTO_SUBSCRIPTION = Shape(
    "AutoSubscriptionCreationOverride",
    (Member("allowAutoSubscriptionCreation", Flag(), False, "Whether subscriptions are created automatically."),),
)


OFFLOAD = Shape(
    "OffloadPolicies",
    (
        Member("offloadersDirectory", Text(), "./offloaders", "Directory that holds the offloaders."),
        Member("managedLedgerOffloadDriver", Text(), doc=f"One of {', '.join(OFFLOAD_DRIVERS)}."),
        Member("managedLedgerOffloadMaxThreads", INT, 2, "Number of offloading threads."),
        Member("managedLedgerOffloadReadThreads", INT, 2, "Number of threads that read offloaded messages."),
        Member("managedLedgerOffloadPrefetchRounds", INT, 1, "Number of rounds to prefetch."),
        Member("managedLedgerOffloadThresholdInBytes", LONG, doc="Size, in bytes, at which a topic is offloaded."),
        Member("managedLedgerOffloadThresholdInSeconds", LONG, doc="Age, in seconds, at which messages are offloaded."),
        Member("managedLedgerOffloadDeletionLagInMillis", LONG, doc="Milliseconds to keep the original afterwards."),
        Member("managedLedgerOffloadedReadPriority",
               Choice(("BOOKKEEPER_FIRST", "TIERED_STORAGE_FIRST"), "OffloadedReadPriority"), "TIERED_STORAGE_FIRST",
               "Storage that offloaded messages are read from first."),
        Member("managedLedgerExtraConfigurations", MapOf(Text()), doc="Additional settings of the driver."),
        Member("s3ManagedLedgerOffloadRegion", Text(), doc="Region in S3."),
        Member("s3ManagedLedgerOffloadBucket", Text(), doc="Bucket in S3."),
        Member("s3ManagedLedgerOffloadServiceEndpoint", Text(), doc="Endpoint of S3."),
        Member("s3ManagedLedgerOffloadMaxBlockSizeInBytes", INT, 64 * MIB, "Size of a block in S3."),
        Member("s3ManagedLedgerOffloadReadBufferSizeInBytes", INT, MIB, "Size of the read buffer for S3."),
        Member("s3ManagedLedgerOffloadCredentialId", Text(), doc="ID of the S3 credential."),
        Member("s3ManagedLedgerOffloadCredentialSecret", Text(), doc="Secret of the S3 credential."),
        Member("s3ManagedLedgerOffloadRole", Text(), doc="IAM role for S3."),
        Member("s3ManagedLedgerOffloadRoleSessionName", Text(), "pulsar-s3-offload", "Session name of the role."),
        Member("gcsManagedLedgerOffloadRegion", Text(), doc="Region in Google Cloud Storage."),
        Member("gcsManagedLedgerOffloadBucket", Text(), doc="Bucket in Google Cloud Storage."),
        Member("gcsManagedLedgerOffloadMaxBlockSizeInBytes", INT, 128 * MIB, "Size of a block in GCS."),
        Member("gcsManagedLedgerOffloadReadBufferSizeInBytes", INT, MIB, "Size of the read buffer for GCS."),
        Member("gcsManagedLedgerOffloadServiceAccountKeyFile", Text(), doc="Key file of the service account."),
        Member("fileSystemProfilePath", Text(), doc="Profile of the file system driver."),
        Member("fileSystemURI", Text(), doc="Address of the file system."),
        Member("managedLedgerOffloadBucket", Text(), doc="Bucket, for any driver."),
        Member("managedLedgerOffloadRegion", Text(), doc="Region, for any driver."),
        Member("managedLedgerOffloadServiceEndpoint", Text(), doc="Endpoint, for any driver."),
        Member("managedLedgerOffloadMaxBlockSizeInBytes", INT, doc="Size of a block, for any driver."),
        Member("managedLedgerOffloadReadBufferSizeInBytes", INT, doc="Size of the read buffer, for any driver."),
    ),
    is_sparse=True,
)  # fmt: skip
