"""Rows of the table of topic policies as the npm client 1.0.10 has them; it was made from Pulsar's OpenAPI document.

It has no methods for rows 4, 28, 29, 30 and 32, and none to remove row 27. It cannot send the body of row 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.pulsar.rows import OFFLOAD_TO_S3, rate


@dataclass(frozen=True, slots=True)
class NpmRow:
    """One policy: `client.persistentTopic.getNOUN`, `setNOUN` and `removeNOUN`, or what `removal` says for `remove`.

    `value` is what `set` is given, as its argument `given_as`, and what `get` returns then. `default` is what `get`
    returns with `applied` where nothing is set, None where it has no such argument. `own` are arguments of all three.
    """

    number: int
    noun: str
    value: Any
    removal: str = "remove"
    default: Any = None
    after_removal: Any = None
    own: Mapping[str, Any] = field(default_factory=dict)
    given_as: str = "body"
    has_global: bool = True

    def method(self, verb: str) -> str:
        """Return the name of one of the three methods."""
        return f"{self.removal if verb == 'remove' else verb}{self.noun}"

    def arguments(self, verb: str, **given: Any) -> dict[str, Any]:
        """Return the named arguments of one of the three methods."""
        return {**given, **self.own, **({self.given_as: self.value} if verb == "set" else {})}

    def __str__(self) -> str:
        return f"{self.number}-{self.noun}"


_PERSISTENCE = {
    "bookkeeperEnsemble": 3, "bookkeeperWriteQuorum": 3, "bookkeeperAckQuorum": 2,
    "managedLedgerMaxMarkDeleteRate": 1.5,
}  # fmt: skip
_INACTIVE = {
    "inactiveTopicDeleteMode": "delete_when_subscriptions_caught_up", "maxInactiveDurationSeconds": 3600,
    "deleteWhileInactive": False,
}  # fmt: skip

ROWS: Sequence[NpmRow] = (
    NpmRow(2, "Retention", {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10},
        default={"retentionTimeInMinutes": 0, "retentionSizeInMB": 0}),
    NpmRow(3, "MessageTtl", 600, default=0, given_as="messageTtl"),
    NpmRow(5, "Persistence", _PERSISTENCE, default={
        "bookkeeperEnsemble": 2, "bookkeeperWriteQuorum": 2, "bookkeeperAckQuorum": 2,
        "managedLedgerMaxMarkDeleteRate": 1.0}),
    NpmRow(6, "Deduplication", True, default=False),
    NpmRow(7, "DeduplicationSnapshotInterval", 60, "delete"),
    NpmRow(8, "InactiveTopicPolicies", _INACTIVE, "delete", default={
        "inactiveTopicDeleteMode": "delete_when_no_subscriptions", "maxInactiveDurationSeconds": 60,
        "deleteWhileInactive": True}),
    NpmRow(9, "OffloadPolicies", OFFLOAD_TO_S3),
    NpmRow(10, "DelayedDeliveryPolicies", {"active": True, "tickTime": 2000, "maxDeliveryDelayInMillis": 60000},
        "delete", default={"active": True, "tickTime": 1000, "maxDeliveryDelayInMillis": 0}),
    NpmRow(11, "DispatchRate", rate(10, 1000, 2), default=rate(0, 0)),
    NpmRow(12, "SubscriptionDispatchRate", rate(10), default=rate(0, 0)),
    NpmRow(13, "SubscriptionLevelDispatchRate", rate(20), default=rate(0, 0), own={"subName": "sub"}),
    NpmRow(14, "ReplicatorDispatchRate", rate(size=4096), default=rate(0, 0)),
    NpmRow(15, "PublishRate", {"publishThrottlingRateInMsg": 5, "publishThrottlingRateInByte": -1}),
    NpmRow(16, "SubscribeRate", {"subscribeThrottlingRatePerConsumer": 3, "ratePeriodInSecond": 60},
        default={"subscribeThrottlingRatePerConsumer": 0, "ratePeriodInSecond": 30}),
    NpmRow(17, "CompactionThreshold", 10485760, default=0),
    NpmRow(18, "MaxMessageSize", 1024),
    NpmRow(19, "MaxProducers", 5, default=0),
    NpmRow(20, "MaxConsumers", 5, default=0),
    NpmRow(21, "MaxConsumersPerSubscription", 5),
    NpmRow(22, "MaxSubscriptionsPerTopic", 5),
    NpmRow(23, "MaxUnackedMessagesOnConsumer", 5, "delete", default=50000),
    NpmRow(24, "MaxUnackedMessagesOnSubscription", 5, "delete", default=200000),
    NpmRow(25, "SubscriptionTypesEnabled", ["Shared", "Exclusive"], after_removal=[]),
    NpmRow(26, "SchemaCompatibilityStrategy", "BACKWARD", default="FULL", has_global=False),
    NpmRow(31, "ReplicationClusters", ["standalone"], default=["standalone"], has_global=False),
)  # fmt: skip
