"""Which topic record stands for a Kafka topic, by the folded state."""

from __future__ import annotations

from topicfold.log.payload import decode_topic
from topicfold.model.kafka.adoption import implied_topic, stands_for
from topicfold.model.names import TopicName, topic_of_key
from topicfold.model.records import TopicRecord
from topicfold.runtime.engine import Engine
from topicfold.runtime.slices import CHUNK, Slice


def record_of(engine: Engine, name: TopicName) -> TopicRecord | None:
    """Return the record of a live topic, None where there is none that can be read."""
    table = engine.tables.of(name.namespace)
    row = None if table is None else table.get(name.key)
    return decode_topic(row.payload_schema, row.payload) if row and row.is_live else None


async def holder_of(engine: Engine, kafka_topic: str, name: TopicName) -> str | None:
    """Return another live topic than `name` that stands for `kafka_topic`, or may, for its record cannot be read.

    None for none. In slices: each namespace is as it is when it is come to.

    Cost: O(namespaces).
    """
    implied = implied_topic(kafka_topic)
    if implied is not None and implied != name and _lives_without_another(engine, implied, kafka_topic):
        return str(implied)
    work = Slice()
    for state in engine.states.values():
        for passed, (namespace, table) in enumerate([*state.topics.items()], 1):
            if state.topics.get(namespace) is not table:
                continue
            for number in table.named.of(kafka_topic):
                full = topic_of_key(namespace, table.keys[number])
                if full != str(name) and stands_for(full, kafka_topic):
                    return full
            if not passed % CHUNK:
                await work.rest()
    return None


def _lives_without_another(engine: Engine, name: TopicName, kafka_topic: str) -> bool:
    """Return whether a topic lives whose record gives, as far as is known, no other Kafka topic than this."""
    table = engine.tables.of(name.namespace)
    number = None if table is None else table.numbers.get(name.key)
    if table is None or number is None or number not in table.live:
        return False
    return table.kafka_names.get(number, kafka_topic) == kafka_topic
