"""Adoption of a Kafka cluster: which topic records its topics need, and which records have lost their Kafka topic.

A Kafka topic gets the name that `names` reads from its own (`acme..pay..orders` is `acme/pay/orders`, `orders` is
`public/default/orders`). One whose name cannot be read so is put into `public/default` under its whole name, with
that name as its explicit Kafka name. Left out are names that start with `__` (Kafka's internal topics and
Topicfold's own log) and `_schemas`, where Schema Registry keeps its data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from topicfold.errors import InvalidName
from topicfold.model.names import (
    DEFAULT_NAMESPACE,
    PERSISTENT,
    TopicName,
    kafka_name,
    parse_topic,
    partition_base,
    split_topic,
    topic_of_kafka_name,
)


@dataclass(frozen=True, slots=True)
class KafkaTopic:
    """A topic as Kafka has it; `problem` says why its partitions are not known, or is empty.

    `id` is Kafka's own; a topic that is deleted and made again has another. Empty where nobody asked for it.
    """

    name: str
    partitions: int
    problem: str = ""
    id: str = ""


class Recorded(Protocol):
    """What of a topic's record an adoption looks at."""

    @property
    def name(self) -> str:
        """The topic's full name."""
        ...

    @property
    def partitions(self) -> int:
        """How many are recorded, 0 for a plain topic."""
        ...

    @property
    def kafka_name(self) -> str | None:
        """The Kafka topic, None where it follows from the topic's own name."""
        ...


@dataclass(frozen=True, slots=True)
class New:
    """A Kafka topic without a record. `explicit_kafka_name` is None where it follows from `name`."""

    name: str
    kafka_name: str
    partitions: int
    explicit_kafka_name: str | None

    @property
    def recorded_partitions(self) -> int:
        """The number to record: a Kafka topic of one partition is a plain topic."""
        return self.partitions if self.partitions > 1 else 0


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
class Gone:
    """A persistent record without a Kafka topic, and which that would be."""

    name: str
    kafka_name: str
    partitions: int


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
class Adoption:
    """What an adoption would do, and what it only reports."""

    new: tuple[New, ...]
    present: tuple[Present, ...]
    failed: tuple[Failed, ...]
    left_out: tuple[LeftOut, ...]
    gone: tuple[Gone, ...]


def plan_adoption(kafka_topics: Collection[KafkaTopic], records: Iterable[Recorded]) -> Adoption:
    """Compare a cluster's topics with the records there are.

    A record stands for the Kafka topic that it names, or else that follows from its own name. So a record that was
    given another name is found again, and not made twice.
    """
    by_kafka_name: dict[str, Recorded] = {}
    taken: dict[str, str] = {}
    existing = {topic.name for topic in kafka_topics}
    gone = list[Gone]()
    for record in records:
        standing = stands_for(record.name, record.kafka_name)
        if standing is not None:
            by_kafka_name[standing] = record
            taken[record.name] = standing
            if standing not in existing:
                gone.append(Gone(record.name, standing, max(record.partitions, 1)))
    findings = [_judge(topic, by_kafka_name.get(topic.name), taken) for topic in kafka_topics]
    return Adoption(
        new=tuple(finding for finding in findings if isinstance(finding, New)),
        present=tuple(finding for finding in findings if isinstance(finding, Present)),
        failed=tuple(finding for finding in findings if isinstance(finding, Failed)),
        left_out=tuple(finding for finding in findings if isinstance(finding, LeftOut)),
        gone=tuple(sorted(gone, key=lambda record: record.name)),
    )


def missing_namespaces(new: Iterable[New], present: Collection[str]) -> tuple[str, ...]:
    """Return the namespaces that `new` goes into and that are not among `present`, sorted."""
    found = {place[0] for topic in new if (place := split_topic(topic.name))}
    return tuple(sorted(found.difference(present)))


def is_left_out(kafka_topic: str) -> bool:
    """Return whether the Kafka topic of that name is none of Topicfold's business."""
    return kafka_topic.startswith("__") or kafka_topic == "_schemas"


def stands_for(name: str, explicit: str | None) -> str | None:
    """Return the Kafka topic that the topic of that full name stands for, None for one that has none.

    `explicit` is the name that its record gives, None where it follows from the topic's own.
    """
    try:
        topic = parse_topic(name)
        return (explicit or kafka_name(topic)) if topic.domain == PERSISTENT else None
    except InvalidName:
        return explicit


def implied_topic(kafka_topic: str) -> TopicName | None:
    """Return the topic whose own name gives `kafka_topic`, None where no name does."""
    name = topic_of_kafka_name(kafka_topic)
    try:
        return name if name and kafka_name(parse_topic(str(name))) == kafka_topic else None
    except InvalidName:
        return None


def _judge(topic: KafkaTopic, record: Recorded | None, taken: Mapping[str, str]) -> Finding:
    if is_left_out(topic.name):
        return LeftOut(topic.name)
    if topic.problem or not topic.partitions:
        return Failed(topic.name, f"Kafka says: {topic.problem or 'no partitions'}")
    if record:
        return Present(record.name, topic.name, record.partitions, topic.partitions)
    implied = implied_topic(topic.name)
    name, explicit = (
        (str(implied), None) if implied else (f"{PERSISTENT}://{DEFAULT_NAMESPACE}/{topic.name}", topic.name)
    )
    if name in taken:
        return Failed(topic.name, f"{name} stands for the Kafka topic {taken[name]}")
    if partition_base(topic.name) is not None:
        return Failed(topic.name, "a name that ends in -partition-NUMBER is that of a partition")
    return New(name, topic.name, topic.partitions, explicit)
