"""Commands for the policies in `delivery`: the same in all groups, except for single subscriptions.

Source: `CmdTopicPolicies`, `CmdTopics` and `CmdNamespaces` of Pulsar's client tools 4.0.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from topicfold.model.policy.options import Commands, Option, Unit, everywhere, named

_DELAYED = named(
    "delayed-delivery",
    Option(("--enable", "-e"), "active", "Honour delivery delays.", Unit.TRUE),
    Option(("--disable", "-d"), "active", "Deliver every message at once.", Unit.FALSE),
    Option(
        ("--time", "-t"), "tickTime", "Time between checks for due messages, such as 1s or 1m.", Unit.MILLISECONDS, "1s"
    ),
    Option(
        ("--maxDelay", "-md"),
        "maxDeliveryDelayInMillis",
        "Maximum delay, such as 1d; 0: no limit.",
        Unit.MILLISECONDS,
        "0",
    ),
    example="--enable -t 1s",
)

_DISPATCH = (
    Option(
        ("--msg-dispatch-rate", "-md"),
        "dispatchThrottlingRateInMsg",
        "Messages per period; -1: no limit.",
        default="-1",
    ),
    Option(
        ("--byte-dispatch-rate", "-bd"),
        "dispatchThrottlingRateInByte",
        "Bytes per period; -1: no limit.",
        default="-1",
    ),
    Option(("--dispatch-rate-period", "-dt"), "ratePeriodInSecond", "Length of the period in seconds.", default="1"),
    Option(
        ("--relative-to-publish-rate", "-rp"), "relativeToPublishRate", "Add the limit to the publish rate.", Unit.TRUE
    ),
)
_DISPATCH_EXAMPLE = "-md 1000 -bd 1048576"
_DISPATCH_RATE = named("dispatch-rate", *_DISPATCH, example=_DISPATCH_EXAMPLE)
_SUBSCRIPTION_RATE = named("subscription-dispatch-rate", *_DISPATCH, example=_DISPATCH_EXAMPLE)
_OF_A_SUBSCRIPTION = replace(
    _SUBSCRIPTION_RATE,
    entry=Option(("--subscription", "-s"), "", "The rate of this subscription only."),
    entry_of="subscriptionPolicies",
)
_REPLICATOR_RATE = named("replicator-dispatch-rate", *_DISPATCH, example=_DISPATCH_EXAMPLE)

_PUBLISH_RATE = named(
    "publish-rate",
    Option(
        ("--msg-publish-rate", "-m"), "publishThrottlingRateInMsg", "Messages per second; -1: no limit.", default="-1"
    ),
    Option(
        ("--byte-publish-rate", "-b"), "publishThrottlingRateInByte", "Bytes per second; -1: no limit.", default="-1"
    ),
    example="-m 1000 -b 1048576",
)
_SUBSCRIBE_RATE = named(
    "subscribe-rate",
    Option(
        ("--subscribe-rate", "-sr"),
        "subscribeThrottlingRatePerConsumer",
        "Subscribe requests per period; -1: no limit.",
        default="-1",
    ),
    Option(("--subscribe-rate-period", "-st"), "ratePeriodInSecond", "Length of the period in seconds.", default="30"),
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
