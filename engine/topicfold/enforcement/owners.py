"""Owners: which of several topics that stand for one Kafka topic has a say in its settings."""

from __future__ import annotations

from collections.abc import Iterable

from topicfold.enforcement.wishes import Unmet, Wishes
from topicfold.model.kafka.adoption import implied_topic
from topicfold.model.names import recorded_topic


class Owners:
    """Remembers who was first, so that of two topics not now the one and now the other counts."""

    def __init__(self, wishes: Wishes) -> None:
        self._wishes = wishes
        self._first: dict[str, str] = {}
        self._of_first: dict[str, str] = {}

    def of(self, kafka_topic: str, name: str) -> str:
        """Return the topic whose policies count for `kafka_topic`, for which the topic `name` stands.

        By rule that is the one of its name, or else the first.
        """
        implied = implied_topic(kafka_topic)
        if implied is not None and self._stands_for(str(implied), kafka_topic):
            return str(implied)
        owner = self._first.get(kafka_topic, name)
        if owner != name and not self._stands_for(owner, kafka_topic):
            owner = name
        self._first[kafka_topic] = owner
        self._of_first[owner] = kafka_topic
        return owner

    def topics(self) -> Iterable[str]:
        """Return the topics that something is remembered of."""
        return self._of_first

    def forget(self, name: str) -> None:
        """Remember nothing of a topic that is gone."""
        kafka_topic = self._of_first.pop(name, None)
        if kafka_topic is not None and self._first.get(kafka_topic) == name:
            del self._first[kafka_topic]

    def _stands_for(self, name: str, kafka_topic: str) -> bool:
        """Return whether a topic does, as far as is known: one that did, and cannot be read now, may do so still."""
        wish = self._wishes.of(recorded_topic(name))
        if isinstance(wish, Unmet):
            return wish.may_change
        return wish is not None and wish.kafka_topic == kafka_topic
