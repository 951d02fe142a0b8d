"""Steps in Kafka: updates that note in a topic's record what is left to do there, and that it is done.

First the record notes the step, then Kafka is changed, then the note is removed. So whoever finds a note, after any
crash, can take that step again.
"""

from __future__ import annotations

from dataclasses import replace

from topicfold.model import updates
from topicfold.model.events import Verdict
from topicfold.model.records import Pending, Record, Step, TopicRecord
from topicfold.model.updates import Postponed, Refuse, Stored, Updater


class LookAgain(Postponed):
    """The record has changed since Kafka was asked about its topic, so nothing was changed."""


def create(name: str, record: TopicRecord, refusal: Refuse | None) -> Updater:
    """Return the update that creates a topic; with a `refusal` it is refused, by that if nothing else forbids it."""
    make = updates.create(record, f"topic {name}")

    def update(old: Stored) -> Record | Refuse | None:
        new = make(old)
        return refusal if refusal is not None and not isinstance(new, Refuse) else new

    return update


def grow(name: str, partitions: int, seen: TopicRecord | None, refusal: Refuse | None, *, needs_kafka: bool) -> Updater:
    """Return the update that raises a topic's number of partitions, in Kafka too if `needs_kafka`.

    With a `refusal` it is refused, by that if nothing else forbids it. The update raises `LookAgain` if the record
    stands for another Kafka topic than `seen` did.
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
    """Return the update that ends a topic, by noting the id of the Kafka topic to delete ("" if there was none).

    If the topic is not tied to a Kafka topic (`kafka_id` is None), it ends at once. The update raises `LookAgain` if
    the record stands for another Kafka topic than `seen` did, or if its Kafka topic is just being created, unless
    `seen` was waiting for the same: then Kafka has refused to create it.
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
    """Return the update that corrects which Kafka topic is deleted by the end that `record` notes."""
    ending = Pending(Step.END, kafka_id)
    return updates.of_topic(name, lambda old: replace(old, pending=ending) if old.pending == record.pending else old)


def done(name: str, record: TopicRecord) -> Updater:
    """Return the update that completes the step that `record` waits for; another step's note is left alone."""

    def change(old: TopicRecord) -> Record | None:
        if not _waits_alike(old, record):
            return old
        return None if old.is_ending else replace(old, pending=None)

    return updates.of_topic(name, change)


def is_only_made(old: Record | None, new: Record | None) -> bool:
    """Return whether the only difference is that `old` notes a Kafka topic to be created.

    Nobody is shown that note, so removing it does not change what the ETag stands for.
    """
    if not isinstance(old, TopicRecord) or old.pending is None or old.pending.step is not Step.MAKE:
        return False
    return new == replace(old, pending=None)


def follow_partitions(name: str, partitions: int) -> Updater:
    """Return the update that gives a topic as many partitions as its Kafka topic has, if that is more.

    A topic that is not partitioned becomes so if its Kafka topic has several partitions.
    """

    def change(old: TopicRecord) -> Record:
        return replace(old, partitions=partitions) if partitions > max(old.partitions, 1) else old

    return updates.of_topic(name, change)


def _waits_alike(record: TopicRecord, seen: TopicRecord | None) -> bool:
    """Return whether `record` waits for the same step as `seen` did."""
    return seen is not None and (record.pending, record.partitions, record.kafka_name) == (
        seen.pending,
        seen.partitions,
        seen.kafka_name,
    )


def _require_seen(record: TopicRecord, seen: TopicRecord | None) -> None:
    if seen is None or record.kafka_name != seen.kafka_name:
        raise LookAgain
