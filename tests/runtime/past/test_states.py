"""The past that is built aside is what the log came to then, wherever it comes from; and it is bounded and kept."""

from __future__ import annotations

import asyncio
import random
import tempfile
import threading
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import empty_state, fold
from tests.compaction.folds import Tables, placed
from tests.memory_log import MemoryLog, MemoryStore
from tests.state.histories import NAMESPACES, PARTITION, PARTITIONS, Log, logs
from topicfold.errors import NotReady, Overloaded, Resync
from topicfold.log.codec import encode_audit, encode_event
from topicfold.log.port import Entry, LogIdentity
from topicfold.model.events import CLIENT_RING, HASH_NAME, SERVER_RING, AuditTrail, partition_of
from topicfold.runtime.fair_semaphore import ASKER
from topicfold.runtime.past.states import MAX_AT_ONCE, Past, PastNamespace, Place
from topicfold.runtime.snapshots import Snapshots
from topicfold.snapshot.archive import Archive
from topicfold.state.fold import PartitionState
from topicfold.text.rfc3339 import brief_time_text

HERE = [each for each in NAMESPACES if partition_of(each, PARTITIONS) == PARTITION]
IDENTITY = LogIdentity(bytes(16), PARTITIONS, HASH_NAME)
SECONDS = 20.0


class TrimmedLog(MemoryLog):
    """A log that no longer holds what lies before `floor`, and can be held up."""

    def __init__(self, log: Log, floor: int = 0) -> None:
        store = MemoryStore(PARTITIONS)
        for event in log:
            store.append(PARTITION, b"garbage" if event is None else encode_event(event))
        super().__init__(store)
        self.floor = floor
        self.reads = 0
        self.answers = asyncio.Event()
        self.answers.set()

    async def start_offsets(self) -> Mapping[int, int]:
        return {**await super().start_offsets(), PARTITION: self.floor}

    async def read(self, partition: int, offset: int, limit: int) -> list[Entry]:
        self.reads += 1
        await self.answers.wait()
        return await super().read(partition, max(offset, self.floor), limit)


def new_state(partition: int) -> PartitionState:
    return empty_state(partition, PARTITIONS, client_ring=CLIENT_RING, server_ring=SERVER_RING)


def past_of(log: MemoryLog, root: Path | None = None, max_events: int = 1_000) -> Past:
    snapshots = Snapshots(root, IDENTITY, new_state)
    return Past(log, IDENTITY, snapshots, new_state, separator="__", max_events=max_events)


def compacted(log: Log, root: Path, cuts: Sequence[int] = ()) -> Tables:
    """Write a snapshot of `log`, a commit at each of these places and one at its end."""
    tables = Tables(root, PARTITIONS)
    for start, end in pairwise(sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})):
        tables.take(placed(PARTITION, log[start:end], start))
    return tables


def timed(log: Log, times: Sequence[int]) -> Log:
    """Return the first events of `log`, as if they were written at these times."""
    return [
        event and event._replace(audit=encode_audit(AuditTrail((), time_ms, -1)))
        for event, time_ms in zip(log, times, strict=False)
    ]


async def at(past: Past, position: int) -> Mapping[Place, PastNamespace]:
    places = [(name, position) for name in HERE]
    return await past.namespaces(places, asyncio.get_running_loop().time() + SECONDS)


def topics_in(found: Mapping[Place, PastNamespace]) -> dict[str, object]:
    """Return all that is shown of the topics of namespaces, and which lives these had."""
    return {
        name: (namespace.incarnation, {
            key: namespace.table.shown(number) for key, number in namespace.table.numbers.items()
            if number in namespace.table.live
        })
        for (name, _), namespace in found.items() if namespace.table is not None
    }  # fmt: skip


def folded(log: Log, position: int) -> dict[str, object]:
    state = new_state(PARTITION)
    fold(state, log[:position])
    return topics_in(
        {(name, position): PastNamespace(state.namespaces[name].incarnation, state.topics.get(name))
         for name in HERE if name in state.namespaces}
    )  # fmt: skip


@given(logs, st.lists(st.integers(0, 60), max_size=3), st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_the_past_is_the_fold_of_what_was_there_then(log: Log, cuts: list[int], chance: random.Random) -> None:
    async def looked() -> None:
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            compacted(log, root, cuts)
            # From commits and what lies behind them; from the log alone; from the table of history alone.
            ways = [
                past_of(TrimmedLog(log), root),
                past_of(TrimmedLog(log)),
                past_of(TrimmedLog(log, floor=len(log)), root),
                past_of(TrimmedLog(log), root, max_events=0),
            ]
            for position in [chance.randint(0, len(log)) for _ in range(2)]:
                for past in ways:
                    assert topics_in(await at(past, position)) == folded(log, position)
            for past in ways:
                await past.close()

    asyncio.run(looked())


def some_log() -> Log:
    """Return a log of a namespace and topics in it."""
    from tests.builders import an_id, namespace_put, topic_put

    name = HERE[0]
    return [
        namespace_put(1, name=name),
        *(topic_put(n, an_id(1), name=f"persistent://{name}/t{n}") for n in range(2, 12)),
    ]


async def test_what_neither_log_nor_history_holds_is_refused(tmp_path: Path) -> None:
    log = some_log()
    compacted(log[:6], tmp_path)
    past = past_of(TrimmedLog(log, floor=8), tmp_path)
    assert topics_in(await at(past, 5)) == folded(log, 5)
    with pytest.raises(Resync) as caught:
        await at(past, 9)
    assert caught.value.reason == (
        f"partition {PARTITION} of the log begins at offset 8 now, and the newest commit up to there ends at 6"
    )
    assert "`topicfold doctor`" in caught.value.hint
    assert "--snapshot DIR" not in caught.value.hint
    with pytest.raises(Resync, match=f"^partition {PARTITION} of the log begins at offset 8 now$") as caught:
        await at(past_of(TrimmedLog(log, floor=8), max_events=5), 9)
    assert "--snapshot DIR" in caught.value.hint
    assert "TOPICFOLD_PAST_MAX_EVENTS" not in caught.value.hint


async def test_a_partition_that_rests_keeps_no_other_from_its_own_newest_commit(tmp_path: Path) -> None:
    log = some_log()
    elsewhere = next(
        name for name in map("public/n{}".format, range(99)) if partition_of(name, PARTITIONS) != PARTITION
    )
    resting = partition_of(elsewhere, PARTITIONS)
    tables = Tables(tmp_path, PARTITIONS)
    tables.take([*placed(PARTITION, log[:6]), *placed(resting, [None, None])])
    tables.take(placed(PARTITION, log[6:9], 6))
    trimmed = TrimmedLog(log, floor=8)
    for _ in range(2):
        trimmed.append(resting, b"garbage", print)
    past = past_of(trimmed, tmp_path)
    # Every commit is beyond what is asked of the partition that rests.
    places = [(HERE[0], 11), (elsewhere, 1)]
    found = await past.namespaces(places, asyncio.get_running_loop().time() + SECONDS)
    assert topics_in(found) == folded(log, 11)
    await past.close()


@pytest.mark.parametrize(("stood_back", "floor"), [(2, 7), (6, 7), (8, 10), (9, 7)])
async def test_a_clock_that_stood_back_once_moves_no_time_of_before_the_trim(
    tmp_path: Path, stood_back: int, floor: int
) -> None:
    times = [(at + 1) * 10 for at in range(10)]
    times[stood_back] = 1
    log = timed(some_log(), times)
    compacted(log, tmp_path, [4])
    past = past_of(TrimmedLog(log, floor=floor), tmp_path)
    assert [await past.position_at(PARTITION, time_ms) for time_ms in (5, 10, 55)] == [0, 1, 5]
    assert await past.known_since(PARTITION) == brief_time_text(10)


@pytest.mark.parametrize(("ahead_ms", "behind"), [(0, [None]), (0, [None] * 3), (25, [])])
async def test_a_time_right_behind_the_trim_is_not_taken_for_one_of_before(
    tmp_path: Path, ahead_ms: int, behind: Log
) -> None:
    """The last that the table of history has is no event, or by a clock that is a little ahead."""
    times = [(at + 1) * 10 for at in range(10)]
    times[5] += ahead_ms
    events = timed(some_log(), times)
    log = [*events[:6], *behind, *events[6:]]
    floor = 6 + len(behind)
    compacted(log[:floor], tmp_path)
    past = past_of(TrimmedLog(log, floor=floor), tmp_path)
    assert await past.position_at(PARTITION, times[7]) == floor + 2
    assert await past.position_at(PARTITION, times[2]) == 3


async def test_without_a_snapshot_no_more_is_folded_than_may_be() -> None:
    log = some_log()
    past = past_of(TrimmedLog(log), max_events=5)
    assert topics_in(await at(past, 5)) == folded(log, 5)
    with pytest.raises(Resync, match="6 events would have to be folded, and 5 may be") as caught:
        await at(past, 6)
    assert "--snapshot DIR" in caught.value.hint
    assert "TOPICFOLD_PAST_MAX_EVENTS" in caught.value.hint


async def test_of_what_may_be_folded_only_that_behind_the_newest_commit_counts(tmp_path: Path) -> None:
    log = some_log()
    compacted(log[:6], tmp_path)
    past = past_of(TrimmedLog(log), tmp_path, max_events=3)
    assert topics_in(await at(past, 9)) == folded(log, 9)
    with pytest.raises(Resync, match="4 events would have to be folded, and 3 may be"):
        await at(past, 10)


async def test_a_history_that_cannot_be_read_is_told_and_is_no_defect(tmp_path: Path) -> None:
    log = some_log()
    compacted(log, tmp_path)
    for path in (tmp_path / "history").glob("*.parquet"):
        path.write_bytes(b"nothing")
    with pytest.raises(Resync, match="history cannot be read"):
        await at(past_of(TrimmedLog(log, floor=len(log)), tmp_path), 5)


async def test_too_many_questions_to_the_table_of_history_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.runtime.snapshots.MAX_WAITING", 0)
    log = some_log()
    compacted(log, tmp_path)
    past = past_of(TrimmedLog(log, floor=len(log)), tmp_path)
    for asking in (past.position_at(PARTITION, 1), past.known_since(PARTITION), at(past, 5)):
        with pytest.raises(Overloaded, match="other queries of the past are already waiting"):
            await asking


async def test_a_table_of_history_that_does_not_answer_leaves_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, log = threading.Event(), some_log()
    compacted(log, tmp_path)
    monkeypatch.setattr("topicfold.runtime.past.states.ARCHIVE_SECONDS", 0.01)
    for question in ("ends", "first_time_ms"):
        monkeypatch.setattr(Archive, question, lambda *_: answers.wait(10))
    past = past_of(TrimmedLog(log, floor=len(log)), tmp_path)
    with pytest.raises(Resync, match="the snapshot's history did not answer within 0 s"):
        await past.position_at(PARTITION, 1)
    assert await past.known_since(PARTITION) == ""
    answers.set()


async def test_what_was_built_is_kept_for_the_next_page() -> None:
    log = TrimmedLog(some_log())
    past = past_of(log)
    first, reads = await at(past, 7), log.reads
    assert (await at(past, 7)) == first
    assert log.reads == reads
    await past.close()
    await at(past, 7)
    assert log.reads > reads


async def test_only_so_many_topics_are_kept_beside_those_of_the_last_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.runtime.past.states.MAX_KEPT_TOPICS", 12)
    log = TrimmedLog(some_log())
    past = past_of(log)
    for position, kept in ((5, [5]), (7, [5, 7]), (9, [9]), (2, [9, 2])):
        await at(past, position)
        assert [place[1] for place in past._kept if place[0] == HERE[0]] == kept
    await past.close()
    assert (past._kept, past._forgetting) == ({}, {})


async def test_of_many_small_namespaces_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.runtime.past.states.MAX_KEPT", 2 * len(HERE))
    past = past_of(TrimmedLog(some_log()))
    for position in (5, 6, 7, 5, 8):
        await at(past, position)
    assert {place[1] for place in past._kept} == {5, 8}
    await past.close()


async def test_questions_that_cannot_be_answered_take_no_turns_from_others() -> None:
    log = TrimmedLog(some_log(), floor=3)
    past = past_of(log)
    for position in range(3, 6 + MAX_AT_ONCE):
        with pytest.raises(Resync):
            await at(past, position)
    log.floor = 0
    assert topics_in(await at(past, 7)) == folded(some_log(), 7)
    await past.close()


async def test_the_same_question_at_the_same_time_is_made_once_and_others_must_wait() -> None:
    log = TrimmedLog(some_log())
    past = past_of(log)
    log.answers.clear()
    asking = [asyncio.create_task(at(past, position)) for position in (5, 5, 6, 7, 7)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded, match="for other queries"):
        await past.namespaces([(HERE[0], 8)], asyncio.get_running_loop().time() + 0.01)
    log.answers.set()
    one, other, _, late, later = await asyncio.gather(*asking)
    assert one == other
    assert late == later
    assert topics_in(late) == folded(some_log(), 7)
    await past.close()


async def test_who_asks_for_one_past_waits_for_one_of_who_asks_for_many() -> None:
    log = TrimmedLog(some_log())
    past, told = past_of(log), list[int]()

    async def ask(asker: str, position: int) -> None:
        ASKER.set(asker)
        await at(past, position)
        told.append(position)

    log.answers.clear()
    asking = [asyncio.create_task(ask("zoe", position)) for position in range(3, 10)]
    await asyncio.sleep(0)
    asking.append(asyncio.create_task(ask("ann", 11)))
    await asyncio.sleep(0)
    log.answers.set()
    await asyncio.gather(*asking)
    assert 11 in told[:4]
    await past.close()


async def test_who_cannot_wait_is_told_to_ask_again_and_finds_it_made() -> None:
    log = TrimmedLog(some_log())
    past = past_of(log)
    log.answers.clear()
    with pytest.raises(Overloaded, match="still being built"):
        await past.namespaces([(HERE[0], 7)], asyncio.get_running_loop().time() + 0.01)
    reads = log.reads
    log.answers.set()
    assert topics_in(await past.namespaces([(HERE[0], 7)], asyncio.get_running_loop().time() + SECONDS))
    assert log.reads == reads
    await past.close()


async def test_who_waits_when_it_is_closed_is_told_so_and_who_has_left_is_not() -> None:
    log = TrimmedLog(some_log())
    past = past_of(log)
    log.answers.clear()
    staying, leaving = (asyncio.create_task(at(past, position)) for position in (5, 6))
    await asyncio.sleep(0)
    leaving.cancel()
    await past.close()
    with pytest.raises(NotReady):
        await staying
    with pytest.raises(asyncio.CancelledError):
        await leaving
