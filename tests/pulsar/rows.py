"""Rows 1–31 of Pulsar's topic policies as its Java tool 4.0.8 sees them: options, the request it makes, what it prints.

Row 4, subscription expiration, is missing: no published tool of that age has it. Bodies are as recorded from the tool.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.pulsar.recorder import Sent


@dataclass(frozen=True, slots=True)
class Row:
    """One policy: `topicPolicies get-NOUN | set-NOUN OPTIONS | remove-NOUN`.

    `sends` is the body of `set`, `value` what `get` prints then: JSON, or a string as it is printed; by default what
    was sent. `default` is what `get --applied` prints where nothing is set, None where the command has no `--applied`.
    `path` and `query` are those of the requests, `read_path` and `removal_query` stand where `get` and `remove` have
    others; `asks_applied` says whether `get` sends `applied`. `own` are options that all three commands take,
    `removal_options` those of `remove`. `is_awaited` is false where the tool ends without waiting for the answer.
    """

    number: int
    noun: str
    options: str
    path: str
    sends: Any
    value: Any = None
    default: Any = None
    unset: str = "null"
    after_removal: str = "null"
    method: str = "POST"
    query: str = ""
    removal_query: str = ""
    read_path: str = ""
    asks_applied: bool = True
    own: str = ""
    removal_options: str = ""
    has_global: bool = True
    is_awaited: bool = True

    def command(self, verb: str, topic: str, *flags: str) -> list[str]:
        """Return the arguments of one of the three commands."""
        options = {"get": "", "set": self.options, "remove": self.removal_options}[verb]
        return ["topicPolicies", f"{verb}-{self.noun}", *flags, *self.own.split(), *options.split(), topic]

    def request(self, verb: str, topic_path: str, *, is_global: bool = False) -> Sent:
        """Return the request that the command makes; `topic_path` is as in `persistent/t/n/topic`."""
        applied = "applied=false" if self.asks_applied else ""
        method, path, query = {
            "get": ("GET", self.read_path or self.path, applied),
            "set": (self.method, self.path, self.query),
            "remove": ("DELETE", self.path, self.removal_query or self.query),
        }[verb]
        asked = "&".join(filter(None, ["isGlobal=true" if is_global else "", query]))
        target = f"/admin/v2/{topic_path}/{path}{'?' if asked else ''}{asked}"
        return Sent(method, target, "application/json", self.sends) if verb == "set" else Sent(method, target)

    def shows(self, printed: str) -> bool:
        """Whether the tool printed the value that was set."""
        return same(printed, self.sends if self.value is None else self.value)

    def __str__(self) -> str:
        return "-".join([str(self.number), self.noun, *self.own.split()[1:], *self.removal_options.split()[1:]])


def same(printed: str, expected: Any) -> bool:
    """Whether what the tool printed is `expected`: a string as it stands, lines in any order, or a JSON value."""
    if isinstance(expected, str):
        return sorted(printed.splitlines()) == sorted(expected.splitlines())
    try:
        return bool(json.loads(printed) == expected)
    except ValueError:
        return False


def rate(messages: int = -1, size: int = -1, period: int = 1) -> dict[str, Any]:
    """Return a dispatch rate as the tool sends it."""
    return {
        "dispatchThrottlingRateInMsg": messages,
        "dispatchThrottlingRateInByte": size,
        "relativeToPublishRate": False,
        "ratePeriodInSecond": period,
    }


def _quota(size: int, seconds: int, policy: str) -> dict[str, Any]:
    return {"limit": size, "limitSize": size, "limitTime": seconds, "policy": policy}


def _printed(kind: str, size: int, seconds: int, policy: str) -> str:
    quota = f"limit={size}, limitSize={size}, limitTime={seconds}, policy={policy}"
    return f"{kind}    BacklogQuotaImpl({quota})"


_OFFLOAD = {
    "offloadersDirectory": "./offloaders",
    "managedLedgerOffloadMaxThreads": 2,
    "managedLedgerOffloadReadThreads": 2,
    "managedLedgerOffloadPrefetchRounds": 1,
    "managedLedgerExtraConfigurations": {},
    "s3ManagedLedgerOffloadMaxBlockSizeInBytes": 67108864,
    "s3ManagedLedgerOffloadReadBufferSizeInBytes": 1048576,
    "s3ManagedLedgerOffloadRoleSessionName": "pulsar-s3-offload",
    "gcsManagedLedgerOffloadMaxBlockSizeInBytes": 134217728,
    "gcsManagedLedgerOffloadReadBufferSizeInBytes": 1048576,
}
_PRIORITY = {"managedLedgerOffloadedReadPriority": "TIERED_STORAGE_FIRST"}
OFFLOAD_TO_S3 = {
    **_OFFLOAD,
    **_PRIORITY,
    "managedLedgerOffloadDriver": "aws-s3",
    "managedLedgerOffloadThresholdInBytes": 1048576,
    "s3ManagedLedgerOffloadRegion": "us-east-1",
    "s3ManagedLedgerOffloadBucket": "bucket",
    "managedLedgerOffloadBucket": "bucket",
    "managedLedgerOffloadRegion": "us-east-1",
    "managedLedgerOffloadMaxBlockSizeInBytes": 67108864,
    "managedLedgerOffloadReadBufferSizeInBytes": 1048576,
}
_IS_S3 = {"s3Driver": True, "gcsDriver": False, "fileSystemDriver": False}
"""What the tool makes of the driver, sends, and prints whether or not it was stored."""
_BOTH_UNLIMITED = "\n".join(
    _printed(kind, -1, -1, "producer_request_hold") for kind in ("destination_storage", "message_age")
)

ROWS: Sequence[Row] = (
    Row(1, "backlog-quota", "-l 10M -p producer_exception", "backlogQuota", _quota(10485760, -1, "producer_exception"),
        _printed("destination_storage", 10485760, -1, "producer_exception"), _BOTH_UNLIMITED, unset="",
        after_removal="", query="backlogQuotaType=destination_storage", read_path="backlogQuotaMap"),
    Row(1, "backlog-quota", "-lt 10m -p consumer_backlog_eviction -t message_age", "backlogQuota",
        _quota(-1, 600, "consumer_backlog_eviction"), _printed("message_age", -1, 600, "consumer_backlog_eviction"),
        _BOTH_UNLIMITED, unset="", after_removal="", query="backlogQuotaType=message_age", read_path="backlogQuotaMap",
        removal_options="-t message_age"),
    Row(2, "retention", "-t 7d -s 10G", "retention", {"retentionTimeInMinutes": 10080, "retentionSizeInMB": 10240},
        default={"retentionTimeInMinutes": 0, "retentionSizeInMB": 0}),
    Row(3, "message-ttl", "-t 1h", "messageTTL", None, 3600, 0, query="messageTTL=3600", removal_query="messageTTL=0"),
    Row(5, "persistence", "-e 3 -w 3 -a 2 -r 1.5", "persistence",
        {"bookkeeperEnsemble": 3, "bookkeeperWriteQuorum": 3, "bookkeeperAckQuorum": 2,
         "managedLedgerMaxMarkDeleteRate": 1.5}),
    Row(6, "deduplication", "-e", "deduplicationEnabled", True),
    Row(7, "deduplication-snapshot-interval", "-i 60", "deduplicationSnapshotInterval", 60, asks_applied=False),
    Row(8, "inactive-topic-policies", "-d -t 1h -m delete_when_subscriptions_caught_up", "inactiveTopicPolicies",
        {"inactiveTopicDeleteMode": "delete_when_subscriptions_caught_up", "maxInactiveDurationSeconds": 3600,
         "deleteWhileInactive": False},
        default={"inactiveTopicDeleteMode": "delete_when_no_subscriptions", "maxInactiveDurationSeconds": 60,
                 "deleteWhileInactive": True}),
    Row(9, "offload-policies", "-d aws-s3 -r us-east-1 -b bucket -t 1048576", "offloadPolicies",
        {name: value for name, value in (OFFLOAD_TO_S3 | _IS_S3).items() if name not in _PRIORITY},
        OFFLOAD_TO_S3 | _IS_S3, _OFFLOAD | _PRIORITY | _IS_S3 | {"s3Driver": False}),
    Row(10, "delayed-delivery", "-e -t 2s -md 1m", "delayedDelivery",
        {"tickTime": 2000, "active": True, "maxDeliveryDelayInMillis": 60000},
        default={"tickTime": 1000, "active": True, "maxDeliveryDelayInMillis": 0}),
    Row(11, "dispatch-rate", "-md 10 -bd 1000 -dt 2", "dispatchRate", rate(10, 1000, 2), default=rate(0, 0)),
    Row(12, "subscription-dispatch-rate", "-md 10", "subscriptionDispatchRate", rate(10), default=rate(0, 0)),
    Row(13, "subscription-dispatch-rate", "-md 20", "sub/dispatchRate", rate(20), default=rate(0, 0), own="-s sub"),
    Row(14, "replicator-dispatch-rate", "-bd 4096", "replicatorDispatchRate", rate(size=4096), default=rate(0, 0)),
    Row(15, "publish-rate", "-m 5", "publishRate",
        {"publishThrottlingRateInMsg": 5, "publishThrottlingRateInByte": -1}, asks_applied=False),
    Row(16, "subscribe-rate", "-sr 3 -st 60", "subscribeRate",
        {"subscribeThrottlingRatePerConsumer": 3, "ratePeriodInSecond": 60},
        default={"subscribeThrottlingRatePerConsumer": 0, "ratePeriodInSecond": 30}),
    Row(17, "compaction-threshold", "-t 10M", "compactionThreshold", 10485760, default=0),
    Row(18, "max-message-size", "-m 1024", "maxMessageSize", 1024, asks_applied=False),
    Row(19, "max-producers", "-p 5", "maxProducers", 5, default=0),
    Row(20, "max-consumers", "-c 5", "maxConsumers", 5, default=0),
    Row(21, "max-consumers-per-subscription", "-c 5", "maxConsumersPerSubscription", 5, asks_applied=False),
    Row(22, "max-subscriptions-per-topic", "-s 5", "maxSubscriptionsPerTopic", 5, asks_applied=False),
    Row(23, "max-unacked-messages-per-consumer", "-m 5", "maxUnackedMessagesOnConsumer", 5, default=50000),
    Row(24, "max-unacked-messages-per-subscription", "-m 5", "maxUnackedMessagesOnSubscription", 5, default=200000),
    Row(25, "subscription-types-enabled", "-t Key_Shared", "subscriptionTypesEnabled", ["Key_Shared"],
        after_removal="[ ]", asks_applied=False),
    Row(26, "schema-compatibility-strategy", "-s BACKWARD", "schemaCompatibilityStrategy", "BACKWARD", default="FULL",
        method="PUT", has_global=False),
    Row(28, "entry-filters-per-topic", "-efn a,b", "entryFilters", {"entryFilterNames": "a,b"},
        default={"entryFilterNames": ""}),
    Row(29, "auto-subscription-creation", "-e", "autoSubscriptionCreation", {"allowAutoSubscriptionCreation": True},
        default={"allowAutoSubscriptionCreation": True}),
    Row(30, "dispatcher-pause-on-ack-state-persistent", "", "dispatcherPauseOnAckStatePersistent", None,
        is_awaited=False),
    Row(31, "replication-clusters", "-c standalone", "replication", ["standalone"], default=["standalone"],
        is_awaited=False),
)  # fmt: skip
