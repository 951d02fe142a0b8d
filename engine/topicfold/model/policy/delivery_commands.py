"""Commands of the policies of rates and delayed delivery, the same in all groups but for single subscriptions.

Source: `CmdTopicPolicies`, `CmdTopics` and `CmdNamespaces` of Pulsar's client tools 4.0.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from topicfold.model.policy.options import Commands, Option, Unit, everywhere, named

_DELAYED = named(
    "delayed-delivery",
    Option(("--enable", "-e"), "active", "Deliver messages later where they say so.", Unit.TRUE),
    Option(("--disable", "-d"), "active", "Deliver them at once.", Unit.FALSE),
    Option(("--time", "-t"), "tickTime", "Time between two looks, such as 1s or 1m.", Unit.MILLISECONDS, "1s"),
    Option(
        ("--maxDelay", "-md"),
        "maxDeliveryDelayInMillis",
        "Longest delay, such as 1d; 0: no limit.",
        Unit.MILLISECONDS,
        "0",
    ),
    example="--enable -t 1s",
)

_DISPATCH = (
    Option(
        ("--msg-dispatch-rate", "-md"),
        "dispatchThrottlingRateInMsg",
        "Messages in a period; -1: no limit.",
        default="-1",
    ),
    Option(
        ("--byte-dispatch-rate", "-bd"),
        "dispatchThrottlingRateInByte",
        "Bytes in a period; -1: no limit.",
        default="-1",
    ),
    Option(("--dispatch-rate-period", "-dt"), "ratePeriodInSecond", "Seconds of a period.", default="1"),
    Option(("--relative-to-publish-rate", "-rp"), "relativeToPublishRate", "On top of the publish rate.", Unit.TRUE),
)
_DISPATCH_EXAMPLE = "-md 1000 -bd 1048576"
_DISPATCH_RATE = named("dispatch-rate", *_DISPATCH, example=_DISPATCH_EXAMPLE)
_SUBSCRIPTION_RATE = named("subscription-dispatch-rate", *_DISPATCH, example=_DISPATCH_EXAMPLE)
_OF_A_SUBSCRIPTION = replace(
    _SUBSCRIPTION_RATE,
    entry=Option(("--subscription", "-s"), "", "Only this subscription's rate."),
    entry_of="subscriptionPolicies",
)
_REPLICATOR_RATE = named("replicator-dispatch-rate", *_DISPATCH, example=_DISPATCH_EXAMPLE)

_PUBLISH_RATE = named(
    "publish-rate",
    Option(
        ("--msg-publish-rate", "-m"), "publishThrottlingRateInMsg", "Messages a second; -1: no limit.", default="-1"
    ),
    Option(("--byte-publish-rate", "-b"), "publishThrottlingRateInByte", "Bytes a second; -1: no limit.", default="-1"),
    example="-m 1000 -b 1048576",
)
_SUBSCRIBE_RATE = named(
    "subscribe-rate",
    Option(
        ("--subscribe-rate", "-sr"),
        "subscribeThrottlingRatePerConsumer",
        "Subscribes in a period; -1: no limit.",
        default="-1",
    ),
    Option(("--subscribe-rate-period", "-st"), "ratePeriodInSecond", "Seconds of a period.", default="30"),
    example="-sr 10 -st 30",
)

DELIVERY_COMMANDS: Mapping[str, Commands] = MappingProxyType(
    {
        "delayedDeliveryPolicies": everywhere(_DELAYED),
        "dispatchRate": everywhere(_DISPATCH_RATE),
        "subscriptionDispatchRate": Commands((_OF_A_SUBSCRIPTION,), (_SUBSCRIPTION_RATE,), (_SUBSCRIPTION_RATE,)),
        "subscriptionPolicies": Commands(),
        "replicatorDispatchRate": everywhere(_REPLICATOR_RATE),
        "publishRate": everywhere(_PUBLISH_RATE),
        "subscribeRate": everywhere(_SUBSCRIBE_RATE),
    }
)
