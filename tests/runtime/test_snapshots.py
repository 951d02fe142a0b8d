"""A node goes on from the newest commit that is whole, from the log's beginning where it can, and else not at all."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Semaphore, Thread

import pytest

from tests.compaction.folds import Tables
from tests.memory_log import MemoryLog, MemoryStore
from tests.runtime.histories import labelled
from tests.runtime.nodes import ORDERS, WilfulLog, running, turns
from tests.snapshot.making import compacted, refused_at
from topicfold.errors import (
    LogGap,
    LogUnavailable,
    NotReady,
    Overloaded,
    SnapshotDamaged,
    SnapshotUnreadable,
    UnsafeLog,
    WrongSnapshot,
)
from topicfold.log.port import Entry
from topicfold.model.events import CLIENT_RING, SERVER_RING
from topicfold.model.records import TopicRecord
from topicfold.runtime import engine as engine_module
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.runtime.fair_semaphore import ASKER
from topicfold.runtime.snapshots import MAX_ASKED, MAX_WAITING, Snapshots, Tell
from topicfold.snapshot.commits import MANIFESTS, commit_path
from topicfold.state.fold import PartitionState


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "snapshot"


async def history(store: MemoryStore, root: Path) -> Tables:
    """Write a log, with a snapshot of two commits and a tail behind it."""
    async with running(store) as node:
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        await labelled(node, "a", "b")
        first = await node.log.end_offsets()
        await labelled(node, "c")
        tables = await compacted(WilfulLog(store), root, first)
        await labelled(node, "d", "e")
    return tables


async def grown_again(store: MemoryStore, tables: Tables) -> MemoryStore:
    """Return the log as it is where all behind the first commit was lost and other changes came."""
    restored = MemoryStore(partitions=1)
    for entry in store.entries[0][: tables.commits[0].to[0]]:
        restored.append(0, entry.value)
    async with running(restored, first_id=10**9) as node:
        await labelled(node, *"fghijkl")
    return restored


def damage(tables: Tables, *sequences: int) -> None:
    for sequence in sequences:
        commit_path(tables.root, sequence).write_bytes(b"{}")


def without(store: MemoryStore, floor: int) -> None:
    """Have the log begin at `floor`, with a copy of the header behind."""
    store.append(0, store.entries[0][0].value)
    store.delete_before(0, floor)


async def test_a_node_that_starts_from_a_snapshot_is_like_one_that_folded_everything(
    store: MemoryStore, root: Path
) -> None:
    tables = await history(store, root)
    async with running(store) as folding, running(store, snapshot=root) as loading:
        assert loading.digests() == folding.digests()
        assert loading.labels() == {"team": "e"}
        assert sum(loading.engine.reader.counts.values()) == len(store.entries[0]) - tables.commit.to[0]


async def test_it_goes_on_writing_where_the_log_is(store: MemoryStore, root: Path) -> None:
    await history(store, root)
    async with running(store, snapshot=root) as loading, running(store, first_id=10**9) as folding:
        await labelled(loading, "f")
        await folding.caught_up()
        assert folding.labels() == {"team": "f"}
        assert folding.digests() == loading.digests()


@pytest.mark.parametrize(("damaged", "folds_from"), [((), 2), ((2,), 1), ((2, 1), 0)])
async def test_what_is_damaged_is_passed_over_down_to_the_logs_beginning(
    store: MemoryStore, root: Path, damaged: tuple[int, ...], folds_from: int
) -> None:
    tables = await history(store, root)
    start = [0, *(commit.to[0] for commit in tables.commits)][folds_from]
    damage(tables, *damaged)
    async with running(store, snapshot=root) as node:
        assert sum(node.engine.reader.counts.values()) == len(store.entries[0]) - start
        assert node.labels() == {"team": "e"}


async def test_without_a_snapshot_yet_the_log_is_folded_from_its_beginning(store: MemoryStore, root: Path) -> None:
    async with running(store, snapshot=root) as node:
        assert node.engine.watches.window.start(0) == 0


async def refusal(store: MemoryStore, root: Path | None) -> Exception:
    """Return why a node does not start."""
    rings = {"client_ring": CLIENT_RING, "server_ring": SERVER_RING}
    with pytest.raises((SnapshotDamaged, UnsafeLog, LogGap, WrongSnapshot)) as caught:
        await Engine.start(WilfulLog(store), EngineOptions(snapshot=root, **rings))
    return caught.value


async def test_a_log_without_its_beginning_needs_a_snapshot(store: MemoryStore, root: Path) -> None:
    tables = await history(store, root)
    without(store, tables.commits[0].to[0])
    async with running(store, snapshot=root) as node:
        assert node.labels() == {"team": "e"}
    error = await refusal(store, None)
    assert isinstance(error, UnsafeLog)
    assert "--snapshot DIR" in error.hint
    error = await refusal(store, root / "nothing")
    assert "holds no commit" in error.reason
    assert "from a backup" in error.hint


async def test_a_log_without_its_beginning_and_a_snapshot_without_a_whole_commit_say_both(
    store: MemoryStore, root: Path
) -> None:
    tables = await history(store, root)
    without(store, tables.commits[0].to[0])
    damage(tables, 1, 2)
    error = await refusal(store, root)
    assert isinstance(error, SnapshotDamaged)
    assert "is damaged" in error.reason
    assert "not at 0" in error.reason


async def test_a_log_that_begins_after_the_only_whole_commit_is_refused_with_what_is_damaged(
    store: MemoryStore, root: Path
) -> None:
    tables = await history(store, root)
    without(store, tables.commits[1].to[0])
    damage(tables, 2)
    error = await refusal(store, root)
    assert isinstance(error, LogGap)
    assert f"{commit_path(root, 2)} is damaged" in error.reason
    assert "from a backup" in error.hint


async def test_a_log_that_lost_what_the_snapshot_holds_is_refused(store: MemoryStore, root: Path) -> None:
    tables = await history(store, root)
    del store.entries[0][tables.commit.to[0] - 1 :]
    error = await refusal(store, root)
    assert isinstance(error, LogGap)
    assert "lost records" in error.hint


async def test_a_log_that_lost_what_the_snapshot_holds_and_grew_again_is_refused(
    store: MemoryStore, root: Path
) -> None:
    tables = await history(store, root)
    restored = await grown_again(store, tables)
    assert len(restored.entries[0]) > tables.commit.to[0]
    error = await refusal(restored, root)
    assert isinstance(error, LogGap)
    assert "has another record" in error.reason
    damage(tables, 2)
    async with running(restored, first_id=10**10, snapshot=root) as node:
        assert node.labels() == {"team": "l"}


async def test_what_a_partition_holds_that_was_silent_at_the_start_is_compared_before_it_is_ready(
    store: MemoryStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = await history(store, root)
    log, states = WilfulLog(await grown_again(store, tables)), Snapshots.states

    async def without_asking(self: Snapshots, log: WilfulLog, tell: Tell) -> dict[int, PartitionState]:
        log.silent = {0}
        found = await states(self, log, tell)
        log.silent = set()
        return found

    monkeypatch.setattr(Snapshots, "states", without_asking)
    engine = await Engine.start(log, EngineOptions(snapshot=root))
    try:
        await turns(50)
        with pytest.raises(NotReady, match="has another record"):
            await engine.readiness.wait([0], 5.0)
    finally:
        await engine.stop()


async def test_a_comparison_that_the_log_does_not_answer_is_made_again(
    store: MemoryStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await history(store, root)
    confirm, asked = Snapshots.confirm, list[int]()

    async def unanswered_at_first(self: Snapshots, log: WilfulLog, partition: int) -> None:
        asked.append(partition)
        if len(asked) == 1:
            raise LogUnavailable("no answer")
        await confirm(self, log, partition)

    monkeypatch.setattr(Snapshots, "confirm", unanswered_at_first)
    monkeypatch.setattr(engine_module, "TICK_SECONDS", 0.01)
    async with running(store, snapshot=root):
        assert asked == [0, 0]


async def test_a_log_that_is_trimmed_while_a_node_starts_is_gone_on_from(
    store: MemoryStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = await history(store, root)
    (end,) = tables.commit.to

    async def read(self: WilfulLog, partition: int, offset: int, limit: int) -> list[Entry]:
        if offset == end - 1 and not store.starts[0]:
            without(store, end)
            raise LogUnavailable("out of range")
        return await MemoryLog.read(self, partition, offset, limit)

    monkeypatch.setattr(WilfulLog, "read", read)
    async with running(store, snapshot=root) as node:
        assert store.starts[0] == end
        assert node.labels() == {"team": "e"}


async def test_the_snapshot_of_another_log_is_refused(store: MemoryStore, root: Path) -> None:
    await history(MemoryStore(partitions=1), root)
    async with running(store, first_id=5):
        pass
    assert isinstance(await refusal(store, root), WrongSnapshot)


async def test_an_empty_log_is_not_begun_where_the_snapshot_is_of_one(store: MemoryStore, root: Path) -> None:
    await history(MemoryStore(partitions=1), root)
    error = await refusal(store, root)
    assert isinstance(error, WrongSnapshot)
    assert "is empty" in error.reason
    assert not any(store.entries)


async def test_how_far_a_load_is_can_be_seen(store: MemoryStore, root: Path) -> None:
    await history(store, root)
    told: list[tuple[int, int]] = []
    async with running(store, snapshot=root, tell=lambda done, total: told.append((done, total))):
        pass
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] > 0


async def test_a_file_is_no_snapshot(tmp_path: Path) -> None:
    file = tmp_path / "snapshot"
    file.write_bytes(b"")
    with pytest.raises(SnapshotUnreadable, match="Not a directory"):
        await Engine.start(WilfulLog(MemoryStore()), EngineOptions(snapshot=file))


async def test_a_snapshot_that_may_not_be_read_is_told_and_not_taken_for_none(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "listdir", refused_at(root / MANIFESTS))
    with pytest.raises(SnapshotUnreadable, match=f"{MANIFESTS}: Permission denied") as told:
        await Engine.start(WilfulLog(MemoryStore()), EngineOptions(snapshot=root))
    assert "owner" in told.value.hint


async def test_a_base_that_may_not_be_read_is_none_and_the_node_goes_on(
    store: MemoryStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await history(store, root)
    async with running(store, snapshot=root) as node:
        at = node.engine.states[0].position
        assert await node.engine.snapshots.base(0, at) is not None
        monkeypatch.setattr(os, "listdir", refused_at(root / MANIFESTS))
        assert await node.engine.snapshots.base(0, at) is None


async def test_who_asks_the_archive_too_much_leaves_others_their_turn(store: MemoryStore, root: Path) -> None:
    async with running(store, snapshot=root) as node:
        snapshots, may_answer, order = node.engine.snapshots, Semaphore(0), list[str]()

        def question(asker: str) -> None:
            may_answer.acquire()
            order.append(asker)

        async def ask(asker: str) -> None:
            ASKER.set(asker)
            await snapshots.ask(question, asker)

        asking = [asyncio.create_task(ask("zoe")) for _ in range(MAX_ASKED + MAX_WAITING)]
        await asyncio.sleep(0)
        asking.append(asyncio.create_task(ask("ann")))
        await asyncio.sleep(0)
        may_answer.release(len(asking))
        await asyncio.gather(*asking)
        # Hers is the fourth turn; threads that have theirs answer in any order.
        assert order.index("ann") < MAX_WAITING // 2


async def test_few_ask_the_archive_at_once_and_few_wait(store: MemoryStore, root: Path) -> None:
    async with running(store, snapshot=root) as node:
        snapshots, asked, may_answer = node.engine.snapshots, Semaphore(0), Semaphore(0)

        def question(number: int) -> int:
            asked.release()
            may_answer.acquire()
            return number

        asking = [asyncio.create_task(snapshots.ask(question, n)) for n in range(MAX_ASKED + MAX_WAITING + 1)]
        done, _ = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
        assert [type(each.exception()) for each in done] == [Overloaded]
        for _ in range(MAX_ASKED):
            asked.acquire()
        # Whoever leaves gives nobody else a turn while the thread goes on.
        asking[0].cancel()
        await asyncio.sleep(0.05)
        assert not asked.acquire(blocking=False)
        may_answer.release(len(asking))
        assert await asyncio.gather(*asking[1:-1]) == [*range(1, MAX_ASKED + MAX_WAITING)]


async def test_a_question_for_which_there_is_no_thread_keeps_no_turn(
    store: MemoryStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    async with running(store, snapshot=root) as node:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
        with monkeypatch.context() as patch:
            patch.setattr(Thread, "start", refuse)
            for _ in range(MAX_ASKED):
                with pytest.raises(RuntimeError, match="new thread"):
                    await node.engine.snapshots.ask(int)
        assert await asyncio.wait_for(node.engine.snapshots.ask(int), 5) == 0
