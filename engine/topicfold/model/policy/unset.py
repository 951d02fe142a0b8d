"""Tells which stored values do not count when levels are compared, so that the level below decides.

Source: the normalisations of Pulsar's `HierarchyTopicPolicies`, `PublishRate.normalize` and `SubscribeRate.normalize`.
"""

from __future__ import annotations

from topicfold.model.policy.shapes import UNDEFINED_STRATEGY
from topicfold.model.policy.values import Value


def is_negative(value: Value) -> bool:
    """Return whether a number is below 0."""
    return bool(value < 0)


def is_empty(value: Value) -> bool:
    """Return whether a list has no items."""
    return not value


def is_undefined(value: Value) -> bool:
    """Return whether a schema compatibility strategy leaves the decision to the next level."""
    return bool(value == UNDEFINED_STRATEGY)


def is_no_dispatch_rate(value: Value) -> bool:
    """Return whether a dispatch rate limits neither messages nor bytes."""
    return bool(value["dispatchThrottlingRateInMsg"] <= 0 and value["dispatchThrottlingRateInByte"] <= 0)


def is_no_publish_rate(value: Value) -> bool:
    """Return whether a publish rate limits neither messages nor bytes."""
    return bool(value["publishThrottlingRateInMsg"] <= 0 and value["publishThrottlingRateInByte"] <= 0)


def is_no_subscribe_rate(value: Value) -> bool:
    """Return whether a subscribe rate limits nothing, because its rate or its period is not positive."""
    return bool(value["subscribeThrottlingRatePerConsumer"] <= 0 or value["ratePeriodInSecond"] <= 0)
