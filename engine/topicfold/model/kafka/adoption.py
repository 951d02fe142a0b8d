"""Adoption of a Kafka cluster: which records its topics need, and which records have lost their Kafka topic.

A Kafka topic gets the name that `names` derives from its own (`acme..pay..orders` is `acme/pay/orders`, `orders` is
`public/default/orders`). If none can be derived, it is put into `public/default` under its whole name, with that name
as its explicit Kafka name. Names that start with `__` (Kafka's internal topics and Topicfold's own log) and `_schemas`,
where Schema Registry keeps its data, are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from topicfold.errors import InvalidName
from topicfold.model.kafka.names import kafka_name, topic_of_kafka_name
from topicfold.model.names import DEFAULT_NAMESPACE, PERSISTENT, TopicName, parse_topic, partition_base, split_topic

_OTHER_NAME = "record it under another name, with kafkaName, in a file for 'topicfold policies apply'"


@dataclass(frozen=True, slots=True)
class KafkaTopic:
    """A topic in Kafka; `problem` says why its partitions are not known, or is empty.

    `id` is Kafka's own id: a topic that is deleted and created again has another. It is empty if nobody asked for it.
    """

    name: str
    partitions: int
    problem: str = ""
    id: str = ""


class Recorded(Protocol):
    """The part of a topic's record that an adoption needs."""

    @property
    def name(self) -> str:
        """The topic's full name."""
        ...

    @property
    def partitions(self) -> int:
        """The recorded number of partitions, 0 for a topic that is not partitioned."""
        ...

    @property
    def kafka_name(self) -> str | None:
        """The Kafka topic's name, None if it follows from the topic's own name."""
        ...


@dataclass(frozen=True, slots=True)
class New:
    """A Kafka topic without a record. `explicit_kafka_name` is None if it follows from `name`."""

    name: str
    kafka_name: str
    partitions: int
    explicit_kafka_name: str | None

    @property
    def recorded_partitions(self) -> int:
        """The number to record: 0 for a Kafka topic with one partition, which counts as not partitioned."""
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
        """Whether the two differ; a record of a topic that is not partitioned (0) stands for one partition."""
        return max(self.recorded_partitions, 1) != self.kafka_partitions


@dataclass(frozen=True, slots=True)
class Gone:
    """A persistent topic's record without a Kafka topic, and the name of the missing one."""

    name: str
    kafka_name: str
    recorded_partitions: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A Kafka topic that gets no record, and why."""

    kafka_name: str
    reason: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An internal Kafka topic."""

    kafka_name: str


@dataclass(frozen=True, slots=True)
class Adoption:
    """What an adoption would do (`new`), and what it only reports."""

    new: tuple[New, ...]
    present: tuple[Present, ...]
    failed: tuple[Failed, ...]
    left_out: tuple[LeftOut, ...]
    gone: tuple[Gone, ...]


def plan_adoption(kafka_topics: Collection[KafkaTopic], records: Iterable[Recorded]) -> Adoption:
    """Compare a cluster's topics with the existing records.

    A record stands for the Kafka topic that it names explicitly, or otherwise for the one that follows from its own
    name. So a Kafka topic that was recorded under another name is recognised, and not recorded twice.
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
                gone.append(Gone(record.name, standing, record.partitions))
    findings = [_judge(topic, by_kafka_name.get(topic.name), taken) for topic in kafka_topics]
    return Adoption(
        new=tuple(finding for finding in findings if isinstance(finding, New)),
        present=tuple(finding for finding in findings if isinstance(finding, Present)),
        failed=tuple(finding for finding in findings if isinstance(finding, Failed)),
        left_out=tuple(finding for finding in findings if isinstance(finding, LeftOut)),
        gone=tuple(sorted(gone, key=lambda record: record.name)),
    )


def missing_namespaces(new: Iterable[New], present: Collection[str]) -> tuple[str, ...]:
    """Return the namespaces of `new` topics that are not among `present`, sorted."""
    found = {place[0] for topic in new if (place := split_topic(topic.name))}
    return tuple(sorted(found.difference(present)))


def is_left_out(kafka_topic: str) -> bool:
    """Return whether Topicfold ignores the Kafka topic with that name."""
    return kafka_topic.startswith("__") or kafka_topic == "_schemas"


def risk_of_log(kafka_topic: str) -> str:
    """Return what may become of a log in the Kafka topic with that name, "" if Topicfold ignores such topics."""
    if is_left_out(kafka_topic):
        return ""
    return (
        f"the name {kafka_topic} does not begin with __, so servers that import from its cluster, follow it or enforce "
        "there take it for an ordinary topic, and may give it a retention"
    )


def stands_for(name: str, explicit: str | None) -> str | None:
    """Return the Kafka topic that the topic with that full name stands for, None if it has none.

    `explicit` is the name in its record, None if it follows from the topic's own.
    """
    try:
        topic = parse_topic(name)
        return (explicit or kafka_name(topic)) if topic.domain == PERSISTENT else None
    except InvalidName:
        return explicit


def implied_topic(kafka_topic: str) -> TopicName | None:
    """Return the topic whose own name leads to `kafka_topic`, None if no name does."""
    name = topic_of_kafka_name(kafka_topic)
    try:
        return name if name and kafka_name(parse_topic(str(name))) == kafka_topic else None
    except InvalidName:
        return None


def _judge(topic: KafkaTopic, record: Recorded | None, taken: Mapping[str, str]) -> New | Present | Failed | LeftOut:
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
        return Failed(topic.name, f"{name} stands for the Kafka topic {taken[name]}: {_OTHER_NAME}")
    if partition_base(topic.name) is not None:
        return Failed(topic.name, f"a name that ends in -partition-NUMBER is that of a partition: {_OTHER_NAME}")
    return New(name, topic.name, topic.partitions, explicit)
