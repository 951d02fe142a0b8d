"""I12: the log loses what two verified commits stand for, and nothing else; where they do not, it loses nothing."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.logs import PARTITION, append, random_values, replayed, settings_of
from tests.runtime.nodes import ORDERS, running
from tests.snapshot.making import compacted_further, miscompacted
from topicfold.compaction import trim as trim_module
from topicfold.compaction import verified
from topicfold.compaction.trim import HEADER_EVERY, Plan, Trimming, trim
from topicfold.compaction.vacuum import vacuum
from topicfold.errors import LogGap, LogUnavailable, SnapshotDamaged, TrimRefused, UnsafeLog, WrongSnapshot
from topicfold.log.identity import identity_in, recognise_identity, restate_identity
from topicfold.log.memory import MemoryLog, MemoryStore
from topicfold.log.sqlite import SqliteLog
from topicfold.model.events import CLIENT_RING, SERVER_RING
from topicfold.model.names import parse_topic
from topicfold.model.records import TopicRecord
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.settings import Settings
from topicfold.snapshot.commits import MANIFESTS, Commit, put_commit, read_commit, sequences
from topicfold.snapshot.trim_note import NOTE, read_note
from topicfold.starting import open_log

BATCH = 40


@pytest.fixture(params=["sqlite", pytest.param("kafka", marks=pytest.mark.kafka)])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """A log of two partitions that is not made yet."""
    if request.param == "sqlite":
        return settings_of(log_file=tmp_path / "log.db")
    return settings_of(kafka_bootstrap=request.getfixturevalue("kafka_bootstrap"), kafka_topic=f"t-{uuid.uuid4().hex}")


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Settings:
    return settings_of(log_file=tmp_path / "log.db")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "snapshot"


def grow(settings: Settings, root: Path, batches: int = 3, seed: int = 1) -> list[list[bytes]]:
    """Write a log in batches, and a commit after each; return for each what a full fold comes to."""
    values, digests = random_values(seed, BATCH * batches), []
    for number in range(batches):
        append(settings, values[number * BATCH : (number + 1) * BATCH])
        compact(settings, root)
        digests.append([state.digest() for state in replayed(settings)])
    return digests


def compact(settings: Settings, root: Path) -> Commit:
    return asyncio.run(_compact(settings, root))


async def _compact(settings: Settings, root: Path) -> Commit:
    log = await open_log(settings)
    try:
        return await compacted_further(log, root)
    finally:
        await log.close()


def bounds(settings: Settings) -> tuple[Mapping[int, int], Mapping[int, int]]:
    """Return where the log begins and ends."""
    return asyncio.run(_bounds(settings))


async def _bounds(settings: Settings) -> tuple[Mapping[int, int], Mapping[int, int]]:
    log = await open_log(settings)
    try:
        return await log.start_offsets(), await log.end_offsets()
    finally:
        await log.close()


def trimmed(settings: Settings, root: Path, grace_seconds: float = 0, *, only_plans: bool = False) -> Plan:
    return trim(settings, root, grace_seconds, lambda text: None, only_plans=only_plans)


def started(settings: Settings, root: Path | None) -> list[bytes]:
    """Return the digests that a node has once it has started."""
    return asyncio.run(_started(settings, root))


async def _started(settings: Settings, root: Path | None) -> list[bytes]:
    log = await open_log(settings)
    try:
        engine = await Engine.start(log, EngineOptions(snapshot=root, digest_within_seconds=0))
    except BaseException:
        await log.close()
        raise
    try:
        await engine.readiness.wait(engine.states, 30)
        return [state.digest() for state in engine.states.values()]
    finally:
        await engine.stop()


def manifest(root: Path, sequence: int) -> Path:
    return root / MANIFESTS / f"{sequence:012}.json"


def test_what_lies_below_the_second_newest_commit_goes_and_two_commits_start_a_node(
    settings: Settings, root: Path
) -> None:
    grow(settings, root)
    whole = started(settings, None)
    newest, second = (read_commit(root, number) for number in sequences(root)[:2])
    plan = trimmed(settings, root)
    assert (plan.newest, plan.second) == (newest, second)
    assert bounds(settings)[0] == dict(enumerate(second.to))
    assert started(settings, root) == whole
    manifest(root, newest.sequence).write_bytes(b"damaged")
    assert started(settings, root) == whole
    with pytest.raises(UnsafeLog, match="no snapshot is named") as caught:
        started(settings, None)
    assert "--snapshot DIR" in caught.value.hint


def test_trimming_again_and_again_behind_the_job_leaves_the_fold_as_it_is(settings: Settings, root: Path) -> None:
    values = random_values(2, BATCH * 6)
    beside = settings_of(log_file=root.parent / "beside.db")
    for number in range(6):
        batch = values[number * BATCH : (number + 1) * BATCH]
        append(settings, batch)
        append(beside, batch)
        compact(settings, root)
        if number:
            trimmed(settings, root)
    starts, ends = bounds(settings)
    assert starts[PARTITION] > 4 * BATCH
    assert started(settings, root) == started(beside, None)
    # A copy of the header was appended where it was needed, and only there.
    assert ends[PARTITION] < len(values) + 1 + 6


def test_an_idle_log_stops_growing_whoever_compacts_and_trims_it(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    ends = []
    for _ in range(8):
        compact(on_sqlite, root)
        trimmed(on_sqlite, root)
        ends.append(bounds(on_sqlite)[1])
    assert ends[3:] == [ends[-1]] * 5


def test_a_dry_run_says_what_would_go_and_deletes_nothing(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    before = bounds(on_sqlite)
    plan = trimmed(on_sqlite, root, only_plans=True)
    assert plan.records == sum(plan.second.to)
    assert bounds(on_sqlite) == before
    assert not (root / NOTE).exists()


def test_what_is_younger_than_the_grace_stays(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    before = bounds(on_sqlite)
    plan = trimmed(on_sqlite, root, 3_600)
    assert (plan.below, plan.records, bounds(on_sqlite)) == (None, 0, before)


def test_what_is_left_counts_the_copies_of_the_header(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    plan = trimmed(on_sqlite, root)
    assert {span.partition: span.end for span in plan.spans} == bounds(on_sqlite)[1]


def test_a_dry_run_forecasts_what_is_left_with_the_copies_of_the_header(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    for _ in range(3):
        compact(on_sqlite, root)
        forecast = trimmed(on_sqlite, root, only_plans=True)
        assert trimmed(on_sqlite, root).spans == forecast.spans


def test_trimming_twice_does_nothing_the_second_time(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    trimmed(on_sqlite, root)
    after = bounds(on_sqlite)
    assert trimmed(on_sqlite, root).records == 0
    assert bounds(on_sqlite) == after


def test_a_commit_that_was_verified_before_is_not_folded_again(
    on_sqlite: Settings, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(on_sqlite, root)
    trimmed(on_sqlite, root)
    monkeypatch.setattr(verified, "refold", None)
    monkeypatch.setattr(verified, "restore", None)
    assert trimmed(on_sqlite, root).records == 0


@pytest.mark.parametrize(("batches", "holds"), [(0, "holds none at all"), (1, "holds 1, of 1 in all")])
def test_without_two_commits_nothing_goes(on_sqlite: Settings, root: Path, batches: int, holds: str) -> None:
    append(on_sqlite, random_values(1, BATCH))
    grow(on_sqlite, root, batches)
    with pytest.raises(TrimRefused, match=holds) as caught:
        trimmed(on_sqlite, root)
    assert "topicfold compact" in caught.value.hint
    assert set(bounds(on_sqlite)[0].values()) == {0}


def test_a_log_whose_beginning_something_else_deleted_is_not_trimmed(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    second = read_commit(root, sequences(root)[1])
    for partition, to in enumerate(second.to):
        asyncio.run(_delete_but_a_header(on_sqlite, partition, to))
    before = bounds(on_sqlite)
    with pytest.raises(TrimRefused, match="holds 1, of 3 in all") as caught:
        trimmed(on_sqlite, root)
    assert "something else than trimming deleted it" in caught.value.hint
    assert bounds(on_sqlite) == before


async def _delete_but_a_header(settings: Settings, partition: int, offset: int) -> None:
    log = await open_log(settings)
    try:
        await restate_identity(log, await recognise_identity(log), partition)
        await log.delete_before(partition, offset)
    finally:
        await log.close()


@pytest.mark.parametrize("place", [0, 1])
def test_a_commit_that_the_engine_does_not_come_to_keeps_everything(
    on_sqlite: Settings, root: Path, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(on_sqlite, root)
    commit = read_commit(root, sequences(root)[place])
    manifest(root, commit.sequence).unlink()
    # Its files are said to be whole and to come to this digest: only folding tells otherwise.
    put_commit(root, replace(commit, digests=("00" * 16, *commit.digests[1:])))
    monkeypatch.setattr("topicfold.snapshot.loading._require_same", lambda commit, states: None)
    with pytest.raises(TrimRefused, match=f"commit {commit.sequence} is not what the engine comes to: partition 0"):
        trimmed(on_sqlite, root)
    assert set(bounds(on_sqlite)[0].values()) == {0}
    assert not (root / NOTE).exists()


@pytest.mark.parametrize("following", [0, 1, 2, 5])
async def test_a_wrong_commit_keeps_everything_however_many_were_folded_on_from_it(root: Path, following: int) -> None:
    store = MemoryStore(partitions=1)
    async with running(store) as node:
        await node.writing.create_topic(parse_topic("other"), TopicRecord(labels={"team": "pay"}), node.asked())
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        await miscompacted(store, root, b"pay", b"pax")
        for number in range(following):
            await node.label(k=str(number))
            await compacted_further(node.log, root)
    trimming = await trimming_of(store, root)
    with pytest.raises(TrimRefused):
        await trimming.plan(None)


async def test_what_was_not_verified_yet_is_folded_from_the_newest_that_was(root: Path) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root)
    trimming = await trimming_of(store, root)
    await trim_and_vacuum(trimming, root, 1_000)
    await aged_further(store, root, 6)
    vacuum(root, keep=2, min_age_seconds=-1)
    told: list[str] = []
    again = Trimming(MemoryLog(store), await recognise_identity(MemoryLog(store)), root, Settings(), told.append)
    plan = await again.plan(None)
    assert [plan.newest.sequence, plan.second.sequence] == [9, 8]
    (start,) = read_commit(root, 3).to
    assert told == [
        "loading commit 3",
        f"folding partition 0 from {start} to {plan.second.to[0]}, for commit 8",
        "loading commit 8",
        f"folding partition 0 from {plan.second.to[0]} to {plan.newest.to[0]}, for commit 9",
        "loading commit 9",
    ]


async def test_a_note_that_is_lost_has_more_folded_and_no_more_deleted(root: Path) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root, 5)
    trimming = await trimming_of(store, root)
    await trimming.carry_out(await trimming.plan(2_000))
    before = store.starts[0]
    (root / NOTE).unlink()
    told: list[str] = []
    again = Trimming(MemoryLog(store), await recognise_identity(MemoryLog(store)), root, Settings(), told.append)
    plan = await again.plan(2_000)
    assert [plan.newest.sequence, plan.second.sequence, plan.records] == [5, 4, 0]
    assert store.starts[0] == before
    assert told[:2] == ["loading commit 2", f"folding partition 0 from {before} to {plan.second.to[0]}, for commit 4"]


def test_the_snapshot_of_another_log_trims_nothing(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    for number in sequences(root):
        commit = read_commit(root, number)
        manifest(root, number).unlink()
        put_commit(root, replace(commit, incarnation="ab" * 16))
    with pytest.raises(WrongSnapshot, match="is of the log"):
        trimmed(on_sqlite, root)
    assert set(bounds(on_sqlite)[0].values()) == {0}


async def test_a_log_that_lost_its_end_is_not_trimmed(root: Path) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root)
    del store.entries[0][-3:]
    trimming = await trimming_of(store, root)
    with pytest.raises(LogGap, match=f"ends at {len(store.entries[0])}, before"):
        await trimming.plan(None)


@pytest.mark.parametrize("grows_by", [BATCH, 3 * BATCH])
def test_a_log_that_lost_its_end_and_grew_again_is_not_trimmed_by_commits_that_were_verified_before(
    on_sqlite: Settings, root: Path, grows_by: int
) -> None:
    grow(on_sqlite, root)
    trimmed(on_sqlite, root)
    restored = settings_of(log_file=root.parent / "restored.db")
    append(restored, [*random_values(1, 3 * BATCH)[: BATCH + 5], *random_values(2, 3 * BATCH)])
    for _ in range(2):
        with pytest.raises(LogGap, match="has another record at offset"):
            trimmed(restored, root)
        assert set(bounds(restored)[0].values()) == {0}
        # Also where the job went on from there, as one may that ran all the time.
        append(restored, random_values(3, grows_by))
        compact(restored, root)


def test_a_damaged_commit_does_not_count(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    newest, second, third = (read_commit(root, number) for number in sequences(root))
    own = next(each for each in newest.files if each not in second.files + third.files)
    (root / own.path).write_bytes(b"damaged")
    plan = trimmed(on_sqlite, root)
    assert (plan.newest, plan.second) == (second, third)
    assert [each.values["sequence"] for each in plan.damaged] == [newest.sequence]
    assert bounds(on_sqlite)[0] == dict(enumerate(third.to))


def test_with_one_whole_commit_nothing_goes_and_the_damage_is_said(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root, 2)
    manifest(root, sequences(root)[0]).write_bytes(b"damaged")
    with pytest.raises(TrimRefused) as caught:
        trimmed(on_sqlite, root)
    assert "is damaged" in caught.value.hint
    assert set(bounds(on_sqlite)[0].values()) == {0}


def test_where_no_commit_is_whole_the_way_out_that_trim_and_job_tell_is_one(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root, 1)
    (root / read_commit(root, 1).files[0].path).write_bytes(b"damaged")
    for refused in (compact, trimmed):
        with pytest.raises((SnapshotDamaged, TrimRefused)) as caught:
            refused(on_sqlite, root)
        assert "in a new directory if none is whole" in caught.value.hint
    assert compact(on_sqlite, root.parent / "new").sequence == 1


@pytest.mark.parametrize("dies_at", ["header 0", "header 1", "note", "delete 0", "delete 1"])
def test_wherever_it_dies_a_node_starts_and_the_next_trim_goes_on(
    on_sqlite: Settings, root: Path, dies_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(on_sqlite, root)
    whole = started(on_sqlite, None)
    what, _, number = dies_at.partition(" ")
    with monkeypatch.context() as patch:
        owner, name = {"header": (trim_module, "restate_identity"), "note": (trim_module, "put_note"),
                       "delete": (SqliteLog, "delete_before")}[what]  # fmt: skip
        patch.setattr(owner, name, dying(getattr(owner, name), int(number or 0)))
        with pytest.raises(LogUnavailable, match="died"):
            trimmed(on_sqlite, root)
    starts, floors = bounds(on_sqlite)[0], note_of(on_sqlite, root)
    assert all(start <= floor for start, floor in zip(starts.values(), floors, strict=True))
    assert started(on_sqlite, root) == whole
    plan = trimmed(on_sqlite, root)
    assert bounds(on_sqlite)[0] == dict(enumerate(plan.second.to))
    assert started(on_sqlite, root) == whole


def test_a_trim_that_another_overtook_leaves_the_log_as_trimmable(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root)
    planned = asyncio.run(_with_trimming(on_sqlite, root, Trimming.plan))
    for seed in (5, 6):
        append(on_sqlite, random_values(seed, BATCH))
        compact(on_sqlite, root)
    trimmed(on_sqlite, root)
    asyncio.run(_with_trimming(on_sqlite, root, lambda trimming: trimming.carry_out(planned)))
    plan = trimmed(on_sqlite, root)
    assert bounds(on_sqlite)[0] == dict(enumerate(plan.second.to))


async def _with_trimming(settings: Settings, root: Path, step: Callable[[Trimming], Awaitable[Any]]) -> Any:
    log = await open_log(settings)
    try:
        return await step(Trimming(log, await recognise_identity(log), root, settings, print))
    finally:
        await log.close()


def dying(function: Callable[..., object], calls: int) -> Callable[..., object]:
    """Return a function that dies after so many calls."""
    left = [calls]

    def dies(*arguments: object) -> object:
        left[0] -= 1
        if left[0] < 0:
            raise LogUnavailable("it died")
        return function(*arguments)

    return dies


def note_of(settings: Settings, root: Path) -> tuple[int, ...]:
    newest = read_commit(root, sequences(root)[0])
    return read_note(root, newest.incarnation, newest.partitions).floors


async def aged(store: MemoryStore, root: Path, commits: int = 3) -> None:
    """Write a log with so many commits, of which the first was made in the second 1, and so on."""
    async with running(store) as node:
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
    await aged_further(store, root, commits)


async def aged_further(store: MemoryStore, root: Path, commits: int) -> None:
    """Write more, with so many commits."""
    async with running(store, snapshot=root) as node:
        for _ in range(commits):
            for label in range(10):
                await node.label(k=f"{len(store.entries[0])}-{label}")
            commit = await compacted_further(node.log, root)
            manifest(root, commit.sequence).unlink()
            put_commit(root, replace(commit, time_ms=commit.sequence * 1_000))


async def trim_and_vacuum(trimming: Trimming, root: Path, until_ms: int) -> None:
    """Trim to commits that old, then delete all files that need not stay."""
    await trimming.carry_out(await trimming.plan(until_ms))
    vacuum(root, keep=2, min_age_seconds=-1)


async def trimming_of(store: MemoryStore, root: Path) -> Trimming:
    log = MemoryLog(store)
    return Trimming(log, await recognise_identity(log), root, Settings(), lambda text: None)


@pytest.mark.parametrize(
    ("until_ms", "below"), [(None, 4), (9_000, 4), (4_000, 4), (3_999, 3), (1_000, 1), (999, None)]
)
async def test_what_younger_commits_added_stays(root: Path, until_ms: int | None, below: int | None) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root, 5)
    trimming = await trimming_of(store, root)
    plan = await trimming.plan(until_ms)
    assert (plan.below and plan.below.sequence) == below
    await trimming.carry_out(plan)
    assert store.starts[0] == (read_commit(root, below).to[0] if below else 0)


async def test_an_old_commit_that_was_given_up_takes_nothing_that_the_verified_ones_lack(root: Path) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root, 2)
    given_up = read_commit(root, 2)
    (root / given_up.own_files[0].path).write_bytes(b"damaged")
    start = read_commit(root, 1).to[0]
    log = MemoryLog(store)
    for length in (3, 6):
        await compacted_further(log, root, {0: start + length})
    trimming = await trimming_of(store, root)
    plan = await trimming.plan(given_up.time_ms)
    assert (plan.below and plan.below.sequence) == 1
    await trimming.carry_out(plan)
    async with running(store, snapshot=root) as node:
        assert node.engine.states[0].position == len(store.entries[0])


async def test_a_log_does_not_begin_where_a_commit_ends_that_was_given_up_for_nothing_can_be_folded_from_there(
    root: Path,
) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root, 2)
    (root / read_commit(root, 2).own_files[0].path).write_bytes(b"damaged")
    await aged_further(store, root, 3)
    trimming = await trimming_of(store, root)
    plan = await trimming.plan(2_000)
    assert (plan.below and plan.below.sequence) == 1
    await trim_and_vacuum(trimming, root, 2_000)
    assert sequences(root) == [5, 4, 3, 1]


async def test_a_commit_that_was_given_up_and_is_whole_again_is_nothing_that_later_ones_are_held_against(
    root: Path,
) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root, 2)
    lost = root / read_commit(root, 2).own_files[0].path
    content = lost.read_bytes()
    lost.write_bytes(b"damaged")
    await compacted_further(MemoryLog(store), root, {0: read_commit(root, 1).to[0] + 3})
    lost.write_bytes(content)
    plan = await (await trimming_of(store, root)).plan()
    assert (plan.newest.sequence, plan.second.sequence) == (3, 1)


async def test_the_commit_where_the_log_begins_stays_and_the_next_to_trim_to(root: Path) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root, 6)
    trimming = await trimming_of(store, root)
    await trim_and_vacuum(trimming, root, 2_000)
    assert sequences(root) == [6, 5, 3, 2]
    await trim_and_vacuum(trimming, root, 2_500)
    assert sequences(root) == [6, 5, 3, 2]
    await trim_and_vacuum(trimming, root, 4_500)
    assert sequences(root) == [6, 5, 3]
    assert store.starts[0] == read_commit(root, 3).to[0]


async def test_watchers_of_a_node_that_starts_then_go_on_from_wherever_the_log_begins(root: Path) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root, 6)
    trimming = await trimming_of(store, root)
    await trim_and_vacuum(trimming, root, 2_000)
    floor = store.starts[0]
    options = {"client_ring": CLIENT_RING, "server_ring": SERVER_RING}
    for position, reached in ((floor, floor), (floor - 1, read_commit(root, 6).to[0])):
        async with running(store, first_id=10**9, snapshot=root, **options) as node:
            await node.engine.window_refill.reach({0: position})
            assert node.engine.watches.window.start(0) == reached


async def test_before_any_is_old_enough_one_waits_to_become_so(root: Path) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root, 5)
    trimming = await trimming_of(store, root)
    await trim_and_vacuum(trimming, root, 500)
    assert sequences(root) == [5, 4, 1]
    assert (await trimming.plan(1_000)).records == read_commit(root, 1).to[0]


async def test_every_partition_that_loses_its_beginning_has_a_copy_of_the_header(root: Path) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root)
    identity = await recognise_identity(MemoryLog(store))
    trimming = await trimming_of(store, root)
    await trimming.carry_out(await trimming.plan(None))
    end = len(store.entries[0])
    assert identity_in(store.entries[0][end - 1].value) == identity
    assert read_note(root, identity.incarnation.hex(), 1).headers == (end - 1,)
    # As long as that one stays and is near, no other is made.
    span = (await trimming.plan(None)).spans[0]
    assert await trimming._has_header(span._replace(floor=end - 1), end - 1)
    assert not await trimming._has_header(span._replace(floor=end), end - 1)
    assert not await trimming._has_header(span._replace(end=end + HEADER_EVERY), end - 1)
