"""Commands for the policies in `storage`, in the three groups that have commands for policies.

The groups differ in places: `namespaces set-message-ttl -ttl` is `topicPolicies set-message-ttl -t`.

Source: `CmdTopicPolicies`, `CmdTopics` and `CmdNamespaces` of Pulsar's client tools 4.0.8; later versions for the
expiration time of subscriptions and the default rate of cursor updates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from topicfold.model.policy.options import Command, Commands, Option, Unit, disable, enable, everywhere, named, required
from topicfold.model.policy.shapes import DEFAULT_QUOTA_TYPE, QUOTA_TYPES

_QUOTA_TYPE = Option(("--type", "-t"), "", f"Which quota: {' or '.join(QUOTA_TYPES)}.", default=DEFAULT_QUOTA_TYPE)
_QUOTA = replace(
    named(
        "backlog-quota",
        Option(("--limit", "-l"), "limitSize", "Maximum size of the backlog, such as 10M or 16G.", Unit.BYTES, "-1"),
        Option(
            ("--limitTime", "-lt"),
            "limitTime",
            "Maximum age of the backlog, such as 90 (seconds), 10m or 2d.",
            Unit.SECONDS,
            "-1",
        ),
        Option(
            ("--policy", "-p"),
            "policy",
            "What happens at the limit: producer_request_hold, producer_exception or consumer_backlog_eviction.",
            is_required=True,
        ),
        example="-l 10G -p producer_request_hold",
    ),
    entry=_QUOTA_TYPE,
)
_QUOTAS = Command("get-backlog-quotas", "", "")

_RETENTION = named(
    "retention",
    Option(
        ("--time", "-t"),
        "retentionTimeInMinutes",
        "How long to keep messages, such as 3h or 7d; 0: not at all, -1: for ever.",
        Unit.MINUTES,
        is_required=True,
    ),
    Option(
        ("--size", "-s"),
        "retentionSizeInMB",
        "How much to keep, such as 100M or 16G; 0: nothing, -1: no limit.",
        Unit.MEBIBYTES,
        is_required=True,
    ),
    example="-t 7d -s 10G",
)

_TTL_TIME = Option(
    ("--ttl", "-t"), "", "Time to live, such as 90 (seconds), 10m or 7d; 0: no limit.", Unit.SECONDS, is_required=True
)
_TTL = named("message-ttl", _TTL_TIME, example="-t 3d")

_EXPIRATION = named(
    "subscription-expiration-time",
    required("--time", "-t", "Minutes; 0: never."),
    example="-t 60",
)

_PERSISTENCE = named(
    "persistence",
    Option(("--bookkeeper-ensemble", "-e"), "bookkeeperEnsemble", "Number of bookies that store a topic.", default="2"),
    Option(
        ("--bookkeeper-write-quorum", "-w"), "bookkeeperWriteQuorum", "Number of copies of each message.", default="2"
    ),
    Option(("--bookkeeper-ack-quorum", "-a"), "bookkeeperAckQuorum", "Number of copies to wait for.", default="2"),
    Option(
        ("--ml-mark-delete-max-rate", "-r"),
        "managedLedgerMaxMarkDeleteRate",
        "Cursor updates per second; 0: no limit, -1: the broker's default.",
        default="-1",
    ),
    Option(("--ml-storage-class", "-c"), "managedLedgerStorageClassName", "Storage class of the ledgers."),
    example="-e 3 -w 3 -a 2",
)

_DEDUPLICATION = named(
    "deduplication",
    enable("Drop duplicate messages."),
    disable("Keep duplicate messages."),
    example="--enable",
)
_SNAPSHOT_INTERVAL = named(
    "deduplication-snapshot-interval",
    required("--interval", "-i", "Seconds between snapshots."),
    example="-i 60",
)

_INACTIVE = named(
    "inactive-topic-policies",
    Option(("--enable-delete-while-inactive", "-e"), "deleteWhileInactive", "Delete inactive topics.", Unit.TRUE),
    Option(("--disable-delete-while-inactive", "-d"), "deleteWhileInactive", "Keep inactive topics.", Unit.FALSE),
    Option(
        ("--max-inactive-duration", "-t"),
        "maxInactiveDurationSeconds",
        "Time without activity, such as 90 (seconds), 1h or 7d.",
        Unit.SECONDS,
        is_required=True,
    ),
    Option(
        ("--delete-mode", "-m"),
        "inactiveTopicDeleteMode",
        "delete_when_no_subscriptions or delete_when_subscriptions_caught_up.",
        is_required=True,
    ),
    example="-e -t 1h -m delete_when_no_subscriptions",
)

_COMPACTION = named(
    "compaction-threshold",
    Option(
        ("--threshold", "-t"), "", "Size of the backlog, such as 16M or 2G; 0: never.", Unit.BYTES, is_required=True
    ),
    example="-t 1G",
)
_MESSAGE_SIZE = named(
    "max-message-size",
    Option(
        ("--max-message-size", "-m"),
        "",
        "Size of the largest message, such as 64K or 1M.",
        Unit.BYTES,
        is_required=True,
    ),
    example="-m 1M",
)


def _offload(lag: Unit) -> Command:
    """Return the commands for offloading, with the spellings of all groups; `lag` is the unit of `-dl`."""
    return named(
        "offload-policies",
        Option(
            ("--driver", "-d"), "managedLedgerOffloadDriver", "Driver, such as aws-s3 or filesystem.", is_required=True
        ),
        Option(("--region", "-r"), "managedLedgerOffloadRegion", "Region."),
        Option(("--bucket", "-b"), "managedLedgerOffloadBucket", "Bucket."),
        Option(("--endpoint", "-e"), "managedLedgerOffloadServiceEndpoint", "Endpoint of the storage service."),
        Option(("--aws-id", "-i"), "s3ManagedLedgerOffloadCredentialId", "ID of the S3 credential."),
        Option(("--aws-secret", "-s"), "s3ManagedLedgerOffloadCredentialSecret", "Secret of the S3 credential."),
        Option(("--s3-role", "--ro", "-ro"), "s3ManagedLedgerOffloadRole", "IAM role for S3."),
        Option(
            ("--s3-role-session-name", "-rsn"), "s3ManagedLedgerOffloadRoleSessionName", "Session name of the role."
        ),
        Option(
            ("--maxBlockSizeInBytes", "-m", "--maxBlockSize", "-mbs"),
            "managedLedgerOffloadMaxBlockSizeInBytes",
            "Size of a block, such as 64M.",
            Unit.BYTES,
        ),
        Option(
            ("--readBufferSizeInBytes", "-rb", "--readBufferSize", "-rbs"),
            "managedLedgerOffloadReadBufferSizeInBytes",
            "Size of the read buffer, such as 1M.",
            Unit.BYTES,
        ),
        Option(
            ("--offloadThresholdInBytes", "-t", "--offloadAfterThreshold", "-oat"),
            "managedLedgerOffloadThresholdInBytes",
            "Size at which a topic is offloaded, such as 10G.",
            Unit.BYTES,
        ),
        Option(
            ("--offloadThresholdInSeconds", "-ts", "--offloadAfterThresholdInSeconds", "-oats"),
            "managedLedgerOffloadThresholdInSeconds",
            "Age at which messages are offloaded, such as 90 (seconds) or 1d.",
            Unit.SECONDS,
        ),
        Option(
            ("--offloadDeletionLagInMillis", "-dl", "--offloadAfterElapsed", "-oae"),
            "managedLedgerOffloadDeletionLagInMillis",
            f"How long to keep the original{', in milliseconds' if lag is Unit.PLAIN else ', such as 1d'}.",
            lag,
        ),
        Option(
            ("--offloadedReadPriority", "-orp"),
            "managedLedgerOffloadedReadPriority",
            "Where to read first: tiered-storage-first or bookkeeper-first.",
            Unit.CONSTANT,
        ),
        example="-d aws-s3 -b cold -r eu-central-1",
    )


STORAGE_COMMANDS: Mapping[str, Commands] = MappingProxyType(
    {
        "backLogQuotaMap": Commands((_QUOTA,), (_QUOTA, _QUOTAS), (_QUOTA, _QUOTAS)),
        "retentionPolicies": everywhere(_RETENTION),
        "messageTTLInSeconds": Commands(
            (_TTL,),
            (_TTL,),
            (named("message-ttl", replace(_TTL_TIME, flags=("--messageTTL", "-ttl")), example="-ttl 3d"),),
        ),
        "subscriptionExpirationTimeInMinutes": Commands((_EXPIRATION,), (), (_EXPIRATION,)),
        "persistence": everywhere(_PERSISTENCE),
        "deduplicationEnabled": Commands(
            (_DEDUPLICATION,),
            (
                _DEDUPLICATION,
                Command("get-deduplication-enabled", "enable-deduplication", "", fixed=True),
                Command("", "disable-deduplication", "", fixed=False),
            ),
            (_DEDUPLICATION,),
        ),
        "deduplicationSnapshotIntervalSeconds": everywhere(_SNAPSHOT_INTERVAL),
        "inactiveTopicPolicies": everywhere(_INACTIVE),
        "offloadPolicies": Commands(
            (_offload(Unit.PLAIN),), (_offload(Unit.MILLISECONDS),), (_offload(Unit.MILLISECONDS),)
        ),
        "compactionThreshold": everywhere(_COMPACTION),
        "maxMessageSize": Commands((_MESSAGE_SIZE,), (_MESSAGE_SIZE,)),
    }
)
