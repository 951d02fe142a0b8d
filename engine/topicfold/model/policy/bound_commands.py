"""Commands for the policies in `bounds`. The groups of commands spell the same bound differently.

Source: `CmdTopicPolicies`, `CmdTopics` and `CmdNamespaces` of Pulsar's client tools 4.0.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from topicfold.model.policy.options import Command, Commands, everywhere, named, required


def _bound(noun: str, flag: str, short: str, what: str) -> Command:
    return named(noun, required(flag, short, f"Maximum number of {what}; 0: no limit."), example=f"{short} 10")


def _unacked(whose: str, namespace_flag: str) -> Commands:
    per, on = (
        _bound(f"max-unacked-messages-{word}-{whose}", "--maxNum", "-m", "unacknowledged messages")
        for word in ("per", "on")
    )
    return Commands(
        (per,),
        (per, on),
        (_bound(f"max-unacked-messages-per-{whose}", namespace_flag, "-c", "unacknowledged messages"),),
    )


BOUND_COMMANDS: Mapping[str, Commands] = MappingProxyType(
    {
        "maxProducerPerTopic": Commands(
            (_bound("max-producers", "--max-producers", "-p", "producers"),),
            (
                _bound("max-producers", "--max-producers", "-p", "producers"),
                _bound("maxProducers", "--max-producers", "-p", "producers"),
            ),
            (_bound("max-producers-per-topic", "--max-producers-per-topic", "-p", "producers"),),
        ),
        "maxConsumerPerTopic": Commands(
            (_bound("max-consumers", "--max-consumers", "-c", "consumers"),),
            (_bound("max-consumers", "--max-consumers", "-c", "consumers"),),
            (_bound("max-consumers-per-topic", "--max-consumers-per-topic", "-c", "consumers"),),
        ),
        "maxConsumersPerSubscription": everywhere(
            _bound("max-consumers-per-subscription", "--max-consumers-per-subscription", "-c", "consumers")
        ),
        "maxSubscriptionsPerTopic": Commands(
            (_bound("max-subscriptions-per-topic", "--max-subscriptions-per-topic", "-s", "subscriptions"),),
            (_bound("max-subscriptions", "--max-subscriptions-per-topic", "-m", "subscriptions"),),
            (_bound("max-subscriptions-per-topic", "--max-subscriptions-per-topic", "-m", "subscriptions"),),
        ),
        "maxUnackedMessagesOnConsumer": _unacked("consumer", "--max-unacked-messages-per-topic"),
        "maxUnackedMessagesOnSubscription": _unacked("subscription", "--max-unacked-messages-per-subscription"),
    }
)
