"""The thread that follows a topic, without a broker."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from structlog.testing import capture_logs

from tests.log.following import PATIENCE_SECONDS
from topicfold.errors import LogGap, LogUnavailable, OperatorNeeded, TopicfoldError, WrongLog
from topicfold.log.kafka import follower as kafka_follower
from topicfold.log.kafka.arrivals import KafkaArrivals
from topicfold.log.kafka.follower import KafkaFollower
from topicfold.log.kafka.same_topic import SameTopic
from topicfold.log.port import Entry


class Message:
    """A record of partition 0, or an error there."""

    def __init__(self, offset: int, value: bytes = b"", error: KafkaError | None = None) -> None:
        self._offset, self._value, self._error = offset, value, error

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes:
        return self._value

    def error(self) -> KafkaError | None:
        return self._error


class Consumer:
    """Reads partition 0, which holds `values` from `start` on; says where it begins if asked more than `silent` times.

    Below its start it gives the partition up, as Kafka's client does.
    """

    hears: Callable[[KafkaError], None]
    """Is told of what is amiss."""

    def __init__(self, values: list[bytes], start: int = 0, silent: int = 0) -> None:
        self._values, self._start, self._silent = values, start, silent
        self.position: int | None = None

    def assign(self, places: list[TopicPartition]) -> None:
        self.position = places[0].offset

    incremental_assign = assign

    def pause(self, _: list[TopicPartition]) -> None:
        self.position = None

    incremental_unassign = pause

    def poll(self, _: float) -> Message | None:
        position = self.position
        if position is None or position >= len(self._values):
            return None
        if position < self._start:
            self.position = None
            return Message(position, error=KafkaError(KafkaError._AUTO_OFFSET_RESET))
        self.position = position + 1
        return Message(position, self._values[position])

    def consume(self, _count: int, _seconds: float) -> list[Message]:
        return []

    def get_watermark_offsets(self, _: TopicPartition, timeout: float) -> tuple[int, int]:
        if self._silent:
            self._silent -= 1
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return self._start, len(self._values)

    def close(self) -> None:
        pass


class BrokenConsumer(Consumer):
    """Fails as no error of Kafka's."""

    def poll(self, _: float) -> Message | None:
        raise MemoryError("no room")


class HeldConsumer(Consumer):
    """Does not return from a poll before it is let go."""

    def __init__(self) -> None:
        super().__init__([])
        self.is_polled = threading.Event()
        self.is_let_go = threading.Event()
        self.is_closed = False

    def poll(self, _: float) -> Message | None:
        self.is_polled.set()
        self.is_let_go.wait(10)
        return None

    def close(self) -> None:
        self.is_closed = True


class World:
    """A follower of partition 0, and what came of it."""

    def __init__(self, told: list[bytes], look: Callable[[], TopicfoldError | None]) -> None:
        """Make one that is told of appends before it reads anything, and looks so whether the topic is the same."""
        self.same_topic = SameTopic(look)
        self.values: asyncio.Queue[bytes] = asyncio.Queue()
        self.faults: asyncio.Queue[tuple[TopicfoldError, int | None]] = asyncio.Queue()
        self.arrivals = arrivals = KafkaArrivals({0: 0}, self._deliver)
        arrivals.told([Entry(0, offset, value) for offset, value in enumerate(told)])
        self.follower = KafkaFollower(
            {"bootstrap.servers": "kafka:9092"}, "topic", self.same_topic, arrivals,
            lambda *fault: self.faults.put_nowait(fault),
        )  # fmt: skip
        self.follower.start({0: 0})

    def _deliver(self, batch: Sequence[Entry]) -> None:
        for entry in batch:
            self.values.put_nowait(entry.value)

    async def delivered(self, count: int) -> list[bytes]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return [await self.values.get() for _ in range(count)]

    async def fault(self) -> tuple[TopicfoldError, int | None]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.faults.get()


Follow = Callable[..., World]
SAME = SameTopic(lambda: None)


@pytest.fixture
async def follow(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Follow]:
    worlds: list[World] = []

    def follow(
        consumer: Consumer, told: list[bytes], look: Callable[[], TopicfoldError | None] = lambda: None
    ) -> World:
        def opened(settings: Mapping[str, Any]) -> Consumer:
            consumer.hears = settings["error_cb"]
            return consumer

        monkeypatch.setattr(kafka_follower, "Consumer", opened)
        worlds.append(World(told, look))
        return worlds[-1]

    yield follow
    for world in worlds:
        world.follower.stop()


async def test_whatever_ends_the_thread_is_a_fault_of_all_partitions(follow: Follow) -> None:
    world = follow(BrokenConsumer([]), [])
    error, partition = await world.fault()
    assert isinstance(error, OperatorNeeded)
    assert "no room" in error.reason
    assert partition is None
    world.arrivals.told([Entry(0, 0, b"ours")])
    await asyncio.sleep(0)
    assert world.values.empty()


@pytest.mark.parametrize("silent", [0, 2])
async def test_what_was_delivered_and_trimmed_before_it_was_read_is_no_gap(follow: Follow, silent: int) -> None:
    world = follow(Consumer([b"a", b"b", b"c", b"d"], start=2, silent=silent), [b"a", b"b", b"c"])
    assert await world.delivered(4) == [b"a", b"b", b"c", b"d"]
    assert world.faults.empty()


class LostConnection(Consumer):
    """Tells of connections that it lost, by default all, and then goes on reading."""

    loses = KafkaError._ALL_BROKERS_DOWN

    def poll(self, seconds: float) -> Message | None:
        if self.position == 1:
            self.hears(KafkaError(self.loses))
        return super().poll(seconds)


@pytest.mark.parametrize("answers", [0, 2])
async def test_what_is_read_behind_lost_connections_comes_once_the_topic_is_known_to_be_the_same(
    follow: Follow, answers: int
) -> None:
    asked: list[int] = []

    def look() -> None:
        asked.append(1)
        if len(asked) <= answers:
            raise LogUnavailable("no answer")

    world = follow(LostConnection([b"a", b"b", b"c"]), [], look)
    assert await world.delivered(3) == [b"a", b"b", b"c"]
    assert len(asked) == answers + 1
    assert world.faults.empty()


async def test_what_others_lead_does_not_wait_for_a_broker_that_is_away(follow: Follow) -> None:
    asked: list[int] = []
    consumer = LostConnection([b"a", b"b", b"c"])
    consumer.loses = KafkaError._TRANSPORT
    world = follow(consumer, [], lambda: asked.append(1))
    assert await world.delivered(3) == [b"a", b"b", b"c"]
    assert asked == []


async def test_nothing_is_delivered_of_another_topic_that_has_the_name_behind_lost_connections(
    follow: Follow,
) -> None:
    world = follow(LostConnection([b"a", b"b", b"c"]), [], lambda: WrongLog("another topic"))
    assert await world.delivered(1) == [b"a"]
    error, partition = await world.fault()
    assert (error.reason, partition) == ("another topic", None)
    world.arrivals.told([Entry(0, 1, b"ours")])
    await asyncio.sleep(0)
    assert world.values.empty()


async def test_what_was_trimmed_before_it_was_delivered_is_a_gap(follow: Follow) -> None:
    world = follow(Consumer([b"a", b"b", b"c"], start=2), [b"a"])
    error, partition = await world.fault()
    assert isinstance(error, LogGap)
    assert partition == 0
    assert await world.delivered(1) == [b"a"]


async def test_a_log_that_ends_before_what_was_read_of_it_is_a_gap(follow: Follow) -> None:
    class Truncated(Consumer):
        def poll(self, seconds: float) -> Message | None:
            if self.position == len(self._values):
                self.position, self._values = None, self._values[:1]
                return Message(2, error=KafkaError(KafkaError._AUTO_OFFSET_RESET))
            return super().poll(seconds)

    world = follow(Truncated([b"a", b"b"]), [])
    error, partition = await world.fault()
    assert isinstance(error, LogGap)
    assert partition == 0
    assert await world.delivered(2) == [b"a", b"b"]
    world.arrivals.told([Entry(0, 2, b"put where the lost ones were")])
    await asyncio.sleep(0)
    assert world.values.empty()


async def test_what_goes_on_behind_a_missing_record_is_a_gap_and_is_not_delivered(follow: Follow) -> None:
    class Leaping(Consumer):
        def poll(self, seconds: float) -> Message | None:
            if self.position == 1:
                self.position = 2
            return super().poll(seconds)

    consumer = Leaping([b"a", b"missing", b"c"])
    world = follow(consumer, [])
    error, partition = await world.fault()
    assert isinstance(error, LogGap)
    assert (partition, error.values["expected"], error.values["found"]) == (0, 1, 2)
    assert consumer.position is None
    assert await world.delivered(1) == [b"a"]
    assert world.values.empty()


async def test_a_partition_that_holds_another_record_than_was_told_is_read_no_further(follow: Follow) -> None:
    consumer = Consumer([b"a", b"another", b"c"])
    world = follow(consumer, [b"a", b"b"])
    error, partition = await world.fault()
    assert isinstance(error, WrongLog)
    assert partition == 0
    assert consumer.position is None
    assert await world.delivered(2) == [b"a", b"b"]


async def test_while_the_loop_is_busy_with_a_batch_little_more_is_read(follow: Follow) -> None:
    class Telling(Consumer):
        has_read_on = threading.Event()

        def poll(self, seconds: float) -> Message | None:
            if self.position is not None and self.position > 2:
                self.has_read_on.set()
            return super().poll(seconds)

    consumer = Telling([b"a", b"b", b"c", b"d"])
    world = follow(consumer, [])
    assert not consumer.has_read_on.wait(0.2)
    assert await world.delivered(4) == [b"a", b"b", b"c", b"d"]


async def test_an_error_that_passes_ends_nothing(follow: Follow) -> None:
    class Stumbling(Consumer):
        errors = iter([KafkaError._TRANSPORT, KafkaError.NOT_LEADER_FOR_PARTITION])

        def poll(self, seconds: float) -> Message | None:
            code = next(self.errors, None)
            return super().poll(seconds) if code is None else Message(0, error=KafkaError(code))

    world = follow(Stumbling([b"a", b"b"]), [])
    assert await world.delivered(2) == [b"a", b"b"]
    assert world.faults.empty()


async def test_that_kafka_does_not_let_the_log_be_read_is_said_once_until_it_does_again(follow: Follow) -> None:
    class Denied(Consumer):
        def __init__(self, values: list[bytes]) -> None:
            super().__init__(values)
            self._denials = [2, 1]

        def poll(self, seconds: float) -> Message | None:
            if self._denials and self.position == 2 - len(self._denials):
                self._denials[0] -= 1
                if not self._denials[0]:
                    del self._denials[0]
                return Message(0, error=KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
            return super().poll(seconds)

    with capture_logs() as said:
        world = follow(Denied([b"a", b"b"]), [])
        assert await world.delivered(2) == [b"a", b"b"]
    assert [each["event"] for each in said] == ["log_not_read"] * 2
    assert said[0]["hint"] == (
        "kafka-acls.sh --bootstrap-server kafka:9092 --add --allow-principal User:NAME --operation Read --topic topic"
    )
    assert world.faults.empty()


async def test_a_topic_is_gone_where_nobody_knows_it_two_seconds_after_one_said_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, asked = [0.0], []
    says: list[KafkaError | None] = [
        None, KafkaError(KafkaError.LEADER_NOT_AVAILABLE), KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    ]  # fmt: skip

    class Describing(Consumer):
        def list_topics(self, name: str, timeout: float) -> SimpleNamespace:
            asked.append(now[0])
            return SimpleNamespace(topics={name: SimpleNamespace(error=says.pop(0))})

    def wait(seconds: float) -> None:
        now[0] += seconds
        follower._suspect(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        if follower._gone_since is not None:
            follower._look_for_topic(follower._gone_since)

    faults: list[tuple[TopicfoldError, int | None]] = []
    monkeypatch.setattr(kafka_follower, "Consumer", lambda _: Describing([]))
    monkeypatch.setattr(kafka_follower, "time", SimpleNamespace(monotonic=lambda: now[0]))
    follower = KafkaFollower(
        {"bootstrap.servers": "kafka:9092"}, "topic", SAME, KafkaArrivals({0: 0}, print),
        lambda *fault: faults.append(fault),
    )  # fmt: skip
    follower._suspect(KafkaError(KafkaError._TRANSPORT))
    assert follower._gone_since is None
    for _ in range(8):
        wait(1.0)
    await asyncio.sleep(0)
    assert (asked, faults) == ([3.0, 6.0], [])
    wait(1.0)
    await asyncio.sleep(0)
    assert asked == [3.0, 6.0, 9.0]
    [(error, partition)] = faults
    assert isinstance(error, WrongLog)
    assert partition is None


class Lost(Message):
    """The news that Kafka has not what was to be read next of a partition."""

    def __init__(self, partition: int) -> None:
        super().__init__(0, error=KafkaError(KafkaError._AUTO_OFFSET_RESET))
        self._partition = partition

    def partition(self) -> int:
        return self._partition


async def test_a_broker_that_does_not_answer_keeps_the_rest_waiting_for_a_second_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, asked = [0.0], []

    class Silent(Consumer):
        def get_watermark_offsets(self, place: TopicPartition, timeout: float) -> tuple[int, int]:
            asked.append(place.partition)
            now[0] += timeout
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    delivered: list[Entry] = []
    monkeypatch.setattr(kafka_follower, "Consumer", lambda _: Silent([]))
    monkeypatch.setattr(kafka_follower, "time", SimpleNamespace(monotonic=lambda: now[0]))
    positions = dict.fromkeys(range(9), 0)
    arrivals = KafkaArrivals(positions, delivered.extend)
    follower = KafkaFollower(
        {"bootstrap.servers": "kafka:9092"}, "topic", SAME, arrivals,
        lambda *_: pytest.fail("nothing is known to be lost"),
    )  # fmt: skip
    follower._positions = dict(positions)
    follower._hand_out([*map(Lost, range(1, 9)), Message(0, b"a")])  # type: ignore[list-item]
    await asyncio.sleep(0)
    assert (asked, now) == ([1], [1.0])
    assert delivered == [Entry(0, 0, b"a")]
    assert follower._positions == {0: 1} | dict.fromkeys(range(1, 9), 0)


async def test_a_client_that_does_not_return_keeps_nobody_from_stopping(
    follow: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_follower, "_STOP_SECONDS", 0.05)
    consumer = HeldConsumer()
    follower = follow(consumer, []).follower
    assert await asyncio.to_thread(consumer.is_polled.wait, PATIENCE_SECONDS)
    with capture_logs() as logs:
        await asyncio.to_thread(follower.stop)
    assert [each["event"] for each in logs] == ["log_thread_left"]
    assert not consumer.is_closed
    consumer.is_let_go.set()
