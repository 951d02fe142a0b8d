"""Adopt a Kafka cluster: which topic records its topics need, and making them. Kafka itself is never changed.

A Kafka topic gets the name that `model.names` reads from its own (`acme..pay..orders` is `acme/pay/orders`, `orders`
is `public/default/orders`). One whose name cannot be read so is put into `public/default` under its whole name, with
that name as its explicit Kafka name. Left out are names that start with `__` (Kafka's internal topics and
Topicfold's own log) and `_schemas`, where Schema Registry keeps its data.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from topicfold.client.answers import Topic
from topicfold.client.client import Client
from topicfold.client.kafka_cluster import KafkaTopic
from topicfold.errors import AlreadyExists, FixRequest, InvalidName, Reread
from topicfold.model.names import DEFAULT_NAMESPACE, PERSISTENT, kafka_name, parse_topic, topic_of_kafka_name

_WRITERS = 8
_NAMESPACES_A_QUERY = 50


@dataclass(frozen=True, slots=True)
class New:
    """A Kafka topic without a record. `explicit_kafka_name` is None where it follows from `name`."""

    name: str
    kafka_name: str
    partitions: int
    explicit_kafka_name: str | None


@dataclass(frozen=True, slots=True)
class Present:
    """A Kafka topic that has a record; the record's number of partitions may differ from Kafka's."""

    name: str
    kafka_name: str
    recorded_partitions: int
    kafka_partitions: int

    @property
    def has_other_partitions(self) -> bool:
        """Whether the two disagree; a plain record (0) stands for one partition."""
        return max(self.recorded_partitions, 1) != self.kafka_partitions


@dataclass(frozen=True, slots=True)
class Failed:
    """A Kafka topic that gets no record, and why."""

    kafka_name: str
    reason: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An internal Kafka topic."""

    kafka_name: str


Finding = New | Present | Failed | LeftOut


@dataclass(frozen=True, slots=True)
class Target:
    """What there is to import into: all namespaces, and the topic records in them."""

    namespaces: frozenset[str]
    topics: tuple[Topic, ...]


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import would do, and what it only reports. `gone` are persistent records without a Kafka topic."""

    new: tuple[New, ...]
    present: tuple[Present, ...]
    failed: tuple[Failed, ...]
    left_out: tuple[LeftOut, ...]
    gone: tuple[str, ...]


def read_target(client: Client) -> Target:
    """Return all namespaces and topic records of the server."""
    namespaces = [name for tenant in client.list_tenants() for name in client.list_namespaces(tenant)]
    starts = range(0, len(namespaces), _NAMESPACES_A_QUERY)
    pages = (client.find_topics(namespaces[start : start + _NAMESPACES_A_QUERY]).topics for start in starts)
    return Target(frozenset(namespaces), tuple(topic for page in pages for topic in page))


def plan_import(kafka_topics: Collection[KafkaTopic], records: Iterable[Topic]) -> ImportPlan:
    """Compare a cluster's topics with the records there are.

    A record stands for the Kafka topic that it names, or else that follows from its own name. So a record that was
    given another name is found again, and not made twice.
    """
    by_kafka_name = {stands_for: record for record in records if (stands_for := _stands_for(record)) is not None}
    taken = {record.name: stands_for for stands_for, record in by_kafka_name.items()}
    findings = [_judge(topic, by_kafka_name.get(topic.name), taken) for topic in kafka_topics]
    existing = {topic.name for topic in kafka_topics}
    return ImportPlan(
        new=tuple(finding for finding in findings if isinstance(finding, New)),
        present=tuple(finding for finding in findings if isinstance(finding, Present)),
        failed=tuple(finding for finding in findings if isinstance(finding, Failed)),
        left_out=tuple(finding for finding in findings if isinstance(finding, LeftOut)),
        gone=tuple(sorted(record.name for name, record in by_kafka_name.items() if name not in existing)),
    )


def missing_namespaces(new: Iterable[New], present: Collection[str]) -> tuple[str, ...]:
    """Return the namespaces that `new` goes into and that are not among `present`, sorted."""
    return tuple(sorted({parse_topic(topic.name).namespace for topic in new} - set(present)))


def make_namespaces(client: Client, namespaces: Iterable[str]) -> None:
    """Create `namespaces` and their tenants where they are missing."""
    tenants = set(client.list_tenants())
    for namespace in namespaces:
        tenant = namespace.split("/")[0]
        if tenant not in tenants:
            with contextlib.suppress(AlreadyExists):
                client.create_tenant(tenant, reason="import from Kafka")
            tenants.add(tenant)
        with contextlib.suppress(AlreadyExists):
            client.create_namespace(namespace, reason="import from Kafka")


def make_records(client: Client, new: Collection[New]) -> Iterator[New | Failed]:
    """Make the records `new`, several at once; yield each as it is made, or as it is refused.

    What is not about one topic ends it: then some are made and some are not, and to import again goes on from there.

    Raises:
        Wait, AnswerLost: the server cannot be reached, or not write.
    """
    with ThreadPoolExecutor(_WRITERS, thread_name_prefix="import") as writers:
        try:
            for future in as_completed([writers.submit(_make, client, topic) for topic in new]):
                yield future.result()
        finally:
            writers.shutdown(wait=False, cancel_futures=True)


def is_left_out(name: str) -> bool:
    """Return whether an import passes over the Kafka topic called `name`."""
    return name.startswith("__") or name == "_schemas"


def _judge(topic: KafkaTopic, record: Topic | None, taken: Mapping[str, str]) -> Finding:
    if is_left_out(topic.name):
        return LeftOut(topic.name)
    if topic.problem or not topic.partitions:
        return Failed(topic.name, f"Kafka says: {topic.problem or 'no partitions'}")
    if record:
        return Present(record.name, topic.name, record.partitions, topic.partitions)
    name, explicit = _name_for(topic.name)
    if name in taken:
        return Failed(topic.name, f"{name} stands for the Kafka topic {taken[name]}")
    return New(name, topic.name, topic.partitions, explicit)


def _name_for(text: str) -> tuple[str, str | None]:
    """Return the full name for the Kafka topic `text`, and `text` again if the record must say it."""
    name = topic_of_kafka_name(text)
    try:
        if name and kafka_name(parse_topic(str(name))) == text:
            return str(name), None
    except InvalidName:
        pass
    return f"{PERSISTENT}://{DEFAULT_NAMESPACE}/{text}", text


def _stands_for(record: Topic) -> str | None:
    """Return the Kafka topic that `record` stands for, or None for one that has none."""
    try:
        name = parse_topic(record.name)
        return (record.kafka_name or kafka_name(name)) if name.domain == PERSISTENT else None
    except InvalidName:
        return record.kafka_name


def _make(client: Client, topic: New) -> New | Failed:
    try:
        client.create_topic(
            topic.name,
            partitions=topic.partitions if topic.partitions > 1 else 0,
            kafka_name=topic.explicit_kafka_name,
            reason="import from Kafka",
        )
    except (FixRequest, Reread) as error:
        return Failed(topic.kafka_name, error.reason)
    return topic
