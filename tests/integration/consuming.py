"""What tests of consuming by label share: topics in Kafka, records in them, and reading until something holds."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from topicfold.client import Client, LabelConsumer

PROTOCOLS: dict[str, dict[str, Any]] = {
    "newer": {"group.protocol": "consumer"},
    "classic": {"group.protocol": "classic", "partition.assignment.strategy": "cooperative-sticky"},
}
QUIET = {"log_level": 0}


class Topics:
    """Topics and records of one Kafka cluster."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, **QUIET})

    def make(self, name: str, partitions: int = 2) -> None:
        """Make a topic; one that is still being deleted is waited for."""
        while True:
            try:
                self._admin.create_topics([NewTopic(name, partitions)])[name].result(60)
                return
            except KafkaException as error:
                if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
                    raise
                time.sleep(0.02)

    def delete(self, name: str) -> None:
        """Delete a topic."""
        self._admin.delete_topics([name])[name].result(60)

    def produce(self, name: str, *values: str | None) -> None:
        """Return when all these records are in the topic; None makes one without a value.

        A topic that was made anew is waited for: Kafka's client may take it for a while that it is gone.
        """
        rest = list(values)
        while rest:
            refused: list[str | None] = []
            for value in rest:
                payload = None if value is None else value.encode()
                self._producer.produce(name, payload, on_delivery=partial(_delivered, refused, value))
            assert self._producer.flush(60) == 0
            rest = refused
            time.sleep(0.02 if rest else 0)

    def conf(self, group: str = "", **more: Any) -> dict[str, Any]:
        """Return settings of a consumer; without a group's name, of a group of its own."""
        group = group or f"group-{uuid.uuid4().hex}"
        return {"bootstrap.servers": self.bootstrap, "group.id": group, **QUIET, **more}


class Place:
    """Topics of the client's namespace that are in Kafka and have records in Topicfold."""

    def __init__(self, client: Client, topics: Topics) -> None:
        self.client = client
        self.topics = topics

    def full(self, name: str) -> str:
        """Return a topic's full name."""
        return f"persistent://{self.client.namespace}/{name}"

    def kafka(self, name: str) -> str:
        """Return the name of its Kafka topic."""
        return self.client.namespace.replace("/", "..") + f"..{name}"

    def make(self, name: str, count: int = 0, **labels: str) -> list[str]:
        """Make a topic in both, with so many records; return their values."""
        self.topics.make(self.kafka(name))
        self.client.create_topic(self.full(name), labels=labels)
        return self.produce(name, count)

    def produce(self, name: str, count: int, start: int = 0) -> list[str]:
        """Put so many records into a topic; return their values."""
        values = numbered(name, count, start)
        self.topics.produce(self.kafka(name), *values)
        return values

    def label(self, name: str, **labels: str) -> None:
        """Set labels of a topic."""
        self.client.set_labels(self.full(name), labels)

    def unlabel(self, name: str, key: str) -> None:
        """Remove a label of a topic."""
        self.client.remove_labels(self.full(name), [key])


@contextmanager
def place_on(url: str, bootstrap: str) -> Iterator[Place]:
    """Make a place in a namespace of its own."""
    namespace = f"public/n{uuid.uuid4().hex}"
    with Client(url, namespace=namespace) as client:
        client.create_namespace(namespace)
        yield Place(client, Topics(bootstrap))


def _delivered(refused: list[str | None], value: str | None, error: KafkaError | None, _: Any) -> None:
    """Note a value that was not sent, for its partition is not there; anything else fails."""
    if error is not None and error.code() == KafkaError._UNKNOWN_PARTITION:
        refused.append(value)
    else:
        assert error is None, error


def read_until(consumer: LabelConsumer, holds: Callable[[Counter[str]], bool], seconds: float = 60.0) -> Counter[str]:
    """Poll until `holds` says so of the values of all records that were read; return them, counted."""
    end = time.monotonic() + seconds
    read: Counter[str] = Counter()
    while not holds(read):
        assert time.monotonic() < end, f"read {dict(read)}, matched {list(consumer.matched_topics())}"
        if (message := consumer.poll(0.1)) is not None and message.error() is None:
            value = message.value()
            assert value is not None
            read[value.decode()] += 1
    return read


def read_all(consumer: LabelConsumer, values: Collection[str], seconds: float = 60.0) -> Counter[str]:
    """Poll until all these values were read; return all values, counted."""
    return read_until(consumer, lambda read: set(values) <= read.keys(), seconds)


def read_for(consumer: LabelConsumer, seconds: float) -> Counter[str]:
    """Return the values that are read in this time, counted."""
    end = time.monotonic() + seconds
    return read_until(consumer, lambda _: time.monotonic() >= end, seconds + 5)


def numbered(name: str, count: int, start: int = 0) -> list[str]:
    """Return values that tell where they belong."""
    return [f"{name}-{number}" for number in range(start, start + count)]
