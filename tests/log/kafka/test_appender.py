"""What becomes of appends, without a broker: what is told where they lie, and what of those that broke."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from tests.log.following import PATIENCE_SECONDS, never
from tests.log.kafka.producing import Producer, Report
from topicfold.errors import LogUnavailable, Overloaded, TooLarge, TopicfoldError
from topicfold.log.codec import MAX_EVENT_BYTES
from topicfold.log.kafka import appender as kafka_appender
from topicfold.log.kafka import producers as kafka_producers
from topicfold.log.kafka.appender import KafkaAppender
from topicfold.log.kafka.settings import client_settings
from topicfold.log.port import Entry


class World:
    """An appender and what it tells."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[int] = asyncio.Queue()
        self.failures: asyncio.Queue[TopicfoldError] = asyncio.Queue()
        self.failed: list[bytes] = []
        self.written: list[Entry] = []
        loop = asyncio.get_running_loop()

        def written(entries: list[Entry]) -> None:
            self.written += entries
            for entry in entries:
                loop.call_soon_threadsafe(self.told.put_nowait, entry.offset)

        self.appender = KafkaAppender({"bootstrap.servers": "kafka:9092"}, "topic", 1_000, written)  # type: ignore[arg-type]

    async def append(self, count: int = 1) -> Producer:
        """Append in as many turns of the loop; return the producer that took them."""
        for number in range(count):
            self.appender.append(0, b"%d" % number, self.failures.put_nowait)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return Producer.made[-1]

    def append_at_once(self, *values: bytes) -> None:
        """Append in this turn of the loop: all but the first are a batch. Those that fail are then in `failed`."""
        for value in values:
            self.appender.append(0, value, partial(self._fail, value))

    def _fail(self, value: bytes, _: TopicfoldError) -> None:
        self.failed.append(value)

    async def next_told(self) -> int:
        return await asyncio.wait_for(self.told.get(), PATIENCE_SECONDS)


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    Producer.made = []
    monkeypatch.setattr(kafka_producers, "Producer", Producer)
    world = World()
    yield world
    await world.appender.close()


async def test_where_an_append_lies_is_told(world: World) -> None:
    producer = await world.append(2)
    producer.report(7)
    producer.report(8)
    assert [await world.next_told(), await world.next_told()] == [7, 8]


async def test_an_append_is_sent_at_once_and_those_behind_it_together(world: World) -> None:
    producer = Producer.made[-1]
    for value in (b"first", b"second", b"third"):
        world.appender.append(0, value, never)
        assert producer.sent == [[b"first"]]
    await asyncio.sleep(0)
    assert producer.sent == [[b"first"], [b"second", b"third"]]
    world.appender.append(0, b"fourth", never)
    assert len(producer.sent) == 2


async def test_what_cannot_be_sent_fails_in_a_later_turn(world: World) -> None:
    Producer.made[-1].is_broken = True
    world.appender.append(0, b"value", world.failures.put_nowait)
    assert world.failures.empty()
    assert isinstance(await asyncio.wait_for(world.failures.get(), PATIENCE_SECONDS), LogUnavailable)


@pytest.mark.parametrize(
    ("refusal", "failure"),
    [
        (BufferError("queue full"), Overloaded),
        (KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)), TooLarge),
        (KafkaException(KafkaError(KafkaError._TIMED_OUT)), LogUnavailable),
    ],
)
async def test_what_kafka_s_client_does_not_take_fails_and_nothing_else_of_its_turn_does(
    world: World, monkeypatch: pytest.MonkeyPatch, refusal: Exception, failure: type[TopicfoldError]
) -> None:
    producer, produce = await world.append(), Producer.produce

    def picky(topic: str, value: bytes, key: bytes, partition: int, on_delivery: Report) -> None:
        if partition == 1:
            raise refusal
        produce(producer, topic, value, key, partition, on_delivery)

    monkeypatch.setattr(producer, "produce", picky)
    world.appender.append(1, b"refused", world.failures.put_nowait)
    world.appender.append(0, b"sent", world.failures.put_nowait)
    assert type(await asyncio.wait_for(world.failures.get(), PATIENCE_SECONDS)) is failure
    assert producer.sent == [[b"0"], [b"sent"]]
    producer.report(5)
    producer.report(6)
    assert [await world.next_told(), await world.next_told()] == [5, 6]
    assert world.failures.empty()
    assert Producer.made == [producer]
    assert not producer.is_purged


async def test_outcomes_are_looked_for_as_soon_as_something_was_sent(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_producers, "_WAIT_SECONDS", PATIENCE_SECONDS * 10)
    hurried = World()
    producer = await hurried.append()
    producer.report(3)
    assert await hurried.next_told() == 3
    await hurried.appender.close()


async def test_who_waited_in_vain_above_a_quota_is_told_so(world: World) -> None:
    producer = await world.append()
    producer.settings["throttle_cb"](SimpleNamespace(broker_name="b1", throttle_time=9.0))
    producer.report(None, KafkaError(KafkaError._MSG_TIMED_OUT))
    failure = await asyncio.wait_for(world.failures.get(), PATIENCE_SECONDS)
    assert failure.reason.startswith("Kafka: b1 lets us wait for 9.0 s")


async def test_places_counted_from_one_that_kafka_s_client_does_not_know_are_not_told(world: World) -> None:
    producer = await world.append(5)
    for offset in (None, 0, 1):
        producer.report(offset)
    producer.report(kafka_appender._MAX_WAITING)
    producer.report(3)
    assert [await world.next_told(), await world.next_told()] == [kafka_appender._MAX_WAITING, 3]


async def test_what_waits_in_a_producer_that_broke_fails_though_that_is_reported_a_moment_later(world: World) -> None:
    broken = await world.append(2)
    broken.is_broken = True
    await world.append()
    assert isinstance(await asyncio.wait_for(world.failures.get(), PATIENCE_SECONDS), LogUnavailable)
    assert broken.is_purged
    await asyncio.sleep(0.05)
    assert world.failures.empty()
    while broken.reports:
        broken.report(None, KafkaError(KafkaError._PURGE_INFLIGHT))
    for _ in range(2):
        assert isinstance(await asyncio.wait_for(world.failures.get(), PATIENCE_SECONDS), LogUnavailable)
    replaced = await world.append()
    assert replaced is not broken
    replaced.report(0)
    assert await world.next_told() == 0


async def test_a_producer_that_polls_no_more_is_replaced_once_however_late_the_loop_hears_of_it(world: World) -> None:
    broken = await world.append()
    broken.is_broken_for_good = True
    time.sleep(0.1)  # noqa: ASYNC251 -- the loop is to stand still meanwhile
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(Producer.made) == 1:  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.01)
    assert broken.is_purged
    assert len(Producer.made) == 2


async def test_while_no_other_producer_can_be_made_every_append_fails(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: object) -> None:
        raise KafkaException(KafkaError(KafkaError._CRIT_SYS_RESOURCE))

    monkeypatch.setattr(kafka_producers, "_REPLACED_EVERY_SECONDS", 0)
    broken = await world.append()
    broken.is_broken = True
    monkeypatch.setattr(kafka_producers, "Producer", refused)
    for partition in range(2):
        world.appender.append(partition, b"refused", world.failures.put_nowait)
    for _ in range(2):
        assert isinstance(await asyncio.wait_for(world.failures.get(), PATIENCE_SECONDS), LogUnavailable)
    assert broken.is_purged
    monkeypatch.setattr(kafka_producers, "Producer", Producer)
    await world.append()
    replaced = await world.append()
    assert replaced is not broken
    replaced.report(0)
    assert await world.next_told() == 0


async def test_a_producer_that_breaks_as_soon_as_it_is_made_is_replaced_after_a_rest_and_takes_nothing_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_producers, "_REPLACED_EVERY_SECONDS", 0.5)
    made_at: list[float] = []

    def breaking(settings: Mapping[str, Any]) -> Producer:
        made_at.append(time.monotonic())
        made = Producer(settings)
        made.is_broken = made.is_broken_for_good = True
        return made

    monkeypatch.setattr(kafka_producers, "Producer", breaking)
    first = await world.append()
    first.is_broken_for_good = True
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not made_at:  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.01)
        await world.append()
        assert "broken" in (await world.failures.get()).reason
        while len(made_at) < 3:  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.01)
    assert all(later - earlier >= 0.5 for earlier, later in pairwise(made_at))


async def test_what_waits_in_a_producer_that_kafka_turned_away_is_told_why(world: World) -> None:
    broken = await world.append()
    broken.why_broken = KafkaError.CLUSTER_AUTHORIZATION_FAILED
    broken.is_broken_for_good = True
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not broken.is_purged:  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.01)
    broken.is_broken_for_good = False
    broken.report(None, KafkaError(KafkaError._PURGE_QUEUE))
    failure = await asyncio.wait_for(world.failures.get(), PATIENCE_SECONDS)
    assert failure.reason.startswith("Kafka denies us Write on topic topic: ")
    assert "--operation Write --topic topic" in failure.hint


async def test_what_ran_out_of_time_while_kafka_let_nobody_in_says_so_until_something_is_written(world: World) -> None:
    producer = await world.append(4)
    timed_out = KafkaError(KafkaError._MSG_TIMED_OUT)
    producer.settings["error_cb"](KafkaError(KafkaError._AUTHENTICATION, "b1: invalid credentials"))
    producer.report(None, timed_out)
    failure = await asyncio.wait_for(world.failures.get(), PATIENCE_SECONDS)
    assert failure.reason == "Kafka denies access: b1: invalid credentials"
    producer.report(0)
    producer.report(20_000)
    assert await world.next_told() == 0
    producer.report(None, timed_out)
    failure = await asyncio.wait_for(world.failures.get(), PATIENCE_SECONDS)
    assert "credentials" not in failure.reason


async def test_no_more_appends_wait_than_are_allowed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_appender, "_MAX_WAITING", 3)
    await world.append(2)
    world.appender.append(0, b"third", never)
    with pytest.raises(Overloaded):
        world.appender.append(1, b"fourth", never)


async def test_what_kafka_s_client_does_not_take_of_a_batch_fails_and_the_rest_does_not(world: World) -> None:
    producer = Producer.made[-1]
    producer.room = 1
    world.append_at_once(b"alone", b"taken", b"refused", b"refused, too")
    for offset in (5, 6):
        await asyncio.sleep(0)
        producer.report(offset)
        assert await world.next_told() == offset
    assert world.failed == [b"refused", b"refused, too"]
    assert not producer.is_purged


async def test_a_producer_that_refuses_a_batch_because_it_broke_is_replaced(world: World) -> None:
    broken = await world.append()
    broken.room, broken.is_broken = 0, True
    for value in (b"first", b"second"):
        world.appender.append(0, value, world.failures.put_nowait)
    for _ in range(2):
        assert isinstance(await asyncio.wait_for(world.failures.get(), PATIENCE_SECONDS), LogUnavailable)
    assert broken.is_purged
    assert len(Producer.made) == 2


async def test_each_append_of_a_batch_has_an_outcome_of_its_own(world: World) -> None:
    world.append_at_once(b"alone", b"first", b"second", b"third")
    await asyncio.sleep(0)
    [producer] = Producer.made
    producer.report(7)
    producer.report(8)
    producer.report(None, KafkaError(KafkaError.NOT_ENOUGH_REPLICAS))
    producer.report(9)
    for offset in (7, 8, 9):
        assert await world.next_told() == offset
    assert world.written == [Entry(0, 7, b"alone"), Entry(0, 8, b"first"), Entry(0, 9, b"third")]
    assert world.failed == [b"second"]


async def test_closing_fails_what_waits_in_every_producer(world: World) -> None:
    broken = await world.append()
    broken.is_broken = True
    await world.append(2)
    await world.appender.close()
    await asyncio.sleep(0)
    assert world.failures.qsize() == 3
    assert not world.appender._producers._thread.is_alive()


async def test_nothing_is_told_of_an_append_that_kafka_refused(world: World) -> None:
    producer = await world.append()
    producer.report(None, KafkaError(KafkaError.NOT_ENOUGH_REPLICAS))
    assert isinstance(await asyncio.wait_for(world.failures.get(), PATIENCE_SECONDS), LogUnavailable)
    world.appender.append(0, b"next", never)
    await asyncio.sleep(0.01)
    producer.report(0)
    assert await world.next_told() == 0


@pytest.mark.parametrize("max_bytes", [1, 2_147_483_647])
async def test_a_topic_may_have_any_limit_though_kafka_s_client_does_not_take_it_as_its_own(max_bytes: int) -> None:
    appender = KafkaAppender(client_settings("127.0.0.1:1", {}), "topic", max_bytes, lambda _: None)
    with pytest.raises(TooLarge):
        appender.append(0, bytes(min(max_bytes, MAX_EVENT_BYTES) + 1), never)
    await appender.close()
