"""Policies of namespaces as Pulsar's Java tool 4.0.8 sees them, and its older commands for policies of topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.pulsar.rows import rate


@dataclass(frozen=True, slots=True)
class NamespaceRow:
    """One policy: `namespaces get-NOUN | set-NOUN OPTIONS | remove-NOUN`; `number` is its row among those of topics.

    `value` is what `get` prints once it is set, `unset` what it prints before and after: JSON, or a string as it is
    printed.
    """

    number: int
    noun: str
    options: str
    value: Any
    unset: Any = "null"
    get_noun: str = ""
    can_remove: bool = True

    def command(self, verb: str, namespace: str) -> list[str]:
        """Return the arguments of one of the three commands."""
        noun = self.get_noun or self.noun if verb == "get" else self.noun
        return ["namespaces", f"{verb}-{noun}", *(self.options.split() if verb == "set" else ()), namespace]

    def __str__(self) -> str:
        return f"{self.number}-{self.noun}"


NAMESPACE_ROWS: Sequence[NamespaceRow] = (
    NamespaceRow(1, "backlog-quota", "-l 10M -p producer_exception",
        "destination_storage    BacklogQuotaImpl(limit=10485760, limitSize=10485760, limitTime=-1, "
        "policy=producer_exception)", "", "backlog-quotas"),
    NamespaceRow(2, "retention", "-t 7d -s 10G", {"retentionTimeInMinutes": 10080, "retentionSizeInMB": 10240}),
    NamespaceRow(3, "message-ttl", "-ttl 1h", 3600),
    NamespaceRow(4, "subscription-expiration-time", "-t 5", 5),
    NamespaceRow(5, "persistence", "-e 3 -w 3 -a 2 -r 1.5",
        {"bookkeeperEnsemble": 3, "bookkeeperWriteQuorum": 3, "bookkeeperAckQuorum": 2,
         "managedLedgerMaxMarkDeleteRate": 1.5}),
    NamespaceRow(6, "deduplication", "-e", True),
    NamespaceRow(7, "deduplication-snapshot-interval", "-i 60", 60),
    NamespaceRow(8, "inactive-topic-policies", "-d -t 1h -m delete_when_subscriptions_caught_up",
        {"inactiveTopicDeleteMode": "delete_when_subscriptions_caught_up", "maxInactiveDurationSeconds": 3600,
         "deleteWhileInactive": False}),
    NamespaceRow(10, "delayed-delivery", "-e -t 2s -md 1m",
        {"tickTime": 2000, "active": True, "maxDeliveryDelayInMillis": 60000}),
    NamespaceRow(11, "dispatch-rate", "-md 10 -bd 1000 -dt 2", rate(10, 1000, 2)),
    NamespaceRow(12, "subscription-dispatch-rate", "-md 10", rate(10)),
    NamespaceRow(14, "replicator-dispatch-rate", "-bd 4096", rate(size=4096)),
    NamespaceRow(15, "publish-rate", "-m 5", {"publishThrottlingRateInMsg": 5, "publishThrottlingRateInByte": -1}),
    NamespaceRow(16, "subscribe-rate", "-sr 3 -st 60",
        {"subscribeThrottlingRatePerConsumer": 3, "ratePeriodInSecond": 60}),
    NamespaceRow(17, "compaction-threshold", "-t 10M", 10485760),
    NamespaceRow(19, "max-producers-per-topic", "-p 5", 5),
    NamespaceRow(20, "max-consumers-per-topic", "-c 5", 5),
    NamespaceRow(21, "max-consumers-per-subscription", "-c 5", 5),
    NamespaceRow(22, "max-subscriptions-per-topic", "-m 5", 5),
    NamespaceRow(23, "max-unacked-messages-per-consumer", "-c 5", 5),
    NamespaceRow(24, "max-unacked-messages-per-subscription", "-c 5", 5),
    NamespaceRow(25, "subscription-types-enabled", "-t Key_Shared", ["Key_Shared"], []),
    NamespaceRow(26, "schema-compatibility-strategy", "-c BACKWARD", "BACKWARD", "UNDEFINED", can_remove=False),
    NamespaceRow(27, "schema-validation-enforce", "-e", True, unset=False, can_remove=False),
    NamespaceRow(28, "entry-filters", "-efn a,b", {"entryFilterNames": "a,b"}),
    NamespaceRow(29, "auto-subscription-creation", "-e", {"allowAutoSubscriptionCreation": True}),
    NamespaceRow(30, "dispatcher-pause-on-ack-state-persistent", "", True, unset=False),
    NamespaceRow(31, "clusters", "-c standalone", "standalone", "standalone", can_remove=False),
)  # fmt: skip

OLDER: Mapping[str, str] = {
    "backlog-quota": "backlog-quota",
    "compaction-threshold": "compaction-threshold",
    "deduplication": "deduplication",
    "deduplication-snapshot-interval": "deduplication-snapshot-interval",
    "delayed-delivery": "delayed-delivery",
    "dispatch-rate": "dispatch-rate",
    "inactive-topic-policies": "inactive-topic-policies",
    "max-consumers": "max-consumers",
    "max-consumers-per-subscription": "max-consumers-per-subscription",
    "max-message-size": "max-message-size",
    "max-producers": "max-producers",
    "max-subscriptions": "max-subscriptions-per-topic",
    "max-unacked-messages-on-consumer": "max-unacked-messages-per-consumer",
    "max-unacked-messages-on-subscription": "max-unacked-messages-per-subscription",
    "max-unacked-messages-per-consumer": "max-unacked-messages-per-consumer",
    "max-unacked-messages-per-subscription": "max-unacked-messages-per-subscription",
    "maxProducers": "max-producers",
    "message-ttl": "message-ttl",
    "offload-policies": "offload-policies",
    "persistence": "persistence",
    "publish-rate": "publish-rate",
    "replication-clusters": "replication-clusters",
    "replicator-dispatch-rate": "replicator-dispatch-rate",
    "retention": "retention",
    "subscribe-rate": "subscribe-rate",
    "subscription-dispatch-rate": "subscription-dispatch-rate",
    "subscription-types-enabled": "subscription-types-enabled",
}
"""Nouns in the older group `topics`, most of them hidden from its help, and those of `topicPolicies`."""
