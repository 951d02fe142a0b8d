"""A node that started from a snapshot goes on with streams from below it, as one does that folded everything."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.folds import Tables
from tests.compaction.logs import random_values
from tests.memory_log import MemoryStore
from tests.runtime.nodes import Node, WilfulLog, running
from tests.snapshot.making import compacted
from tests.turning import counted_turns
from topicfold.errors import LogUnavailable, NotReady
from topicfold.log.port import Entry
from topicfold.runtime import slices
from topicfold.runtime.watching import window
from topicfold.runtime.watching.window import Seen
from topicfold.snapshot.commits import commit_path
from topicfold.state.fold import PartitionState

PARTITION, LENGTH = 1, 150
CUTS = (40, 90, 130)


@pytest.fixture
async def log(tmp_path: Path) -> tuple[MemoryStore, Tables]:
    """A log with everything in it, and a snapshot with commits at `CUTS` and at its end."""
    store = MemoryStore(partitions=2)
    async with running(store):
        pass
    for value in random_values(random.Random(3).randrange(1000), LENGTH):
        store.append(PARTITION, value)
    end = {0: len(store.entries[0])}
    tables = await compacted(WilfulLog(store), tmp_path / "snapshot", *({**end, PARTITION: cut} for cut in CUTS))
    return store, tables


def seen(node: Node, start: int) -> list[Seen]:
    """Return what the window has from `start` on."""
    namespaces = node.engine.states[PARTITION].namespaces
    return node.engine.watches.window.between(PARTITION, start, 10**6, namespaces)


@pytest.mark.parametrize("start", [0, 17, 40, 41, 89, 90, 149])
async def test_what_happened_below_the_snapshot_is_told_as_it_is_by_who_folded_it(
    log: tuple[MemoryStore, Tables], start: int
) -> None:
    store, tables = log
    async with running(store) as folding, running(store, snapshot=tables.root) as loading:
        await loading.engine.window_refill.reach({PARTITION: start})
        assert not loading.engine.watches.is_too_old({PARTITION: start})
        assert seen(loading, start) == seen(folding, start) != []


async def test_only_what_is_wanted_is_folded_again(log: tuple[MemoryStore, Tables]) -> None:
    store, tables = log
    async with running(store, snapshot=tables.root) as node:
        starts = []
        for position in (tables.commit.to[PARTITION], 95, 92, 89, 3, 50):
            await node.engine.window_refill.reach({PARTITION: position})
            starts.append(node.engine.watches.window.start(PARTITION))
        assert starts == [tables.commit.to[PARTITION], 90, 90, 40, 0, 0]


async def test_who_wants_what_is_there_already_does_not_ask_the_log(
    log: tuple[MemoryStore, Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, tables = log
    async with running(store, snapshot=tables.root) as node:

        async def dead(self: WilfulLog) -> dict[int, int]:
            raise LogUnavailable("its broker is halted")

        monkeypatch.setattr(WilfulLog, "start_offsets", dead)
        end = tables.commit.to[PARTITION]
        await node.engine.window_refill.reach({PARTITION: end})
        with pytest.raises(LogUnavailable):
            await node.engine.window_refill.reach({PARTITION: end - 1})


async def test_who_wants_more_than_what_is_being_folded_for_another_gets_it(log: tuple[MemoryStore, Tables]) -> None:
    store, tables = log
    async with running(store, snapshot=tables.root) as node:
        await asyncio.gather(*(node.engine.window_refill.reach({PARTITION: position}) for position in (95, 50, 3)))
        assert node.engine.watches.window.start(PARTITION) == 0


async def test_what_comes_after_stays_in_its_place(log: tuple[MemoryStore, Tables]) -> None:
    store, tables = log
    async with running(store) as folding, running(store, snapshot=tables.root) as loading:
        for value in random_values(8, 40):
            store.append(PARTITION, value)
        await folding.caught_up()
        await loading.caught_up()
        await loading.engine.window_refill.reach({PARTITION: 0})
        assert seen(loading, 0) == seen(folding, 0)


async def require_unreached(node: Node, tables: Tables) -> None:
    """Require that the window still begins where the snapshot ends, though an earlier position is asked for."""
    await node.engine.window_refill.reach({PARTITION: 100})
    assert node.engine.watches.is_too_old({PARTITION: 100})
    assert node.engine.watches.window.start(PARTITION) == tables.commit.to[PARTITION]


async def test_below_the_windows_size_nothing_is_folded_again(log: tuple[MemoryStore, Tables]) -> None:
    store, tables = log
    async with running(store, snapshot=tables.root, window_size=30) as node:
        await require_unreached(node, tables)
        await node.engine.window_refill.reach({PARTITION: LENGTH - 20})
        assert not node.engine.watches.is_too_old({PARTITION: LENGTH - 20})


async def test_nobody_waits_for_more_than_one_event_of_what_is_folded_again(
    log: tuple[MemoryStore, Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, tables = log
    async with running(store, snapshot=tables.root) as node:
        monkeypatch.setattr(slices, "SLICE_SECONDS", 0.0)
        kept, packed = Counter[int](), window._packed
        async with counted_turns() as turns:

            def counted(*seen: Any) -> Any:
                kept[turns()] += 1
                return packed(*seen)

            monkeypatch.setattr(window, "_packed", counted)
            await node.engine.window_refill.reach({PARTITION: 0})
        assert kept.total() == len(seen(node, 0)) > 1
        assert set(kept.values()) == {1}


async def test_what_somebody_began_who_is_gone_meanwhile_is_there_for_those_who_come_again(
    log: tuple[MemoryStore, Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, tables = log
    async with running(store, snapshot=tables.root) as node:
        base, going_on, loads = node.engine.snapshots.base, asyncio.Event(), 0

        async def slow(partition: int, position: int) -> PartitionState | None:
            nonlocal loads
            loads += 1
            await going_on.wait()
            return await base(partition, position)

        refill = node.engine.window_refill
        monkeypatch.setattr(refill, "_base", slow)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(refill.reach({PARTITION: 50}), 0.01)
        going_on.set()
        await refill.reach({PARTITION: 50})
        assert (node.engine.watches.window.start(PARTITION), loads) == (40, 1)
        await asyncio.gather(*(refill.reach({PARTITION: position}) for position in (45, 30, 3)))
        assert node.engine.watches.window.start(PARTITION) == 0


async def test_an_engine_that_stops_gives_up_what_is_being_folded_and_says_so(
    log: tuple[MemoryStore, Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, tables = log
    is_asked = asyncio.Event()

    async def endless(partition: int, position: int) -> None:
        is_asked.set()
        await asyncio.Event().wait()

    async with running(store, snapshot=tables.root) as node:
        monkeypatch.setattr(node.engine.window_refill, "_base", endless)
        reaching = asyncio.create_task(node.engine.window_refill.reach({PARTITION: 0}))
        await is_asked.wait()
    with pytest.raises(NotReady, match="this node is stopping"):
        await asyncio.wait_for(reaching, 1)


async def test_where_neither_commit_nor_beginning_is_left_the_window_stays_as_it_is(
    log: tuple[MemoryStore, Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, tables = log
    async with running(store, snapshot=tables.root) as node:
        for sequence in (1, 2):
            commit_path(tables.root, sequence).unlink()

        async def start_offsets(self: WilfulLog) -> dict[int, int]:
            return {0: 0, PARTITION: 20}

        monkeypatch.setattr(WilfulLog, "start_offsets", start_offsets)
        await require_unreached(node, tables)
        await node.engine.window_refill.reach({PARTITION: 135})
        assert not node.engine.watches.is_too_old({PARTITION: 135})


@pytest.mark.parametrize("is_known", [True, False], ids=["said", "not said yet"])
async def test_a_commit_whose_tail_the_log_has_lost_is_nothing_to_go_on_from(
    log: tuple[MemoryStore, Tables], monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    store, tables = log
    async with running(store, snapshot=tables.root) as node:
        read, floor = WilfulLog.read, 60

        async def start_offsets(self: WilfulLog) -> dict[int, int]:
            return {0: 0, PARTITION: floor if is_known else 0}

        async def read_trimmed(self: WilfulLog, partition: int, offset: int, limit: int) -> list[Entry]:
            if is_known and offset < floor:
                raise LogUnavailable("as Kafka says it")
            return await read(self, partition, max(offset, floor), limit)

        monkeypatch.setattr(WilfulLog, "start_offsets", start_offsets)
        monkeypatch.setattr(WilfulLog, "read", read_trimmed)
        await node.engine.window_refill.reach({PARTITION: 70})
        assert node.engine.watches.window.start(PARTITION) == tables.commit.to[PARTITION]
        await node.engine.window_refill.reach({PARTITION: 95})
        assert node.engine.watches.window.start(PARTITION) == 90


async def test_of_what_can_be_folded_again_only_in_part_nothing_is_taken(
    log: tuple[MemoryStore, Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, tables = log
    async with running(store, snapshot=tables.root) as node:
        read = WilfulLog.read

        async def read_little(self: WilfulLog, partition: int, offset: int, limit: int) -> list[Entry]:
            return [] if offset > 110 else await read(self, partition, offset, min(limit, 5))

        monkeypatch.setattr(WilfulLog, "read", read_little)
        await require_unreached(node, tables)
