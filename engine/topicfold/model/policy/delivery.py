"""Policies for the rates of messages and subscribers, and for delayed delivery."""

from __future__ import annotations

from types import MappingProxyType

from topicfold.model.policy.description import (
    NO_ANSWER,
    POLICIES_MISSING,
    Empty,
    Merge,
    NamespaceRoute,
    Policy,
    TopicRoute,
)
from topicfold.model.policy.shapes import (
    DELAYED_DELIVERY,
    DISPATCH_RATE,
    PUBLISH_RATE,
    SUBSCRIBE_RATE,
    SUBSCRIPTION_POLICIES,
)
from topicfold.model.policy.unset import is_no_dispatch_rate, is_no_publish_rate, is_no_subscribe_rate
from topicfold.model.policy.values import MapOf

_NO_DISPATCH_RATE = MappingProxyType({
    "dispatchThrottlingRateInMsg": 0, "dispatchThrottlingRateInByte": 0, "relativeToPublishRate": False,
    "ratePeriodInSecond": 1,
})  # fmt: skip

DELIVERY: tuple[Policy, ...] = (
    Policy(
        "delayedDeliveryPolicies", "delayed delivery", DELAYED_DELIVERY,
        TopicRoute("delayedDelivery", "DELAYED_DELIVERY"),
        "Whether messages can be sent with a delivery delay, and how long it may be.",
        NamespaceRoute("delayedDelivery", "delayed_delivery_policies", missing=POLICIES_MISSING),
        default=MappingProxyType({"tickTime": 1000, "active": True, "maxDeliveryDelayInMillis": 0}),
    ),
    Policy(
        "dispatchRate", "dispatch rate", DISPATCH_RATE,
        TopicRoute("dispatchRate", "RATE", empty=Empty.IGNORED),
        "Maximum delivery rate of the topic, all subscriptions together.",
        NamespaceRoute("dispatchRate", "topicDispatchRate", by_cluster=True),
        default=_NO_DISPATCH_RATE, is_unset=is_no_dispatch_rate,
    ),
    Policy(
        "subscriptionDispatchRate", "subscription dispatch rate", DISPATCH_RATE,
        TopicRoute("subscriptionDispatchRate", "RATE", empty=Empty.IGNORED),
        "Maximum delivery rate of each subscription.",
        NamespaceRoute("subscriptionDispatchRate", "subscriptionDispatchRate", by_cluster=True),
        default=_NO_DISPATCH_RATE, is_unset=is_no_dispatch_rate,
    ),
    Policy(
        "subscriptionPolicies", "per-subscription dispatch rates", MapOf(SUBSCRIPTION_POLICIES),
        TopicRoute("{subName}/dispatchRate", "RATE", empty=Empty.IGNORED),
        "Maximum delivery rate of one named subscription.",
        merge=Merge.MEMBERS,
    ),
    Policy(
        "replicatorDispatchRate", "replicator dispatch rate", DISPATCH_RATE,
        TopicRoute("replicatorDispatchRate", "REPLICATION_RATE"),
        "Maximum rate of replication to other clusters.",
        NamespaceRoute("replicatorDispatchRate", "replicatorDispatchRate", by_cluster=True),
        default=_NO_DISPATCH_RATE, is_unset=is_no_dispatch_rate,
    ),
    Policy(
        "publishRate", "publish rate", PUBLISH_RATE,
        TopicRoute("publishRate", "RATE", has_applied=False, empty=Empty.IGNORED, unset=NO_ANSWER),
        "Maximum rate at which producers can publish.",
        NamespaceRoute("publishRate", "publishMaxMessageRate", by_cluster=True),
        default=MappingProxyType({"publishThrottlingRateInMsg": 0, "publishThrottlingRateInByte": 0}),
        is_unset=is_no_publish_rate,
    ),
    Policy(
        "subscribeRate", "subscribe rate", SUBSCRIBE_RATE,
        TopicRoute("subscribeRate", "RATE", empty=Empty.IGNORED),
        "Maximum rate at which each consumer can subscribe.",
        NamespaceRoute("subscribeRate", "clusterSubscribeRate", by_cluster=True),
        default=MappingProxyType({"subscribeThrottlingRatePerConsumer": 0, "ratePeriodInSecond": 30}),
        is_unset=is_no_subscribe_rate,
    ),
)  # fmt: skip
