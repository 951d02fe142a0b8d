"""Policies that limit the numbers of producers, consumers, subscriptions and unacknowledged messages."""

from __future__ import annotations

from topicfold.model.policy.checks import not_negative
from topicfold.model.policy.description import NO_ANSWER, POLICIES_MISSING, Empty, NamespaceRoute, Policy, TopicRoute
from topicfold.model.policy.shapes import INT
from topicfold.model.policy.unset import is_negative

BOUNDS: tuple[Policy, ...] = (
    Policy(
        "maxProducerPerTopic", "maximum number of connected producers", INT,
        TopicRoute("maxProducers", "MAX_PRODUCERS", empty=Empty.REFUSED),
        "Maximum number of connected producers; 0: no limit.",
        NamespaceRoute("maxProducersPerTopic", "max_producers_per_topic", empty=Empty.REFUSED,
                       check=not_negative("maxProducersPerTopic must be 0 or more")),
        default=0, check=not_negative("maxProducers must be 0 or more"), is_unset=is_negative,
    ),
    Policy(
        "maxConsumerPerTopic", "maximum number of connected consumers", INT,
        TopicRoute("maxConsumers", "MAX_CONSUMERS", empty=Empty.REFUSED),
        "Maximum number of connected consumers; 0: no limit.",
        NamespaceRoute("maxConsumersPerTopic", "max_consumers_per_topic", empty=Empty.REFUSED,
                       check=not_negative("maxConsumersPerTopic must be 0 or more")),
        default=0, check=not_negative("maxConsumers must be 0 or more"), is_unset=is_negative,
    ),
    Policy(
        "maxConsumersPerSubscription", "maximum number of consumers on each subscription", INT,
        TopicRoute("maxConsumersPerSubscription", "MAX_CONSUMERS", has_applied=False, empty=Empty.REFUSED,
                   unset=NO_ANSWER),
        "Maximum number of consumers on each subscription; 0: no limit.",
        NamespaceRoute("maxConsumersPerSubscription", "max_consumers_per_subscription", empty=Empty.REFUSED,
                       check=not_negative("maxConsumersPerSubscription must be 0 or more")),
        default=0, check=not_negative("Invalid value for maxConsumersPerSubscription"), is_unset=is_negative,
    ),
    Policy(
        "maxSubscriptionsPerTopic", "maximum number of subscriptions", INT,
        TopicRoute("maxSubscriptionsPerTopic", "MAX_SUBSCRIPTIONS", has_applied=False, empty=Empty.REFUSED,
                   unset=NO_ANSWER),
        "Maximum number of subscriptions; 0: no limit.",
        NamespaceRoute("maxSubscriptionsPerTopic", "max_subscriptions_per_topic", empty=Empty.REFUSED,
                       missing=POLICIES_MISSING),
        default=0, check=not_negative("maxSubscriptionsPerTopic must be 0 or more"), is_unset=is_negative,
    ),
    Policy(
        "maxUnackedMessagesOnConsumer", "maximum number of unacknowledged messages per consumer", INT,
        TopicRoute("maxUnackedMessagesOnConsumer", "MAX_UNACKED"),
        "Maximum number of unacknowledged messages per consumer; 0: no limit.",
        NamespaceRoute("maxUnackedMessagesPerConsumer", "max_unacked_messages_per_consumer", empty=Empty.REFUSED,
                       check=not_negative("maxUnackedMessagesPerConsumer must be 0 or more")),
        default=50_000, check=not_negative("maxUnackedNum must be 0 or more"), is_unset=is_negative,
    ),
    Policy(
        "maxUnackedMessagesOnSubscription", "maximum number of unacknowledged messages per subscription", INT,
        TopicRoute("maxUnackedMessagesOnSubscription", "MAX_UNACKED"),
        "Maximum number of unacknowledged messages per subscription; 0: no limit.",
        NamespaceRoute("maxUnackedMessagesPerSubscription", "max_unacked_messages_per_subscription",
                       empty=Empty.REFUSED, check=not_negative("maxUnackedMessagesPerSubscription must be 0 or more")),
        default=200_000, check=not_negative("maxUnackedNum must be 0 or more"), is_unset=is_negative,
    ),
)  # fmt: skip
