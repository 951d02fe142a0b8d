"""What is told of our appends and what is read, brought together: each record once, in order, and the same."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicfold.errors import TopicfoldError, WrongLog
from topicfold.log.kafka import arrivals as kafka_arrivals
from topicfold.log.kafka.arrivals import KafkaArrivals
from topicfold.log.port import Entry


class World:
    """Arrivals of two partitions, and what came of them."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.faults: dict[int, TopicfoldError] = {}
        self.taken = 0
        self.arrivals = KafkaArrivals({0: 0, 1: 0}, self.entries.extend)

    async def told(self, *entries: Entry) -> list[Entry]:
        """Tell of appends, and return all that is delivered then."""
        self.arrivals.told(entries)
        await asyncio.sleep(0)
        return self.entries

    async def read(self, *entries: Entry) -> list[Entry]:
        """Read records, and return all that is delivered then."""
        self.is_new, faults = self.arrivals.read(entries, self.count)
        self.faults |= faults
        await asyncio.sleep(0)
        return self.entries

    def count(self) -> None:
        self.taken += 1


def entries(partition: int, *offsets: int) -> list[Entry]:
    return [Entry(partition, offset, b"%d-%d" % (partition, offset)) for offset in offsets]


async def test_what_is_told_to_come_next_is_delivered_before_it_is_read_and_not_again() -> None:
    world = World()
    assert await world.told(*entries(0, 0, 1)) == entries(0, 0, 1)
    assert await world.read(*entries(0, 0, 1)) == entries(0, 0, 1)
    assert (world.is_new, world.taken, world.faults) == (False, 0, {})


async def test_what_is_told_before_somebody_else_s_record_was_read_waits_for_that() -> None:
    world = World()
    assert await world.told(*entries(0, 1)) == []
    assert await world.read(*entries(0, 0, 1)) == entries(0, 0, 1)
    assert (world.is_new, world.taken) == (True, 1)
    assert await world.told(*entries(0, 2)) == entries(0, 0, 1, 2)


async def test_what_is_told_after_it_was_read_is_known() -> None:
    world = World()
    await world.read(*entries(0, 0))
    assert await world.told(*entries(0, 0)) == entries(0, 0)


async def test_nothing_is_delivered_where_there_is_nothing_new() -> None:
    batches: list[Sequence[Entry]] = []
    arrivals = KafkaArrivals({0: 0}, batches.append)
    arrivals.read(entries(0, 0), lambda: None)
    arrivals.told(entries(0, 0))
    await asyncio.sleep(0)
    arrivals.told(entries(0, 0))
    await asyncio.sleep(0)
    assert batches == [entries(0, 0)]


async def test_another_record_than_was_told_ends_its_partition_and_no_other() -> None:
    world = World()
    await world.told(*entries(0, *range(8)))
    await world.read(*entries(0, *range(7)), Entry(0, 7, b"another"), *entries(1, 0))
    assert {partition: type(fault) for partition, fault in world.faults.items()} == {0: WrongLog}
    assert world.faults[0].reason.startswith("partition 0 holds another record at offset 7 than")
    assert world.faults[0].hint.startswith("If the topic was recreated, it is another log: restore the old one.")
    delivered = [*entries(0, *range(8)), *entries(1, 0, 1)]
    assert await world.read(*entries(0, 8), *entries(1, 1)) == delivered
    assert await world.told(*entries(0, 8)) == delivered


async def test_nothing_is_delivered_of_what_ended() -> None:
    world = World()
    world.arrivals.end(0)
    assert await world.told(*entries(0, 0), *entries(1, 0)) == entries(1, 0)
    world.arrivals.end(None)
    assert await world.told(*entries(1, 1)) == entries(1, 0)


async def test_what_was_taken_before_the_end_is_delivered_but_not_before_the_stop() -> None:
    world = World()
    world.arrivals.told(entries(0, 0))
    world.arrivals.end(None)
    assert await world.told() == entries(0, 0)
    stopped = World()
    stopped.arrivals.read(entries(0, 0), stopped.count)
    stopped.arrivals.told(entries(0, 1))
    stopped.arrivals.stop()
    assert await stopped.read(*entries(0, 1, 2)) == []
    assert stopped.taken == 1


async def test_what_is_told_stands_behind_what_was_read_and_what_was_told_while_that_waited() -> None:
    world = World()
    asyncio.get_running_loop().call_soon(world.arrivals.told, entries(0, 1))
    world.arrivals.read(entries(0, 0), world.count)
    await asyncio.sleep(0)
    assert world.entries == entries(0, 0)
    assert await world.told(*entries(0, 2)) == entries(0, 0, 1, 2)


async def test_what_is_told_while_nothing_waits_is_delivered_at_once_also_after_something_has() -> None:
    world = World()
    world.arrivals.told(entries(0, 0))
    assert world.entries == entries(0, 0)
    world.arrivals.read(entries(0, 0, 1), world.count)
    await world.told(*entries(0, 2))
    world.arrivals.told(entries(0, 3))
    assert world.entries == entries(0, 0, 1, 2, 3)


async def test_a_partition_that_ended_takes_no_room_from_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_arrivals, "MAX_AHEAD", 1)
    world = World()
    await world.told(*entries(0, 0))
    world.arrivals.end(0)
    assert await world.told(*entries(1, 0)) == [*entries(0, 0), *entries(1, 0)]


async def test_what_is_not_read_for_long_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_arrivals, "MAX_AHEAD", 2)
    world = World()
    assert await world.told(*entries(0, 0, 1, 2, 3)) == entries(0, 0, 1)
    assert await world.read(*entries(0, 0, 1)) == entries(0, 0, 1)
    assert await world.told(*entries(0, 2)) == entries(0, 0, 1, 2)


async def test_what_was_delivered_and_trimmed_before_it_was_read_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka_arrivals, "MAX_AHEAD", 4)
    world = World()
    await world.told(*entries(0, 0, 1, 2, 3))
    assert world.arrivals.pass_over(0, 3)
    assert await world.told(*entries(0, 4)) == entries(0, 0, 1, 2, 3, 4)
    await world.read(Entry(0, 3, b"another"))
    assert list(world.faults) == [0]


async def test_what_was_trimmed_and_never_delivered_is_not_passed_over() -> None:
    world = World()
    await world.told(*entries(0, 0, 1))
    assert world.arrivals.pass_over(0, 2)
    assert not world.arrivals.pass_over(0, 3)
    assert not world.arrivals.pass_over(1, 1)
    world.arrivals.end(0)
    assert not world.arrivals.pass_over(0, 1)


async def test_a_rest_ends_when_somebody_waits_for_what_is_to_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_arrivals, "_REST_SECONDS", 60)
    world = World()
    for awaits in (world.arrivals.hurry, lambda: world.arrivals.told(entries(0, 5))):
        resting = threading.Thread(target=world.arrivals.rest, daemon=True)
        resting.start()
        awaits()
        await asyncio.to_thread(resting.join, 30)
        assert not resting.is_alive()


async def test_whoever_waited_once_keeps_nobody_from_resting_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_arrivals, "_REST_SECONDS", 60)
    arrivals = World().arrivals
    arrivals.hurry()
    arrivals.rest()
    resting = threading.Thread(target=arrivals.rest, daemon=True)
    resting.start()
    await asyncio.to_thread(resting.join, 0.1)
    assert resting.is_alive()
    arrivals.hurry()
    await asyncio.to_thread(resting.join, 30)


@given(
    ours=st.lists(st.booleans(), max_size=30),
    steps=st.lists(st.tuples(st.booleans(), st.integers(1, 5), st.booleans()), max_size=40),
)
async def test_however_told_and_read_interleave_each_offset_comes_once_and_in_order(
    ours: list[bool], steps: Sequence[tuple[bool, int, bool]]
) -> None:
    world = World()
    log = entries(0, *range(len(ours)))
    appended = [entry for entry, is_ours in zip(log, ours, strict=True) if is_ours]
    read = told = 0
    for is_told, count, ends_turn in steps:
        if is_told:
            world.arrivals.told(appended[told : told + count])
            told += count
        else:
            world.arrivals.read(log[read : read + count], world.count)
            read += count
        if ends_turn:
            await asyncio.sleep(0)
            assert len(world.entries) >= min(read, len(log))
        assert world.entries == log[: len(world.entries)]
    await world.read(*log[read:])
    assert world.entries == log
    assert world.faults == {}
