"""A node that the log was trimmed beyond stops there: to be started anew from a snapshot, or with a way out said."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.histories import labelled
from tests.runtime.nodes import ORDERS, Node, held_up, running, turns
from tests.snapshot.making import compacted_further
from topicfold.errors import LogGap, LogUnavailable, NotReady, OutcomeUnknown
from topicfold.log.identity import restate_identity
from topicfold.model.records import TopicRecord
from topicfold.runtime import left_behind


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "snapshot"


async def slept(sleeper: Node, waking: Node, root: Path) -> int:
    """Let one node sleep while the log is compacted and trimmed beyond it; return where the log begins then."""
    await waking.writing.create_topic(ORDERS, TopicRecord(), waking.asked())
    await sleeper.caught_up()
    sleeper.log.pause()
    await labelled(waking, "a", "b", "c")
    floor = (await compacted_further(waking.log, root)).to[0]
    await labelled(waking, "d")
    await restate_identity(waking.log, waking.engine.identity, 0)
    await waking.log.delete_before(0, floor)
    sleeper.log.resume()
    await turns(5)
    return floor


async def test_with_a_snapshot_it_is_to_be_started_anew_and_then_agrees(store: MemoryStore, root: Path) -> None:
    async with running(store) as waking:
        async with running(store, first_id=10**6, snapshot=root) as sleeper:
            await slept(sleeper, waking, root)
            await asyncio.wait_for(sleeper.engine.left_behind.wait(), 5)
            assert not sleeper.engine.readiness.is_ready(0)
        async with running(store, first_id=10**9, snapshot=root) as anew:
            assert anew.labels() == {"team": "d"}
            await waking.caught_up()
            assert anew.digests() == waking.digests()


async def test_whoever_waits_in_a_partition_that_has_stopped_can_be_told_so_before_their_time_is_up(
    store: MemoryStore,
) -> None:
    async with running(store) as node:
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        engine, position = node.engine, node.engine.states[0].position
        node.log.fate = node.log.lose
        changing = asyncio.create_task(node.label(60, team="pay"))
        reading = asyncio.create_task(engine.tracker.wait_for(0, position + 1, position, None))
        elsewhere = asyncio.create_task(engine.tracker.wait_for(1, 1, 0, None))
        await turns(5)
        engine.reader.stop(LogGap("trimmed"), 0)
        engine.give_up_stopped()
        with pytest.raises(OutcomeUnknown):
            await asyncio.wait_for(changing, 1)
        with pytest.raises(NotReady):
            await asyncio.wait_for(reading, 1)
        with pytest.raises(NotReady):
            await asyncio.wait_for(engine.tracker.wait_for(0, position + 1, position, None), 1)
        with pytest.raises(NotReady):
            await asyncio.wait_for(node.label(60, team="sales"), 1)
        assert not elsewhere.done()
        elsewhere.cancel()


async def test_that_one_partition_has_stopped_while_a_node_starts_keeps_no_other_from_becoming_ready() -> None:
    store = MemoryStore(partitions=4)
    async with running(store):
        pass
    async with held_up(store) as node:
        engine = node.engine
        # One where nothing is made that exists from the first start on.
        stopped = min(engine.states.keys() - {engine.partition("public"), engine.partition("public/default")})
        others = sorted(engine.states.keys() - {stopped})
        await turns(20)
        engine.reader.stop(LogGap("trimmed"), stopped)
        engine.give_up_stopped()
        node.log.resume()
        await asyncio.wait_for(engine.readiness.wait(others, None), 5)
        assert [each for each in engine.states if engine.readiness.can_be_read(each)] == others
        assert engine.readiness.reason(stopped) == f"partition {stopped} has stopped: trimmed"


async def test_a_gap_that_comes_while_the_node_stops_is_not_looked_into(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(store) as node:
        close, on_fault = node.log.close, node.engine.left_behind.on_fault

        async def close_upon_a_gap() -> None:
            on_fault(LogGap("offsets are missing", partition=0, expected=9, found=11), 0)
            await close()

        monkeypatch.setattr(node.log, "close", close_upon_a_gap)
    await turns()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_gap_that_is_being_looked_into_when_the_node_stops_is_left_as_it_is(store: MemoryStore) -> None:
    is_asked = asyncio.Event()

    async def ask_for_ever() -> Mapping[int, int]:
        is_asked.set()
        await asyncio.Event().wait()
        return {}

    async with running(store) as node:
        node.log.start_offsets = ask_for_ever  # type: ignore[method-assign]
        node.engine.left_behind.on_fault(LogGap("offsets are missing", partition=0, expected=9, found=11), 0)
        await is_asked.wait()
    await turns()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_without_a_snapshot_it_is_not_ready_and_says_what_to_do(store: MemoryStore, root: Path) -> None:
    async with running(store) as waking, running(store, first_id=10**6) as sleeper:
        floor = await slept(sleeper, waking, root)
        position = sleeper.engine.states[0].position
        assert not sleeper.engine.readiness.is_ready(0)
        reason = sleeper.engine.readiness.reason(0)
        assert f"begins at offset {floor}: the records from {position} on were trimmed" in reason
        assert "--snapshot DIR" in reason
        with pytest.raises((asyncio.TimeoutError, TimeoutError)):
            await asyncio.wait_for(sleeper.engine.left_behind.wait(), 0.01)


async def test_what_was_folded_stays_as_it_was_and_nothing_is_jumped(store: MemoryStore, root: Path) -> None:
    async with running(store) as waking, running(store, first_id=10**6, snapshot=root) as sleeper:
        await slept(sleeper, waking, root)
        before = sleeper.engine.states[0].position, sleeper.digests()
        await labelled(waking, "e")
        await turns(5)
        assert (sleeper.engine.states[0].position, sleeper.digests()) == before


async def test_a_gap_that_no_trim_made_only_stops_the_partition(store: MemoryStore, root: Path) -> None:
    async with running(store, snapshot=root) as node:
        node.engine.left_behind.on_fault(LogGap("offsets are missing", partition=0, expected=9, found=11), 0)
        await turns(5)
        assert node.engine.readiness.reason(0) == "partition 0 has stopped: offsets are missing"
        assert not node.engine.left_behind._must_start_anew.is_set()


async def test_of_a_log_that_ends_before_what_was_folded_it_is_said_that_it_lost_records(
    store: MemoryStore, root: Path
) -> None:
    async with running(store, snapshot=root) as node:
        position = node.engine.states[0].position
        store.entries[0].clear()
        gone = LogGap("Kafka no longer has the records to continue with", hint="Start from a newer snapshot.")
        node.engine.left_behind.on_fault(gone, 0)
        await turns(5)
        fault = node.engine.reader.faults[0]
        assert fault.reason == f"partition 0 ends at 0, before {position}"
        assert fault.hint.startswith(
            "The log has lost records, or is an older copy. If there is no newer one, let this"
        )
        assert not node.engine.left_behind._must_start_anew.is_set()


async def test_a_log_that_cannot_say_where_it_begins_is_asked_again(
    store: MemoryStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left_behind, "LOOK_AGAIN_SECONDS", 0.01)
    async with running(store) as waking, running(store, first_id=10**6, snapshot=root) as sleeper:

        async def away() -> Mapping[int, int]:
            raise LogUnavailable("away")

        with monkeypatch.context() as patch:
            patch.setattr(sleeper.log, "start_offsets", away)
            await slept(sleeper, waking, root)
        await asyncio.wait_for(sleeper.engine.left_behind.wait(), 5)
