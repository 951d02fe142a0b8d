"""What a consumer that was left had returned, and what had arrived of topics being left; Kafka's client is played."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, OFFSET_INVALID, KafkaError, KafkaException, TopicPartition

from topicfold.client.consuming import going_on, subscribed_consumer, subscription
from topicfold.client.consuming.subscribed_consumer import SubscribedConsumer

DEAD = KafkaError(KafkaError._FATAL, "ConsumerGroupHeartbeat fatal error")
NOTHING = AS_TOLD = OFFSET_INVALID
RETURNED = 7


class Answer:
    """What the group has committed of a partition."""

    def __init__(self, offset: int, error: KafkaError | None = None) -> None:
        self.topic, self.partition, self.offset, self.error = "orders", 0, offset, error


class Message:
    """A fatal error."""

    def error(self) -> KafkaError | None:
        return DEAD


class Record(Message):
    """A record of what `Played` reads."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def error(self) -> None:
        return None

    def topic(self) -> str:
        return "orders"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset


class Played:
    """Kafka's consumer, which dies when it is polled and has no `records` left; `committed` answers in turn."""

    def __init__(self, *committed: Answer | KafkaException) -> None:
        self.subscribed: list[str] = []
        self.callbacks: dict[str, Callable[..., None]] = {}
        self.begun: list[int] = []
        """Where it was told to begin; nothing is assigned before."""
        self.sought: list[int] = []
        self.told: list[str] = []
        self.records: list[Record | BaseException] = []
        self.at, self.end = RETURNED, RETURNED
        self._committed = list(committed)

    def subscribe(self, topics: list[str], **callbacks: Callable[..., None]) -> None:
        self.subscribed, self.callbacks = topics, callbacks

    def unsubscribe(self) -> None:
        self.subscribed = []

    def assigned(self) -> list[int]:
        """Be assigned `orders` by the group; return where that begins."""
        self.callbacks["on_assign"](self, [TopicPartition("orders", 0)])
        return self.begun

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        self.begun = [each.offset for each in partitions]

    incremental_assign = assign

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition("orders", 0, each) for each in self.begun]

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
        self.sought.append(partition.offset)

    def memberid(self) -> str:
        return "me"

    def poll(self, _: float) -> Message:
        message = self.records.pop(0) if self.records else Message()
        if isinstance(message, BaseException):
            raise message
        return message

    def pause(self, _: Sequence[TopicPartition]) -> None:
        self.told.append("pause")

    def resume(self, _: Sequence[TopicPartition]) -> None:
        self.told.append("resume")

    def commit(self, **_: Any) -> list[TopicPartition]:
        return []

    def close(self) -> None:
        """Leave the group."""
        if self.begun:
            self.callbacks["on_revoke"](self, self.assignment())


Reading = Callable[..., SubscribedConsumer]


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Reading:
    """Makes a consumer that has read `orders` as the first of these played ones, up to `RETURNED`."""

    def made(*played: Played, told: Mapping[str, Callable[..., None]] | None = None, **conf: Any) -> SubscribedConsumer:
        opened = iter(played)
        monkeypatch.setattr(subscribed_consumer, "open_consumer", lambda *_, **__: next(opened))
        consumer = SubscribedConsumer(conf, told or {}, lambda: None, lambda member: None)
        consumer.tend({"orders": "id-1"})
        assert played[0].assigned()
        played[0].records.append(Record(RETURNED - 1))
        assert consumer.poll(0) is not None
        return consumer

    return made


def replaced(consumer: SubscribedConsumer, by: Played) -> list[int]:
    """Have the consumer die and another one read `orders`; return where it begins."""
    assert consumer.poll(0) is None
    consumer.tend({"orders": "id-1"})
    return by.assigned()


@pytest.mark.parametrize("conf", [{}, {"partition.assignment.strategy": "range"}])
@pytest.mark.parametrize(("committed", "begins"), [(NOTHING, RETURNED), (5, AS_TOLD), (0, AS_TOLD)])
def test_what_a_dead_consumer_had_returned_is_not_read_again_where_the_group_has_no_offset(
    reading: Reading, conf: dict[str, Any], committed: int, begins: int
) -> None:
    second = Played(Answer(committed))
    assert replaced(reading(Played(), second, **conf), second) == [begins]


@pytest.mark.parametrize("trouble", [
    KafkaException(KafkaError(KafkaError._TIMED_OUT)),
    Answer(NOTHING, KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE)),
])  # fmt: skip
def test_where_it_is_not_told_what_the_group_has_committed_what_was_returned_is_not_read_again(
    reading: Reading, trouble: Answer | KafkaException
) -> None:
    second = Played(trouble)
    assert replaced(reading(Played(), second), second) == [RETURNED]


def test_it_is_read_on_there_too_though_the_next_consumer_died_before_it_returned_anything(reading: Reading) -> None:
    second, third = Played(Answer(NOTHING)), Played(Answer(NOTHING))
    consumer = reading(Played(), second, third)
    assert replaced(consumer, second) == [RETURNED]
    assert replaced(consumer, third) == [RETURNED]


def test_where_the_caller_sought_it_is_read_on_though_nothing_was_returned_since(reading: Reading) -> None:
    second = Played(Answer(NOTHING))
    consumer = reading(Played(), second)
    consumer.seek(TopicPartition("orders", 0, 3))
    assert replaced(consumer, second) == [3]


def test_where_the_caller_begins_a_partition_himself_it_begins(reading: Reading) -> None:
    def on_assign(kafka: Played, partitions: list[TopicPartition]) -> None:
        offered.append([each.offset for each in partitions])
        kafka.assign([TopicPartition("orders", 0, 2)])

    offered: list[list[int]] = []
    second = Played(Answer(NOTHING))
    assert replaced(reading(Played(), second, told={"on_assign": on_assign}), second) == [2]
    assert offered == [[AS_TOLD], [RETURNED]]


@pytest.mark.parametrize("callback", ["on_lost", "on_revoke"])
def test_what_was_lost_or_revoked_begins_where_the_group_says_and_is_told_to_who_holds_records_of_it(
    reading: Reading, callback: str
) -> None:
    first = Played()
    consumer = reading(first)
    first.callbacks[callback](first, first.assignment())
    first.begun = []
    assert first.assigned() == [AS_TOLD]
    assert consumer.take_revoked() == {("orders", 0)}


@pytest.mark.parametrize("callback", ["on_lost", "on_revoke"])
def test_who_is_told_that_a_consumer_leaves_what_it_read_has_again_what_he_did_not_commit(
    reading: Reading, monkeypatch: pytest.MonkeyPatch, callback: str
) -> None:
    first, second = Played(), Played()
    consumer = reading(first, second, told={callback: lambda *_: None})
    monkeypatch.setattr(first, "close", lambda: first.callbacks[callback](first, first.assignment()))
    assert replaced(consumer, second) == [AS_TOLD]
    assert consumer.take_revoked() == {("orders", 0)}


def test_what_was_handed_out_with_the_news_that_a_consumer_died_comes_once_though_the_caller_was_told(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Played(), Played()
    consumer = reading(first, second, told={"on_revoke": lambda *_: None})
    monkeypatch.setattr(first, "consume", lambda *_: [Record(RETURNED), Message()], raising=False)
    assert consumer.consume(2, 0) == []
    consumer.tend({"orders": "id-1"})
    assert second.assigned() == [AS_TOLD]


def test_what_was_handed_out_of_a_partition_that_came_back_is_returned_though_the_consumer_died_then(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Played(Answer(NOTHING)), Played(Answer(NOTHING))
    consumer = reading(first, second)
    consumer.take_revoked()

    def hand_out(*_: object) -> list[Message]:
        first.callbacks["on_revoke"](first, first.assignment())
        first.begun = []
        first.assigned()
        return [Record(RETURNED), Message()]

    monkeypatch.setattr(first, "consume", hand_out, raising=False)
    assert [each.offset() for each in consumer.consume(2, 0)] == [RETURNED]
    assert consumer.take_revoked() == {("orders", 0)}
    consumer.tend({"orders": "id-1"})
    assert second.assigned() == [RETURNED + 1]


def test_what_a_callback_asks_is_asked_of_the_consumer_that_is_left_which_can_still_commit(reading: Reading) -> None:
    def ask(*_: object) -> None:
        with consumer.in_use() as kafka:
            asked.append(kafka)

    asked: list[object] = []
    first, second = Played(), Played()
    consumer = reading(first, second, told={"on_revoke": ask})
    replaced(consumer, second)
    ask()
    assert asked == [first, second]


def test_where_nothing_is_known_to_have_been_returned_the_group_begins_as_it_is_told(reading: Reading) -> None:
    first, second = Played(), Played()
    consumer = reading(first, second)
    consumer.seek(TopicPartition("orders", 0, OFFSET_END))
    assert replaced(consumer, second) == [AS_TOLD]


def test_what_was_returned_long_ago_may_have_been_read_on_by_others(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(going_on, "GO_ON_SECONDS", -1.0)
    second = Played()
    assert replaced(reading(Played(), second), second) == [AS_TOLD]


def test_another_topic_of_that_name_begins_at_its_start_and_nothing_of_it_is_returned_before_the_group_is_there(
    reading: Reading,
) -> None:
    second = Played()
    reading(Played(), second).tend({"orders": "id-2"})
    assert second.assigned() == [OFFSET_BEGINNING]
    assert second.told == ["pause"]


def test_what_kafkas_client_threw_away_when_a_signal_interrupted_it_comes_again(reading: Reading) -> None:
    first = Played()
    consumer = reading(first)
    first.records = [KeyboardInterrupt(), Record(RETURNED)]
    with pytest.raises(KeyboardInterrupt):
        consumer.poll(0)
    first.at = RETURNED + 1
    assert consumer.poll(0) is not None
    assert first.sought == [RETURNED]


def test_an_interrupt_that_cost_nothing_changes_nothing(reading: Reading) -> None:
    first = Played()
    consumer = reading(first)
    first.records = [KeyboardInterrupt(), Record(RETURNED)]
    with pytest.raises(KeyboardInterrupt):
        consumer.poll(0)
    assert consumer.poll(0) is not None
    assert first.sought == []


def test_where_an_interrupt_cost_what_came_first_of_a_partition_the_group_is_joined_anew(reading: Reading) -> None:
    first, second = Played(Answer(NOTHING)), Played()
    consumer = reading(first, second)
    first.callbacks["on_revoke"](first, first.assignment())
    first.begun = []
    assert first.assigned() == [AS_TOLD]
    first.records = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        consumer.poll(0)
    second.records = [Record(0)]
    consumer.poll(0)
    consumer.tend({"orders": "id-1"})
    assert second.assigned() == [AS_TOLD]


def test_an_interrupt_while_a_consumer_is_replaced_leaves_one_that_can_be_used(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    first, second, third = Played(), Played(), Played(Answer(NOTHING))
    consumer = reading(first, second, third)
    monkeypatch.setattr(first, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        consumer.poll(0)
    consumer.tend({"orders": "id-1"})
    assert third.assigned() == [RETURNED]


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


class Many(Played):
    """The same, assigned a partition of each of these topics; `looked_at` counts how often somebody reads whose."""

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self.names = names
        self.looked_at = 0

    def assignment(self) -> list[TopicPartition]:
        return [Counted(self, name) for name in self.names]


class Counted(TopicPartition):
    """A partition that tells `Many` whenever somebody reads its topic."""

    def __new__(cls, kafka: Many, name: str) -> Self:
        return super().__new__(cls, name, 0)

    def __init__(self, kafka: Many, name: str) -> None:
        super().__init__(name, 0)
        self.kafka = kafka

    @property
    def topic(self) -> str:
        self.kafka.looked_at += 1
        return str(super().topic)


def test_where_many_topics_are_left_at_once_each_partition_is_looked_at_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [f"orders-{number}" for number in range(100)]
    kafka = Many(names)
    monkeypatch.setattr(subscribed_consumer, "open_consumer", lambda *_, **__: kafka)
    consumer = SubscribedConsumer({}, {}, lambda: None, lambda member: None)
    consumer.tend(dict.fromkeys(names, "id-1"))
    kafka.looked_at = 0
    consumer.tend({})
    assert consumer._ends == {name: {0: RETURNED} for name in names}
    assert kafka.looked_at < 10 * len(names)
