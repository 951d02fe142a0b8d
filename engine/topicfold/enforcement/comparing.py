"""Comparing wishes with Kafka: which settings differ, old value and new."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from topicfold.cluster.port import Configuration
from topicfold.enforcement.wishes import Wish
from topicfold.model.policy.kafka_settings import CLEANUP_POLICY, MAX_MESSAGE_BYTES, SETTINGS, is_met, keeps_less
from topicfold.model.policy.resolve import Origin


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting of a Kafka topic that is not as it should be.

    `new` None: the topic's own value goes, and the cluster's comes out. `origin` is the level that says so, None for
    a policy that is no more. `trims`: Kafka deletes what is beyond the topic's retention, and does not only compact.
    """

    name: str
    kafka_topic: str
    setting: str
    old: str
    new: str | None
    origin: Origin | None
    trims: bool = True

    @property
    def deletes_messages(self) -> bool | None:
        """Whether Kafka then deletes messages that it would have kept; None if that cannot be told.

        That is where the cluster's own value decides it, or where Kafka does not say what the value was.
        """
        if self.setting == MAX_MESSAGE_BYTES or (self.setting != CLEANUP_POLICY and not self.trims):
            return False
        return keeps_less(self.setting, self.old, self.new)


def asked_for(wish: Wish, configuration: Configuration) -> Iterator[Difference]:
    """Yield the settings that the wish tells and that are otherwise."""
    trims = _trims(wish, configuration)
    for setting in SETTINGS:
        told = wish.told.get(setting)
        found = configuration.get(setting)
        if told is not None and found is not None and not is_met(setting, told.value, found.value):
            yield Difference(wish.name, wish.kafka_topic, setting, found.value, told.value, told.origin, trims)


def left_over(wish: Wish, configuration: Configuration) -> Iterator[Difference]:
    """Yield the settings that the topic overrides and nothing asks for: whose they are is not judged here."""
    trims = _trims(wish, configuration)
    for setting in SETTINGS:
        found = configuration.get(setting)
        if setting not in wish.told and found is not None and found.is_own:
            yield Difference(wish.name, wish.kafka_topic, setting, found.value, None, None, trims)


def _trims(wish: Wish, configuration: Configuration) -> bool:
    """Return whether Kafka deletes what is beyond the topic's retention once it is as it should be."""
    cleanup = wish.told.get(CLEANUP_POLICY) or configuration.get(CLEANUP_POLICY)
    return cleanup is None or "delete" in cleanup.value.split(",")
