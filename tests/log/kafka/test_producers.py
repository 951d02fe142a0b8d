"""Who polls for what becomes of appends: the loop while Kafka is quick, a thread while it is not, never both."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest
from confluent_kafka import KafkaError

from tests.log.kafka.producing import Producer
from topicfold.log.kafka import producers as kafka_producers
from topicfold.log.kafka.producers import KafkaProducers

_TURNS = 20

Poller = Literal["loop", "thread"]


class World:
    """Producers on a loop whose clock stands still, and what was reported."""

    def __init__(self) -> None:
        self.now = 100.0
        asyncio.get_running_loop().time = lambda: self.now  # type: ignore[method-assign]
        self.reported: list[int | None] = []
        self.errors: list[KafkaError | None] = []
        self.producers = KafkaProducers({}, lambda _, error: self.errors.append(error))

    @property
    def producer(self) -> Producer:
        return Producer.made[-1]

    def produce(self) -> None:
        self.producer.produce("topic", b"value", b"key", 0, self._report)
        self.producers.expect()

    async def polls(self) -> Poller:
        """Return who polls, once it was decided by the clock as it is now."""
        seen = len(self.producer.polled_in)
        while len(self.producer.polled_in) < seen + 2:
            await asyncio.to_thread(time.sleep, 0.001)
        return self._poller(self.producer.polled_in[-1])

    async def polled(self) -> set[Poller]:
        """Return who has polled until now, and polls in the next turns of the loop."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        return {self._poller(each) for each in self.producer.polled_in}

    async def next_reported(self) -> int | None:
        """Return what is reported first, once it is."""
        while not self.reported:
            await asyncio.to_thread(time.sleep, 0.001)
        return self.reported.pop(0)

    def _poller(self, thread: threading.Thread) -> Poller:
        return "loop" if thread is threading.main_thread() else "thread"

    def _report(self, _: KafkaError | None, message: Any) -> None:
        self.reported.append(message.offset())


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    Producer.made = []
    monkeypatch.setattr(kafka_producers, "Producer", Producer)
    monkeypatch.setattr(kafka_producers, "usable_processors", lambda: 2.0)
    monkeypatch.setattr(kafka_producers, "_LOOK_SECONDS", 1 / 512)  # sums of it are exact
    world = World()
    yield world
    await world.producers.close()


async def test_the_loop_looks_by_itself_while_kafka_is_quick(world: World) -> None:
    for offset in range(3):
        world.produce()
        assert await world.polls() == "loop"
        world.now += kafka_producers._LOOK_SECONDS / 2
        world.producer.report(offset)
        assert await world.polled() == {"loop"}
        assert world.reported == list(range(offset + 1))
    polls = len(world.producer.polled_in)
    await world.polled()
    assert len(world.producer.polled_in) == polls


async def test_while_outcomes_come_the_loop_goes_on_looking(world: World) -> None:
    for _ in range(4):
        world.produce()
    for _ in range(3):
        world.now += kafka_producers._LOOK_SECONDS * 0.9
        world.producer.report(0)
        assert await world.polls() == "loop"
    assert await world.polled() == {"loop"}


async def test_what_does_not_come_soon_the_thread_waits_for(world: World) -> None:
    world.produce()
    assert await world.polls() == "loop"
    world.now += kafka_producers._LOOK_SECONDS
    assert await world.polls() == "thread"
    world.producer.report(7)
    assert await world.next_reported() == 7


async def test_the_loop_does_not_look_where_it_would_take_the_processor_from_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_producers, "usable_processors", lambda: 1.5)
    alone = World()
    alone.produce()
    assert await alone.polls() == "thread"
    assert await alone.polled() == {"thread"}
    await alone.producers.close()


async def test_what_is_appended_while_the_thread_waits_is_left_to_it(world: World) -> None:
    world.produce()
    world.now += kafka_producers._LOOK_SECONDS
    assert await world.polls() == "thread"
    world.produce()
    assert await world.polls() == "thread"


async def test_the_longer_looking_is_in_vain_the_rarer_the_loop_looks_until_something_comes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def rest() -> float:
        """Return how long the loop does not look, after it has looked in vain."""
        world.now += kafka_producers._LOOK_SECONDS
        assert await world.polls() == "thread"
        began = world.now
        while await world.polls() == "thread":
            world.now += kafka_producers._LOOK_SECONDS
        return world.now - began

    monkeypatch.setattr(kafka_producers, "_MOST_REST_SECONDS", 10 * kafka_producers._LOOK_SECONDS)
    world.produce()
    assert await world.polls() == "loop"
    rests = [await rest() for _ in range(5)]
    assert rests == pytest.approx([each * kafka_producers._LOOK_SECONDS for each in (1, 2, 4, 8, 10)])
    world.produce()
    world.producer.report(0)
    assert await world.polls() == "loop"
    assert await rest() == pytest.approx(kafka_producers._LOOK_SECONDS)


async def test_why_a_producer_has_broken_is_told_whoever_polled(world: World) -> None:
    world.produce()
    world.producer.is_broken_for_good = True
    for poller in ("loop", "thread"):
        assert await world.polls() == poller
        assert world.errors[-1] is not None
        world.errors.clear()
        world.now += kafka_producers._LOOK_SECONDS


async def test_what_a_broken_producer_had_is_told_while_the_thread_waits_for_the_next(world: World) -> None:
    broken = world.producer
    world.produce()
    world.producers.replace(broken)
    world.produce()
    assert await world.polls() == "loop"
    world.now += kafka_producers._LOOK_SECONDS
    assert await world.polls() == "thread"
    broken.report(7)
    assert await world.next_reported() == 7


async def test_what_a_poll_of_the_thread_raises_ends_no_later_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll, has_failed = world.producer.poll, threading.Event()

    def fail_once(seconds: float) -> None:
        if threading.current_thread() is threading.main_thread() or has_failed.is_set():
            poll(seconds)
        else:
            has_failed.set()
            raise ValueError

    monkeypatch.setattr(world.producer, "poll", fail_once)
    world.produce()
    assert await world.polls() == "loop"
    world.now += kafka_producers._LOOK_SECONDS
    await asyncio.to_thread(has_failed.wait)
    world.producer.report(7)
    assert await world.next_reported() == 7


async def test_nothing_is_polled_once_it_is_closed(world: World) -> None:
    world.produce()
    producer = world.producer
    await world.producers.close()
    assert not world.producers._thread.is_alive()
    world.producers.expect()
    await world.polled()
    assert {threading.main_thread(), world.producers._thread}.isdisjoint(producer.polled_in)
