"""A value of every policy: how it is stated, how it is shown, and what is refused of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.server.rest import ORDERS
from topicfold.model.policy.description import EMPTY_ANSWER, NO_ANSWER, Policy, Source
from topicfold.model.policy.table import BY_NAME


@dataclass(frozen=True, slots=True)
class Sample:
    """A policy's value. `stated` is what is sent (a query parameter's number, or JSON), `shown` what is then answered;
    `other` is another value to state. `wrong_type` is JSON of another kind, `refused` what is well-formed and refused.
    `empty` is the status of an empty body, `applied` what `applied=true` answers where nothing is set: None for as
    without it.
    """

    stated: Any
    shown: Any
    other: Any
    wrong_type: Any
    empty: int
    refused: Sequence[tuple[Any, int]] = field(default_factory=tuple)
    applied: Any = None


def number(value: int, empty: int, applied: int | None = None) -> Sample:
    """Return the sample of a whole number that may not be negative."""
    return Sample(value, value, value + 1, {}, empty, ((-1, 412),), applied)


def rate() -> Sample:
    """Return the sample of a dispatch rate."""
    none = {"dispatchThrottlingRateInMsg": 0, "dispatchThrottlingRateInByte": 0, "relativeToPublishRate": False}
    given = {"dispatchThrottlingRateInMsg": 5, "ratePeriodInSecond": 1}
    shown = {**none, "ratePeriodInSecond": 1, **given}
    other = {**given, "relativeToPublishRate": True}
    return Sample(given, shown, other, [], 204, (), none | {"ratePeriodInSecond": 1})


_QUOTA = {"limitSize": 5, "policy": "producer_exception"}
_SHOWN_QUOTA = {"limit": 5, "limitSize": 5, "limitTime": 0, "policy": "producer_exception"}
_NO_QUOTA = {"limit": -1, "limitSize": -1, "limitTime": -1, "policy": "producer_request_hold"}
_OFFLOAD_DEFAULTS = {
    "offloadersDirectory": "./offloaders", "managedLedgerOffloadMaxThreads": 2, "managedLedgerOffloadReadThreads": 2,
    "managedLedgerOffloadPrefetchRounds": 1, "managedLedgerOffloadedReadPriority": "TIERED_STORAGE_FIRST",
    "s3ManagedLedgerOffloadMaxBlockSizeInBytes": 67_108_864, "s3ManagedLedgerOffloadReadBufferSizeInBytes": 1_048_576,
    "s3ManagedLedgerOffloadRoleSessionName": "pulsar-s3-offload",
    "gcsManagedLedgerOffloadMaxBlockSizeInBytes": 134_217_728,
    "gcsManagedLedgerOffloadReadBufferSizeInBytes": 1_048_576,
}  # fmt: skip
_PERSISTENCE = {"bookkeeperEnsemble": 3, "bookkeeperWriteQuorum": 3, "bookkeeperAckQuorum": 2}

SAMPLES: Mapping[str, Sample] = {
    "backLogQuotaMap": Sample(
        _QUOTA, {"destination_storage": _SHOWN_QUOTA}, _QUOTA | {"limitSize": 6}, 5, 204,
        (({"limitSize": 5}, 400), (_QUOTA | {"policy": "nosuch"}, 400)),
        {"destination_storage": _NO_QUOTA, "message_age": _NO_QUOTA},
    ),
    "retentionPolicies": Sample(
        {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10},
        {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10},
        {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1}, "x", 204,
        (({"retentionTimeInMinutes": 1}, 400), ({"retentionTimeInMinutes": -2, "retentionSizeInMB": 1}, 400)),
        {"retentionTimeInMinutes": 0, "retentionSizeInMB": 0},
    ),
    "messageTTLInSeconds": number(600, 204, 0),
    "subscriptionExpirationTimeInMinutes": number(5, 204, 0),
    "persistence": Sample(
        _PERSISTENCE, _PERSISTENCE | {"managedLedgerMaxMarkDeleteRate": -1.0},
        _PERSISTENCE | {"bookkeeperAckQuorum": 1}, 7, 400,
        ((_PERSISTENCE | {"bookkeeperAckQuorum": 4}, 400), (_PERSISTENCE | {"bookkeeperEnsemble": 6}, 400)),
        {"bookkeeperEnsemble": 2, "bookkeeperWriteQuorum": 2, "bookkeeperAckQuorum": 2,
         "managedLedgerMaxMarkDeleteRate": 1.0},
    ),
    "deduplicationEnabled": Sample(True, True, False, "maybe", 204, (), False),
    "deduplicationSnapshotIntervalSeconds": number(9, 204),
    "inactiveTopicPolicies": Sample(
        {"inactiveTopicDeleteMode": "delete_when_subscriptions_caught_up", "deleteWhileInactive": True},
        {"inactiveTopicDeleteMode": "delete_when_subscriptions_caught_up", "maxInactiveDurationSeconds": 0,
         "deleteWhileInactive": True},
        {"maxInactiveDurationSeconds": 5}, [], 204, (({"inactiveTopicDeleteMode": "nosuch"}, 400),),
        {"inactiveTopicDeleteMode": "delete_when_no_subscriptions", "maxInactiveDurationSeconds": 60,
         "deleteWhileInactive": True},
    ),
    "offloadPolicies": Sample(
        {"managedLedgerOffloadDriver": "filesystem"}, {"managedLedgerOffloadDriver": "filesystem"} | _OFFLOAD_DEFAULTS,
        {"managedLedgerOffloadDriver": "aws-s3", "managedLedgerOffloadBucket": "b"}, [], 412,
        (({"managedLedgerOffloadDriver": "nosuch"}, 412), ({"managedLedgerOffloadDriver": "aws-s3"}, 412)),
        _OFFLOAD_DEFAULTS,
    ),
    "compactionThreshold": number(1 << 40, 400, 0),
    "maxMessageSize": Sample(1024, 1024, 0, "x", 400, ((-1, 412), (2_147_483_647, 412))),
    "delayedDeliveryPolicies": Sample(
        {"tickTime": 5, "active": True}, {"tickTime": 5, "active": True, "maxDeliveryDelayInMillis": 0},
        {"active": False}, 5, 204, (), {"tickTime": 1000, "active": True, "maxDeliveryDelayInMillis": 0},
    ),
    "dispatchRate": rate(),
    "subscriptionDispatchRate": rate(),
    "subscriptionPolicies": rate(),
    "replicatorDispatchRate": rate(),
    "publishRate": Sample(
        {"publishThrottlingRateInMsg": 5}, {"publishThrottlingRateInMsg": 5, "publishThrottlingRateInByte": -1},
        {"publishThrottlingRateInByte": 5}, [], 204,
    ),
    "subscribeRate": Sample(
        {"subscribeThrottlingRatePerConsumer": 5}, {"subscribeThrottlingRatePerConsumer": 5, "ratePeriodInSecond": 30},
        {"ratePeriodInSecond": 5}, [], 204, (), {"subscribeThrottlingRatePerConsumer": 0, "ratePeriodInSecond": 30},
    ),
    "maxProducerPerTopic": number(5, 400, 0),
    "maxConsumerPerTopic": number(5, 400, 0),
    "maxConsumersPerSubscription": number(5, 400),
    "maxSubscriptionsPerTopic": number(5, 400),
    "maxUnackedMessagesOnConsumer": number(5, 204, 50_000),
    "maxUnackedMessagesOnSubscription": number(5, 204, 200_000),
    "subscriptionTypesEnabled": Sample(
        ["Shared", "Key_Shared"], ["Shared", "Key_Shared"], ["Failover"], "Shared", 204, ((["Nosuch"], 400),)
    ),
    "schemaCompatibilityStrategy": Sample("BACKWARD", "BACKWARD", "FORWARD", 5, 204, (("NOSUCH", 400),), "FULL"),
    "schemaValidationEnforced": Sample(True, True, False, "maybe", 400, (), False),
    "entryFilters": Sample(
        {"entryFilterNames": "a,b"}, {"entryFilterNames": "a,b"}, {"entryFilterNames": "c"}, [], 204,
        (({"entryFilterNames": " "}, 400), ({}, 400)), {"entryFilterNames": ""},
    ),
    "autoSubscriptionCreationOverride": Sample(
        {"allowAutoSubscriptionCreation": True}, {"allowAutoSubscriptionCreation": True}, {}, [], 204, (),
        {"allowAutoSubscriptionCreation": True},
    ),
    "dispatcherPauseOnAckStatePersistentEnabled": Sample(None, True, None, None, 204),
    "replicationClusters": Sample(
        ["standalone", "east"], ["standalone", "east"], ["standalone"], "standalone", 412,
        (([], 412), (["east"], 412), (["standalone", "nosuch"], 403)), ["standalone", "east"],
    ),
    "shadowTopics": Sample(
        ["persistent://public/default/shadow"], ["persistent://public/default/shadow"], ["shadow"], "shadow", 412,
        (([], 412), (["nosuch"], 412), (["non-persistent://public/default/shadow"], 412), (["a/b"], 403)),
    ),
}  # fmt: skip


def of_domain(domain: str) -> str:
    """Return the path of the topic `orders` of a domain."""
    return ORDERS.replace("/persistent/", f"/{domain}/")


def path_of(policy: Policy, *, reading: bool = False) -> str:
    """Return what follows the topic in the path of a policy."""
    route = policy.topic
    return ((route.read_path if reading else "") or route.path).replace("{subName}", "billing")


def setting(policy: Policy, value: Any) -> tuple[str, Any]:
    """Return path, with its query, and body of the request that sets a policy to `value`."""
    match policy.topic.source:
        case Source.QUERY:
            return f"{path_of(policy)}?{policy.topic.path}={value}", None
        case Source.TRUE:
            return path_of(policy), None
        case Source.BODY:
            return path_of(policy), value


def unset_answer(policy: Policy, *, had_some: bool = False) -> tuple[int, str | None, Any]:
    """Return status, content type and JSON of the answer where a policy is not set."""
    route = policy.topic
    unset = route.absent if route.absent is not None and not had_some else route.unset
    if unset is NO_ANSWER:
        return 204, None, None
    if unset is EMPTY_ANSWER:
        return 200, None, None
    return 200, "application/json", unset


POLICIES = list(BY_NAME.values())
OF_ALL_CLUSTERS = [policy for policy in POLICIES if policy.topic.has_global]
IN_BODY = [policy for policy in POLICIES if policy.topic.source is Source.BODY]
