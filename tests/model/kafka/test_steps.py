"""Steps in Kafka, noted in records and taken off again."""

from __future__ import annotations

import pytest

from topicfold.model.events import Verdict
from topicfold.model.kafka import steps as kafka_steps
from topicfold.model.records import Pending, Record, Step, TopicRecord, UnreadableRecord, frozen
from topicfold.model.updates import Refuse, topic_missing

NAME = "persistent://public/default/orders"
MAKE, END = Pending(Step.MAKE), Pending(Step.END, "id")
NO = Refuse(Verdict.CLUSTER_REFUSED, "no")
SEEN = TopicRecord(3)


def test_what_exists_is_refused_as_such_and_only_the_rest_for_kafkas_reason() -> None:
    update = kafka_steps.create(NAME, TopicRecord(), NO)
    assert update(None) == NO
    assert update(UnreadableRecord()) == NO
    assert update(TopicRecord()) == Refuse(Verdict.ALREADY_EXISTS, f"topic {NAME} exists already")


@pytest.mark.parametrize(("needs_kafka", "pending"), [(True, MAKE), (False, None)])
def test_growth_is_noted_where_kafka_must_follow(needs_kafka: bool, pending: Pending | None) -> None:
    update = kafka_steps.grow(NAME, 5, SEEN, None, needs_kafka=needs_kafka)
    assert update(SEEN) == TopicRecord(5, pending=pending)


def test_growth_to_fewer_is_refused_before_kafkas_reason_counts() -> None:
    refused = kafka_steps.grow(NAME, 2, SEEN, NO, needs_kafka=True)(SEEN)
    assert isinstance(refused, Refuse)
    assert refused.verdict is Verdict.FEWER_PARTITIONS
    assert kafka_steps.grow(NAME, 5, SEEN, NO, needs_kafka=True)(SEEN) == NO


def test_an_end_is_noted_with_the_id_of_what_is_to_be_deleted() -> None:
    assert kafka_steps.end(NAME, SEEN, "id", is_partitioned=None)(SEEN) == TopicRecord(3, pending=END)
    assert kafka_steps.end(NAME, SEEN, "", is_partitioned=None)(SEEN) == TopicRecord(3, pending=Pending(Step.END))
    assert kafka_steps.end(NAME, SEEN, None, is_partitioned=None)(SEEN) is None
    assert kafka_steps.end(NAME, None, None, is_partitioned=None)(None) == topic_missing(NAME)


@pytest.mark.parametrize("seen", [None, TopicRecord(3, kafka_name="other")])
def test_a_record_that_is_not_the_one_looked_at_is_to_be_looked_at_again(seen: TopicRecord | None) -> None:
    for update in (
        kafka_steps.end(NAME, seen, "id", is_partitioned=None),
        kafka_steps.grow(NAME, 5, seen, None, needs_kafka=True),
    ):
        with pytest.raises(kafka_steps.LookAgain):
            update(SEEN)


def test_a_topic_that_is_being_made_is_looked_at_again_before_it_ends() -> None:
    with pytest.raises(kafka_steps.LookAgain):
        kafka_steps.end(NAME, SEEN, "id", is_partitioned=None)(TopicRecord(3, pending=MAKE))


def test_a_topic_that_is_being_ended_does_not_grow() -> None:
    refused = kafka_steps.grow(NAME, 5, SEEN, None, needs_kafka=True)(TopicRecord(3, pending=END))
    assert refused == Refuse(Verdict.TOPIC_NOT_FOUND, f"topic {NAME} is being deleted")


def test_the_kafka_topic_of_a_noted_end_is_corrected_unless_the_note_is_another() -> None:
    correct = kafka_steps.end_of(NAME, TopicRecord(3, pending=END), "new")
    assert correct(TopicRecord(3, pending=END)) == TopicRecord(3, pending=Pending(Step.END, "new"))
    assert correct(TopicRecord(3, pending=MAKE)) == TopicRecord(3, pending=MAKE)
    assert correct(None) == topic_missing(NAME)


@pytest.mark.parametrize(
    ("now", "after"),
    [
        (TopicRecord(3, pending=MAKE), TopicRecord(3)),
        (TopicRecord(3, pending=MAKE, labels=frozen({"a": "b"})), TopicRecord(3, labels=frozen({"a": "b"}))),
        (TopicRecord(5, pending=MAKE), TopicRecord(5, pending=MAKE)),
        (TopicRecord(3, pending=END), TopicRecord(3, pending=END)),
        (TopicRecord(3), TopicRecord(3)),
        (None, topic_missing(NAME)),
    ],
)
def test_a_note_is_taken_off_by_whoever_did_what_it_says(now: TopicRecord | None, after: Record | Refuse) -> None:
    assert kafka_steps.done(NAME, TopicRecord(3, pending=MAKE))(now) == after


def test_a_topic_ends_once_its_kafka_topic_is_deleted() -> None:
    done = kafka_steps.done(NAME, TopicRecord(3, pending=END))
    assert done(TopicRecord(3, pending=END)) is None
    assert done(TopicRecord(3, pending=Pending(Step.END, "another"))) == TopicRecord(
        3, pending=Pending(Step.END, "another")
    )


@pytest.mark.parametrize(("recorded", "in_kafka", "after"), [(0, 1, 0), (0, 3, 3), (1, 1, 1), (2, 5, 5), (5, 2, 5)])
def test_partitions_follow_kafka_upwards_only(recorded: int, in_kafka: int, after: int) -> None:
    assert kafka_steps.follow_partitions(NAME, in_kafka)(TopicRecord(recorded)) == TopicRecord(after)
