"""Logs of label events on Kafka, written as fast as can be: topics made with five labels, then changed at random."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

from confluent_kafka import Producer

from topicfold.log.codec import encode_audit, encode_event
from topicfold.log.identity import establish_identity
from topicfold.log.kafka import KafkaLog
from topicfold.log.payload import encode_record
from topicfold.model.events import (
    GENESIS,
    AggregateKind,
    Audit,
    AuditTrail,
    Event,
    Kind,
    Operation,
    Verdict,
    partition_of,
)
from topicfold.model.records import NamespaceRecord, TopicRecord, frozen

PARTITIONS = 8


class EventLog:
    """A log that grows. `topics` are spread over `namespaces`."""

    def __init__(self, bootstrap: str, topic: str, *, topics: int, namespaces: int) -> None:
        asyncio.run(_establish(bootstrap, topic))
        self._topic = topic
        self._topics = topics
        self._chance = random.Random(1)
        settings = {"linger.ms": 20, "batch.size": 1_000_000, "queue.buffering.max.messages": 1_000_000}
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, **settings})
        self._bases: dict[int, tuple[bytes, int]] = {}
        self._written = 0
        self._namespaces = [f"bench/n{number}" for number in range(namespaces)]
        self._lives = [self._chance.randbytes(16) for _ in range(namespaces)]
        for name, life in zip(self._namespaces, self._lives, strict=True):
            self._send(name, Event(1, Kind.PUT, 0, life, AggregateKind.NAMESPACE, name, 0, GENESIS, GENESIS, (), 1,
                                   encode_record(NamespaceRecord()), b""))  # fmt: skip

    def write(self, events: int) -> None:
        """Append so many events; the first about each topic make it."""
        for namespace, event in self._events(events):
            self._send(namespace, event)
        self._producer.flush()

    def _events(self, events: int) -> Iterator[tuple[str, Event]]:
        chance = self._chance
        for number in range(self._written, self._written + events):
            topic = number if number < self._topics else chance.randrange(self._topics)
            namespace = topic % len(self._namespaces)
            base, previous = self._bases.get(topic, (GENESIS, -1))
            event_id = chance.randbytes(16)
            labels = {
                "cost": f"c{number % 1000}", "env": ("prod", "stage", "dev")[topic % 3], "owner": f"o{topic % 997}",
                "team": f"team-{topic % 50}", "tier": ("gold", "silver")[topic % 2],
            }  # fmt: skip
            operation = Operation(chance.randbytes(16), Verdict.CHANGED, number % 4 == 0, chance.randbytes(8))
            audit = Audit(f"user-{number % 100}", "because of ticket 123", chance.randbytes(8).hex())
            self._bases[topic] = (event_id, number)
            yield self._namespaces[namespace], Event(
                1, Kind.PUT, 0, event_id, AggregateKind.TOPIC, f"persistent://{self._namespaces[namespace]}/t-{topic}",
                0, base, self._lives[namespace], (operation,), 1, encode_record(TopicRecord(labels=frozen(labels))),
                encode_audit(AuditTrail((audit,), 1_700_000_000_000 + number, previous)),
            )  # fmt: skip
        self._written += events

    def _send(self, namespace: str, event: Event) -> None:
        while True:
            try:
                self._producer.produce(self._topic, encode_event(event), partition=partition_of(namespace, PARTITIONS))
                return
            except BufferError:
                self._producer.poll(0.1)


async def _establish(bootstrap: str, topic: str) -> None:
    log = await KafkaLog.open(bootstrap, topic, PARTITIONS)
    await establish_identity(log, b"B" * 16)
    await log.close()
