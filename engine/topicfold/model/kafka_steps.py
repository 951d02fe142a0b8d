"""Steps in Kafka: updates that note in a topic's record what is left to do there, and that it is done.

A record says first what shall be, then Kafka is changed, then the note is taken off. So whoever finds a note, after
whatever crash, can do what it says once more.
"""

from __future__ import annotations

from dataclasses import replace

from topicfold.model import updates
from topicfold.model.events import Verdict
from topicfold.model.records import Pending, Record, Step, TopicRecord
from topicfold.model.updates import Postponed, Refuse, Stored, Updater


class LookAgain(Postponed):
    """The record is not the one that was looked at when Kafka was asked about its topic; nothing is changed."""


def create(name: str, record: TopicRecord, refusal: Refuse | None) -> Updater:
    """Return the update that makes a topic, refused with `refusal` where nothing else is against it."""
    make = updates.create(record, f"topic {name}")

    def update(old: Stored) -> Record | Refuse | None:
        new = make(old)
        return refusal if refusal is not None and not isinstance(new, Refuse) else new

    return update


def grow(name: str, partitions: int, seen: TopicRecord | None, refusal: Refuse | None, *, needs_kafka: bool) -> Updater:
    """Return the update that raises a topic's partitions, in Kafka too where `needs_kafka`.

    `refusal` is given where nothing else is against it. The update raises `LookAgain` where the record stands for
    another Kafka topic than `seen` did.
    """
    raised = updates.grow_partitions(name, partitions)

    def update(old: Stored) -> Record | Refuse | None:
        new = raised(old)
        if not isinstance(new, TopicRecord):
            return new
        _require_seen(new, seen)
        if new.is_ending:
            return Refuse(Verdict.TOPIC_NOT_FOUND, f"topic {name} is being deleted")
        if refusal is not None:
            return refusal
        return replace(new, pending=Pending(Step.MAKE)) if needs_kafka else new

    return update


def end(name: str, seen: TopicRecord | None, kafka_id: str | None, *, is_partitioned: bool | None) -> Updater:
    """Return the update that ends a topic: by a note of the Kafka topic to delete, "" for none that was there.

    At once where no Kafka topic comes and goes with it (`kafka_id` None). The update raises `LookAgain` where the
    record stands for another Kafka topic than `seen` did, or its Kafka topic is just being made. One that `seen`, too,
    waited for, Kafka has refused to make.
    """
    ended = updates.delete_topic(name, is_partitioned=is_partitioned)

    def update(old: Stored) -> Record | Refuse | None:
        refused = ended(old)
        if isinstance(refused, Refuse) or not isinstance(old, TopicRecord):
            return refused
        _require_seen(old, seen)
        if kafka_id is None:
            return None
        if old.pending is not None and old.pending.step is Step.MAKE and not _waits_alike(old, seen):
            raise LookAgain
        return replace(old, pending=Pending(Step.END, kafka_id))

    return update


def end_of(name: str, record: TopicRecord, kafka_id: str) -> Updater:
    """Return the update that corrects which Kafka topic goes with the end that `record` notes."""
    ending = Pending(Step.END, kafka_id)
    return updates.of_topic(name, lambda old: replace(old, pending=ending) if old.pending == record.pending else old)


def done(name: str, record: TopicRecord) -> Updater:
    """Return the update that notes that what `record` waits for is done; one that says something else stays."""

    def change(old: TopicRecord) -> Record | None:
        if not _waits_alike(old, record):
            return old
        return None if old.is_ending else replace(old, pending=None)

    return updates.of_topic(name, change)


def is_only_made(old: Record | None, new: Record | None) -> bool:
    """Return whether nothing differs but that `old` notes a Kafka topic to be made.

    Nobody is shown that note, so taking it off is no change of what an ETag stands for.
    """
    if not isinstance(old, TopicRecord) or old.pending is None or old.pending.step is not Step.MAKE:
        return False
    return new == replace(old, pending=None)


def follow_partitions(name: str, partitions: int) -> Updater:
    """Return the update that gives a topic as many partitions as its Kafka topic has, if that is more.

    A plain topic whose Kafka topic has several becomes a partitioned one.
    """

    def change(old: TopicRecord) -> Record:
        return replace(old, partitions=partitions) if partitions > max(old.partitions, 1) else old

    return updates.of_topic(name, change)


def _waits_alike(record: TopicRecord, seen: TopicRecord | None) -> bool:
    """Return whether `record` waits for the same as `seen` did."""
    return seen is not None and (record.pending, record.partitions, record.kafka_name) == (
        seen.pending,
        seen.partitions,
        seen.kafka_name,
    )


def _require_seen(record: TopicRecord, seen: TopicRecord | None) -> None:
    if seen is None or record.kafka_name != seen.kafka_name:
        raise LookAgain
