"""Which commits a trim may rely on: those that the engine itself comes to, each verified once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.compaction.logs import append, random_values, settings_of
from tests.compaction.trimming import (
    BATCH,
    aged,
    aged_further,
    bounds,
    compact,
    grow,
    trim_and_vacuum,
    trimmed,
    trimming_of,
)
from tests.memory_log import MemoryLog, MemoryStore
from tests.runtime.nodes import ORDERS, running
from tests.snapshot.making import compacted_further, miscompacted
from topicfold.compaction import verified
from topicfold.compaction.delta.vacuum import vacuum
from topicfold.compaction.trim import Trimming
from topicfold.errors import LogGap, SnapshotDamaged, TrimRefused
from topicfold.log.identity import recognise_identity
from topicfold.model.names import parse_topic
from topicfold.model.records import TopicRecord
from topicfold.settings import Settings
from topicfold.snapshot.commits import commit_path, put_commit, read_commit, sequences
from topicfold.snapshot.trim_note import NOTE


def test_a_commit_that_was_verified_before_is_not_folded_again(
    on_sqlite: Settings, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(on_sqlite, root)
    trimmed(on_sqlite, root)
    monkeypatch.setattr(verified, "refold", None)
    monkeypatch.setattr(verified, "restore", None)
    assert trimmed(on_sqlite, root).records == 0


@pytest.mark.parametrize("place", [0, 1])
def test_a_commit_that_the_engine_does_not_come_to_keeps_everything(
    on_sqlite: Settings, root: Path, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(on_sqlite, root)
    commit = read_commit(root, sequences(root)[place])
    commit_path(root, commit.sequence).unlink()
    # Its files are said to be whole and to come to this digest: only folding tells otherwise.
    put_commit(root, replace(commit, digests=("00" * 16, *commit.digests[1:])))
    monkeypatch.setattr("topicfold.snapshot.loading._require_same", lambda *_: None)
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


@pytest.mark.parametrize("damaged", [0, 1])
def test_a_damaged_commit_does_not_count(on_sqlite: Settings, root: Path, damaged: int) -> None:
    grow(on_sqlite, root)
    commits = [read_commit(root, number) for number in sequences(root)]
    lost = commits.pop(damaged)
    own = next(each for each in lost.files if not any(each in other.files for other in commits))
    (root / own.path).write_bytes(b"damaged")
    plan = trimmed(on_sqlite, root)
    assert [plan.newest, plan.second] == commits
    assert [each.values["sequence"] for each in plan.damaged] == [lost.sequence]
    assert bounds(on_sqlite)[0] == dict(enumerate(commits[1].to))


def test_with_one_whole_commit_nothing_goes_and_the_damage_is_said(on_sqlite: Settings, root: Path) -> None:
    grow(on_sqlite, root, 2)
    commit_path(root, sequences(root)[0]).write_bytes(b"damaged")
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
        assert "in a new directory if none is intact" in caught.value.hint
    assert compact(on_sqlite, root.parent / "new").sequence == 1


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
