"""Wishes: what each topic's effective policies want its Kafka topic's settings to be, read from what is folded.

A record that cannot be read wishes nothing and is told of: what lies below it must not take its place. The same goes
for all topics of a partition that has stopped: what is folded of it is old, or wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from topicfold.errors import NewerSchema, NotFound, Undecodable
from topicfold.model.kafka.adoption import is_left_out, stands_for
from topicfold.model.names import NON_PERSISTENT, TopicName, recorded_topic, topic_of_key
from topicfold.model.policy.kafka_settings import ENFORCED, Told, told_settings
from topicfold.model.policy.resolve import resolve
from topicfold.model.policy.table import BY_NAME
from topicfold.model.system_topics import is_system_topic
from topicfold.runtime.engine import Engine
from topicfold.runtime.policies import TopicPolicies, policies_of


@dataclass(frozen=True, slots=True)
class Wish:
    """What topic `name` wants of its Kafka topic; settings that are not told are to be Kafka's own."""

    name: str
    kafka_topic: str
    told: Mapping[str, Told]


@dataclass(frozen=True, slots=True)
class Unmet:
    """A topic whose policies cannot reach Kafka, and why. `may_change`: what it wants cannot be read now."""

    name: str
    reason: str
    may_change: bool = False


class Wishes:
    """Reads them. `protected` are Kafka topics that nobody may change, beside Kafka's internal ones."""

    def __init__(self, engine: Engine, protected: Iterable[str] = ()) -> None:
        self._engine = engine
        self._protected = frozenset(protected)

    def names(self) -> Iterator[TopicName]:
        """Yield all live topics."""
        for state in self._engine.states.values():
            for namespace in state.topics:
                yield from self.names_in(namespace)

    def names_in(self, namespace: str) -> Iterator[TopicName]:
        """Yield the live topics of a namespace."""
        table = self._engine.tables.of(namespace)
        if table is not None:
            for key in table.keys_of(table.live):
                yield recorded_topic(topic_of_key(namespace, key))

    def of(self, name: TopicName) -> Wish | Unmet | None:
        """Return what a topic wants, None where it is gone, or wants nothing and has no Kafka topic."""
        try:
            policies = policies_of(self._engine, name)
            told = self._told(policies)
        except (Undecodable, NewerSchema) as error:
            return Unmet(str(name), error.reason, may_change=True)
        except NotFound:
            return None
        partition = self._engine.partition(name.namespace)
        if not self._engine.readiness.is_ready(partition):
            return Unmet(str(name), self._engine.readiness.reason(partition), may_change=True)
        record = policies.record
        kafka_topic = stands_for(str(name), record.kafka_name)
        if kafka_topic is None:
            why = "non-persistent topics have no Kafka topic" if name.domain == NON_PERSISTENT else "no Kafka topic"
            return Unmet(str(name), why) if told else None
        if is_left_out(kafka_topic) or kafka_topic in self._protected:
            return Unmet(str(name), f"the Kafka topic {kafka_topic} is not Topicfold's to change") if told else None
        return Wish(str(name), kafka_topic, told)

    def _told(self, policies: TopicPolicies) -> dict[str, Told]:
        levels = policies.levels()
        is_system = is_system_topic(policies.name.local)
        effective = {each: resolve(BY_NAME[each], levels, is_system_topic=is_system) for each in ENFORCED}
        return told_settings(effective, self._engine.options.limits.defaults)
