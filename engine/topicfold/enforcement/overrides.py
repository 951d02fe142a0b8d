"""Overrides: what this enforcer set in Kafka, for as long as the lives last of the topics that it was set for.

Known limit: what is set while a topic ends is remembered beyond that end. It may have met the topic's next life, and
a setting that nothing asks for is better taken back than kept.
"""

from __future__ import annotations

from typing import assert_never

from topicfold.enforcement.comparing import Difference
from topicfold.model.names import recorded_topic, topic_of_key
from topicfold.state.change import Effect, NamespaceTurn, TopicChange


class Overrides:
    """Remembers them by Kafka topic, for another topic may come to stand for it."""

    def __init__(self) -> None:
        self._set: dict[str, dict[str, str | None]] = {}
        self._kafka_topics: dict[str, str] = {}

    def note(self, difference: Difference) -> None:
        """Remember that a setting was set, or taken away."""
        self._set.setdefault(difference.kafka_topic, {})[difference.setting] = difference.new
        self._kafka_topics[difference.name] = difference.kafka_topic

    def has_set(self, difference: Difference) -> bool:
        """Return whether the old value of a setting was set here."""
        return self._set.get(difference.kafka_topic, {}).get(difference.setting) == difference.old

    def forget(self, name: str) -> None:
        """Forget what was set for a topic that is gone."""
        kafka_topic = self._kafka_topics.pop(name, None)
        if kafka_topic is not None:
            self._set.pop(kafka_topic, None)

    def follow(self, effect: Effect | None) -> None:
        """Forget what was set for topics whose lives a folded event ended.

        Cost: O(topics with overrides) where a namespace's life begins or ends.
        """
        match effect:
            case TopicChange(namespace, key):
                name = topic_of_key(namespace, key)
                if name in self._kafka_topics and effect.delta().after is None:
                    self.forget(name)
            case NamespaceTurn(namespace):
                for name in [each for each in self._kafka_topics if recorded_topic(each).namespace == namespace]:
                    self.forget(name)
            case None:
                pass
            case _:
                assert_never(effect)
