"""A consumer that dies, and whose successor cannot be had at once; Kafka's client is played."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from topicfold.client.consuming import subscribed_consumer
from topicfold.client.consuming.subscribed_consumer import SubscribedConsumer
from topicfold.errors import BadSetting

RECORD: Any = SimpleNamespace(error=lambda: None, topic=lambda: "orders", partition=lambda: 0, offset=lambda: 0)
DEAD = KafkaError(KafkaError._FATAL, "ConsumerGroupHeartbeat fatal error")


class Played:
    """Kafka's consumer, which died."""

    def __init__(self) -> None:
        self.subscribed: list[str] = []
        self.callbacks: dict[str, Callable[..., None]] = {}
        self.is_closed = False
        self.trouble: int | None = None

    def subscribe(self, topics: list[str], **callbacks: Callable[..., None]) -> None:
        self.subscribed = topics
        self.callbacks = callbacks

    def unsubscribe(self) -> None:
        self.subscribed = []

    def assignment(self) -> list[Any]:
        assert not self.is_closed
        if self.trouble is not None:
            raise KafkaException(KafkaError(self.trouble))
        return []

    def position(self, partitions: list[Any]) -> list[Any]:
        return partitions

    def memberid(self) -> str:
        return "me"

    def poll(self, _: float) -> Any:
        return SimpleNamespace(error=lambda: DEAD)

    def consume(self, *_: Any) -> list[Any]:
        self.callbacks["on_assign"](self, [])
        return [RECORD]

    def close(self) -> None:
        self.is_closed = True
        if "on_revoke" in self.callbacks:
            self.callbacks["on_revoke"](self, [])


def test_where_no_other_consumer_can_be_had_it_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Played(), Played()
    opened = iter([first, BadSetting("no token"), second])

    def open_next(*_: Any, **__: Any) -> Any:
        if isinstance(one := next(opened), BadSetting):
            raise one
        return one

    monkeypatch.setattr(subscribed_consumer, "open_consumer", open_next)
    consumer = SubscribedConsumer({}, {}, lambda: None, lambda member: None)
    consumer.tend({"orders": "id-1"})
    with pytest.raises(BadSetting):
        consumer.poll(0)
    consumer.tend({"orders": "id-1"})
    assert (first.is_closed, second.subscribed) == (True, ["orders"])
    consumer.close()


def test_one_that_dies_again_and_again_is_told_of_after_five_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Played] = []

    def open_next(*_: Any, **__: Any) -> Played:
        opened.append(Played())
        return opened[-1]

    monkeypatch.setattr(subscribed_consumer, "open_consumer", open_next)
    consumer = SubscribedConsumer({}, {}, lambda: None, lambda member: None)
    assert [consumer.poll(0) for _ in range(4)] == [None] * 4
    monkeypatch.setattr(opened[-1], "poll", lambda _: RECORD)
    assert consumer.poll(0) is RECORD
    monkeypatch.undo()
    monkeypatch.setattr(subscribed_consumer, "open_consumer", open_next)
    assert [consumer.poll(0) for _ in range(5)] == [None] * 5
    told = consumer.poll(0)
    assert told is not None
    assert told.error() is DEAD
    assert [each.is_closed for each in opened] == [True] * 9 + [False]
    consumer.close()


def test_a_poll_lets_the_calls_of_other_threads_end_first_as_long_as_it_has_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played, told = Played(), list[str]()
    monkeypatch.setattr(subscribed_consumer, "open_consumer", lambda *_, **__: played)
    monkeypatch.setattr(played, "poll", lambda _: told.append("polled"))
    consumer = SubscribedConsumer({}, {}, lambda: None, lambda member: None)
    is_inside, may_leave = threading.Event(), threading.Event()

    def call() -> None:
        with consumer.in_use():
            is_inside.set()
            may_leave.wait(10)
            told.append("called")

    threading.Thread(target=call, daemon=True).start()
    assert is_inside.wait(10)
    consumer.poll(0)
    consumer.tend({"orders": "id-1"})
    assert played.subscribed == []
    assert consumer.poll(0.01) is None
    assert consumer.consume(1, 0.01) == []
    threading.Timer(0.05, may_leave.set).start()
    consumer.poll(10)
    assert told == ["polled", "called", "polled"]
    consumer.close()


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Played:
    played = Played()
    monkeypatch.setattr(subscribed_consumer, "open_consumer", lambda *_, **__: played)
    return played


def test_that_it_died_is_told_by_the_next_poll_and_any_other_trouble_at_once(played: Played) -> None:
    consumer = SubscribedConsumer({}, {}, lambda: None, lambda member: None)
    played.trouble = KafkaError._FATAL
    consumer.tend({"orders": "id-1"})
    played.trouble = KafkaError._STATE
    with pytest.raises(KafkaException):
        consumer.tend({"orders": "id-1"})


def test_it_is_closed_once_no_other_thread_uses_it(played: Played) -> None:
    consumer = SubscribedConsumer({}, {}, lambda: None, lambda member: None)
    with consumer.in_use():
        closing = threading.Thread(target=consumer.close)
        closing.start()
        closing.join(0.05)
        assert not played.is_closed
    closing.join()
    assert played.is_closed


def refuse(*_: Any) -> None:
    raise ValueError("the caller's own")


def test_what_a_callback_raises_while_the_group_is_joined_anew_is_raised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Played(), Played()
    opened = iter([first, second])
    monkeypatch.setattr(subscribed_consumer, "open_consumer", lambda *_, **__: next(opened))
    consumer = SubscribedConsumer({}, {"on_revoke": refuse}, lambda: None, lambda member: None)
    consumer.tend({"orders": "id-1"})
    with pytest.raises(ValueError, match="own"):
        consumer.poll(0)
    monkeypatch.setattr(second, "poll", lambda _: None)
    consumer.tend({"orders": "id-1"})
    assert consumer.poll(0) is None
    assert (first.is_closed, second.is_closed, second.subscribed) == (True, False, ["orders"])


def test_what_a_callback_raises_costs_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscribed_consumer, "open_consumer", lambda *_, **__: Played())
    consumer = SubscribedConsumer({}, {"on_assign": refuse}, lambda: None, lambda member: None)
    consumer.tend({"orders": "id-1"})
    assert len(consumer.consume(1, 0)) == 1
    with pytest.raises(ValueError, match="own"):
        consumer.consume(1, 0)


def test_what_a_callback_raises_while_the_group_is_left_is_raised_by_that(played: Played) -> None:
    consumer = SubscribedConsumer({}, {"on_revoke": refuse}, lambda: None, lambda member: None)
    consumer.tend({"orders": "id-1"})
    with pytest.raises(ValueError, match="own"):
        consumer.close()
    assert played.is_closed


@pytest.mark.parametrize(("conf", "number"), [({}, 1), ({"enable.auto.offset.store": False}, 0)])
def test_of_records_that_the_caller_is_given_just_those_are_stored_that_he_does_not_store(
    played: Played, monkeypatch: pytest.MonkeyPatch, conf: dict[str, Any], number: int
) -> None:
    stored: list[Any] = []

    def store_offsets(*, message: Any) -> None:
        stored.append(message)
        raise KafkaException(KafkaError(KafkaError._STATE))

    monkeypatch.setattr(played, "store_offsets", store_offsets, raising=False)
    consumer = SubscribedConsumer(conf, {}, lambda: None, lambda member: None)
    failure: Any = SimpleNamespace(error=lambda: DEAD)
    for each in (RECORD, failure):
        consumer.store(each)
    assert stored == [RECORD] * number
