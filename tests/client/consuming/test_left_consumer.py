"""What a consumer that was left had returned, and what had arrived of topics being left; Kafka's client is played."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from topicfold.client.consuming import subscribed_consumer, subscription
from topicfold.client.consuming.subscribed_consumer import SubscribedConsumer

DEAD = KafkaError(KafkaError._FATAL, "ConsumerGroupHeartbeat fatal error")
NOTHING = -1001
RETURNED = 7


class Answer:
    """What the group has committed of a partition."""

    def __init__(self, offset: int, error: KafkaError | None = None) -> None:
        self.topic, self.partition, self.offset, self.error = "orders", 0, offset, error


class Message:
    """A fatal error."""

    def error(self) -> KafkaError | None:
        return DEAD

    def topic(self) -> str:
        return "orders"

    def partition(self) -> int:
        return 0


class Record(Message):
    """A record of what `Played` reads."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def error(self) -> None:
        return None

    def offset(self) -> int:
        return self._offset


class Played:
    """Kafka's consumer, which reads `orders` and dies when it is polled; `committed` answers in turn."""

    def __init__(self, *committed: Answer | KafkaException) -> None:
        self.subscribed: list[str] = []
        self.sought: list[int] = []
        self.cannot_seek = False
        self.records: list[Record] = []
        """What is polled before the next one finds it dead."""
        self.at, self.end = RETURNED, RETURNED
        self._committed = list(committed)

    def subscribe(self, topics: list[str], **_: Any) -> None:
        self.subscribed = topics

    def unsubscribe(self) -> None:
        self.subscribed = []

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition("orders", 0)]

    def position(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        return [TopicPartition(each.topic, each.partition, self.at) for each in partitions]

    def get_watermark_offsets(self, _: TopicPartition, cached: bool) -> tuple[int, int]:
        assert cached
        return 0, self.end

    def committed(self, partitions: Sequence[TopicPartition], timeout: float) -> list[Answer]:
        assert [(each.topic, each.partition) for each in partitions] == [("orders", 0)]
        if isinstance(answer := self._committed.pop(0), KafkaException):
            raise answer
        return [answer]

    def seek(self, partition: TopicPartition) -> None:
        if self.cannot_seek:
            raise KafkaException(KafkaError(KafkaError._STATE))
        self.sought.append(partition.offset)

    def memberid(self) -> str:
        return "me"

    def poll(self, _: float) -> Message:
        return self.records.pop(0) if self.records else Message()

    def consume(self, *_: Any) -> list[Record]:
        records, self.records = self.records, []
        return records

    def pause(self, _: Sequence[TopicPartition]) -> None:
        """Do nothing: nothing is read."""

    resume = pause

    def commit(self, **_: Any) -> list[TopicPartition]:
        return []

    def close(self) -> None:
        """Do nothing: nothing is open."""


Reading = Callable[..., SubscribedConsumer]


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Reading:
    """Makes a consumer that has read `orders` as the first of these played ones, up to `RETURNED`."""

    def made(*played: Played) -> SubscribedConsumer:
        opened = iter(played)
        monkeypatch.setattr(subscribed_consumer, "open_consumer", lambda *_, **__: next(opened))
        consumer = SubscribedConsumer({}, {}, lambda: None, lambda member: None)
        consumer.tend({"orders": "id-1"})
        return consumer

    return made


@pytest.mark.parametrize(("committed", "sought"), [(NOTHING, [RETURNED]), (5, []), (0, [])])
def test_what_a_dead_consumer_had_returned_is_not_read_again_where_the_group_has_no_offset(
    reading: Reading, committed: int, sought: list[int]
) -> None:
    second = Played(Answer(committed))
    consumer = reading(Played(), second)
    assert consumer.poll(0) is None
    for _ in range(2):
        consumer.tend({"orders": "id-1"})
    assert second.sought == sought


@pytest.mark.parametrize("trouble", [
    KafkaException(KafkaError(KafkaError._TIMED_OUT)),
    Answer(NOTHING, KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE)),
])  # fmt: skip
def test_what_the_group_has_committed_is_asked_again_where_it_was_not_told(
    reading: Reading, trouble: Answer | KafkaException
) -> None:
    second = Played(trouble, Answer(NOTHING))
    consumer = reading(Played(), second)
    consumer.poll(0)
    consumer.tend({"orders": "id-1"})
    assert second.sought == []
    consumer.tend({"orders": "id-1"})
    assert second.sought == [RETURNED]


def test_what_is_not_being_read_yet_is_read_on_later(reading: Reading) -> None:
    second = Played(Answer(NOTHING), Answer(NOTHING))
    second.cannot_seek = True
    consumer = reading(Played(), second)
    consumer.poll(0)
    consumer.tend({"orders": "id-1"})
    second.cannot_seek = False
    consumer.tend({"orders": "id-1"})
    assert second.sought == [RETURNED]


@pytest.mark.parametrize(("committed", "sought", "returned"), [(NOTHING, [RETURNED], []), (5, [], [5])])
@pytest.mark.parametrize("call", ["poll", "consume"])
def test_records_that_came_before_it_was_seen_where_to_go_on_are_returned_only_if_the_group_is_there(
    reading: Reading, call: str, committed: int, sought: list[int], returned: list[int]
) -> None:
    second = Played(Answer(committed))
    consumer = reading(Played(), second)
    consumer.poll(0)
    second.records = [Record(5)]
    messages = [consumer.poll(0)] if call == "poll" else consumer.consume(9, 0)
    assert [each.offset() for each in messages if each is not None] == returned
    assert second.sought == sought


def test_records_that_came_before_it_could_be_seen_where_to_go_on_come_again(reading: Reading) -> None:
    second = Played(KafkaException(KafkaError(KafkaError._TIMED_OUT)), Answer(NOTHING))
    consumer = reading(Played(), second)
    consumer.poll(0)
    second.records = [Record(20), Record(21)]
    assert consumer.consume(9, 0) == []
    assert second.sought == [20]
    second.records = [Record(20)]
    assert consumer.poll(0) is None
    assert second.sought == [20, RETURNED]
    second.records = [Record(RETURNED)]
    assert consumer.poll(0) is not None


@pytest.mark.parametrize("at", [NOTHING, KafkaException(KafkaError(KafkaError._FATAL))])
def test_where_nothing_is_known_to_have_been_returned_the_group_begins_as_it_is_told(
    reading: Reading, monkeypatch: pytest.MonkeyPatch, at: int | KafkaException
) -> None:
    def position(partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        if isinstance(at, KafkaException):
            raise at
        return [TopicPartition(each.topic, each.partition, at) for each in partitions]

    first, second = Played(), Played(Answer(NOTHING))
    consumer = reading(first, second)
    monkeypatch.setattr(first, "position", position)
    assert consumer.poll(0) is None
    consumer.tend({"orders": "id-1"})
    assert (second.subscribed, second.sought) == (["orders"], [])


def test_what_was_returned_long_ago_may_have_been_read_on_by_others(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscribed_consumer, "_GO_ON_SECONDS", -1.0)
    second = Played()
    consumer = reading(Played(), second)
    consumer.poll(0)
    consumer.tend({"orders": "id-1"})
    assert second.sought == []


def test_where_a_topic_was_read_up_to_says_nothing_of_another_of_its_name(reading: Reading) -> None:
    second = Played()
    reading(Played(), second).tend({"orders": "id-2"})
    assert RETURNED not in second.sought


def test_a_topic_is_left_once_what_had_arrived_of_it_then_was_returned(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "LEAVE_SECONDS", 1_000.0)
    kafka = Played()
    consumer = reading(kafka)
    kafka.at, kafka.end = 2, 3
    consumer.tend({})
    kafka.end = 9
    consumer.tend({})
    assert kafka.subscribed == ["orders"]
    kafka.at = 3
    consumer.tend({})
    assert kafka.subscribed == []


@pytest.mark.parametrize(
    ("conf", "error", "is_newer"),
    [
        ({}, "Broker: API version not supported", False),
        ({}, "Broker: Invalid request", True),
        ({"group.protocol": "consumer"}, "Broker: API version not supported", True),
    ],
)
def test_where_the_newer_protocol_is_refused_the_classic_one_is_used_from_then_on(
    monkeypatch: pytest.MonkeyPatch, conf: dict[str, Any], error: str, is_newer: bool
) -> None:
    opened: list[bool] = []

    def open_next(*_: Any, newer: bool) -> Played:
        opened.append(newer)
        return Played()

    monkeypatch.setattr(subscribed_consumer, "open_consumer", open_next)
    consumer = SubscribedConsumer(conf, {}, lambda: None, lambda member: None)
    for text in (error, "Broker: Invalid request"):
        monkeypatch.setattr(Message, "error", lambda _, text=text: KafkaError(
            KafkaError._FATAL, f"ConsumerGroupHeartbeat fatal error: {text}"
        ))  # fmt: skip
        consumer.poll(0)
    assert opened == [True, is_newer, is_newer]
