"""What vacuum takes away from a snapshot, and what it leaves."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.compaction.folds import Placed, run_here
from tests.compaction.job_process import IDENTITY, LENGTH, run
from tests.compaction.tables import make_old, three_commits, three_unpublished, whole
from tests.state.histories import PARTITION
from topicfold.compaction.compactor import Compactor
from topicfold.compaction.delta import vacuum as vacuuming
from topicfold.compaction.delta.vacuum import vacuum
from topicfold.errors import SnapshotUnreadable
from topicfold.snapshot.claims import CLAIMS
from topicfold.snapshot.commits import MANIFESTS, commit_path, read_commit, sequences
from topicfold.snapshot.files.unfinished import unfinished
from topicfold.snapshot.intact import require_intact
from topicfold.snapshot.tables import GROWING_TABLES, SCHEMAS, STATE_TABLES
from topicfold.snapshot.trim_note import NOTE


def test_vacuum_removes_what_nobody_names_and_nothing_else(tmp_path: Path) -> None:
    run(tmp_path, cuts=1)
    orphan = tmp_path / "history" / "000000000002-left-by-a-dead-job.parquet"
    orphan.write_bytes(b"")
    before = whole(tmp_path)
    assert vacuum(tmp_path, keep=2, min_age_seconds=3600) == 0
    assert vacuum(tmp_path, keep=2, min_age_seconds=0) > 0
    assert not orphan.exists()
    assert len(sequences(tmp_path)) == 2
    for number in sequences(tmp_path):
        require_intact(tmp_path, read_commit(tmp_path, number))
    assert whole(tmp_path) == before


def test_a_commit_that_is_damaged_stays_while_it_is_young_and_stops_no_vacuum(tmp_path: Path) -> None:
    run(tmp_path, cuts=1)
    damaged = commit_path(tmp_path, sequences(tmp_path)[0])
    make_old(tmp_path)
    damaged.write_bytes(b"{}")
    assert vacuum(tmp_path, keep=2) > 0
    assert damaged.exists()


def test_a_commit_that_is_damaged_goes_once_it_is_old(tmp_path: Path) -> None:
    run(tmp_path, cuts=1)
    damaged = commit_path(tmp_path, sequences(tmp_path)[-1])
    damaged.write_bytes(b"{}")
    make_old(tmp_path)
    vacuum(tmp_path, keep=2)
    assert not damaged.exists()


def test_vacuum_tells_how_old_files_are_by_the_clock_of_where_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, cuts=1)
    being_written = tmp_path / "topics" / "000000000099-by-another-job.parquet"
    being_written.write_bytes(b"")
    two_hours_ahead = time.time() + 7200
    monkeypatch.setattr(time, "time", lambda: two_hours_ahead)
    assert vacuum(tmp_path, keep=2) == 0
    assert being_written.exists()


@pytest.mark.parametrize("directory", [".", MANIFESTS, CLAIMS])
def test_vacuum_removes_the_files_that_a_dead_process_had_begun(tmp_path: Path, directory: str) -> None:
    run(tmp_path, cuts=1)
    (tmp_path / directory).mkdir(exist_ok=True)
    begun, someones = unfinished(tmp_path / directory / "1.json"), tmp_path / directory / ".nfs000000000001"
    for each in (begun, someones):
        each.write_bytes(b"")
        os.utime(each, (0, 0))
    young = unfinished(begun)
    young.write_bytes(b"")
    assert vacuum(tmp_path) == 1
    assert not begun.exists()
    assert young.exists()
    assert someones.exists()


@pytest.mark.parametrize("unread", [NOTE, f"{MANIFESTS}/000000000001.json"])
@pytest.mark.parametrize("why", [errno.EMFILE, errno.EIO, errno.EACCES, errno.ESTALE])
def test_vacuum_removes_nothing_where_it_cannot_open_what_says_what_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unread: str, why: int
) -> None:
    run(tmp_path, cuts=1)
    make_old(tmp_path)
    before, read = sorted(tmp_path.rglob("*")), Path.read_bytes

    def read_or_run_short(path: Path) -> bytes:
        if path == tmp_path / unread:
            raise OSError(why, os.strerror(why))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", read_or_run_short)
    with pytest.raises(SnapshotUnreadable):
        vacuum(tmp_path, keep=1)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_commit_that_was_given_up_does_not_count_among_those_that_stay(tmp_path: Path) -> None:
    others = three_commits(tmp_path)
    (tmp_path / read_commit(tmp_path, 3).own_files[0].path).write_bytes(b"damaged")
    job = Compactor(tmp_path, IDENTITY)
    job.take(run_here(others[1]), slices=2)
    job.close()
    vacuum(tmp_path, keep=2, min_age_seconds=-1)
    assert sequences(tmp_path) == [4, 2]
    for number in (4, 2):
        require_intact(tmp_path, read_commit(tmp_path, number), STATE_TABLES)


def test_a_commit_that_stays_because_it_is_young_keeps_files_that_are_old(tmp_path: Path) -> None:
    run(tmp_path, cuts=1)
    commits = sequences(tmp_path)
    for table in SCHEMAS:
        for path in (tmp_path / table).glob("*.parquet"):
            os.utime(path, (0, 0))
    vacuum(tmp_path, keep=2, min_age_seconds=3600)
    assert sequences(tmp_path) == commits
    for number in commits:
        require_intact(tmp_path, read_commit(tmp_path, number))


def test_what_tables_had_an_hour_ago_is_there_for_who_is_reading_it(tmp_path: Path) -> None:
    run(tmp_path, cuts=1)
    before = {table: DeltaTable(str(tmp_path / table)) for table in SCHEMAS}
    read = {table: delta.to_pyarrow_table() for table, delta in before.items()}
    make_old(tmp_path)
    for table in GROWING_TABLES:
        DeltaTable(str(tmp_path / table)).optimize.compact()
    job = Compactor(tmp_path, IDENTITY)
    for number in range(3):
        job.take(run_here([Placed(PARTITION, LENGTH + number, b"garbage")]), slices=2)
    job.close()
    vacuum(tmp_path, keep=2)
    assert {table: delta.to_pyarrow_table() for table, delta in before.items()} == read
    make_old(tmp_path)
    vacuum(tmp_path, keep=2)
    for table in ("topics", "history"):
        with pytest.raises(OSError, match="not found"):
            before[table].to_pyarrow_table()


def test_what_tables_have_since_a_moment_ago_stays_however_old_it_is(tmp_path: Path) -> None:
    undisturbed, late = tmp_path / "undisturbed", tmp_path / "late"
    run(undisturbed, cuts=1)
    three_unpublished(late)
    make_old(late)
    run(late, cuts=1)
    assert vacuum(late, keep=2) > 0
    assert whole(late) == whole(undisturbed)


def test_commits_that_are_not_published_yet_stay_however_old_they_are(tmp_path: Path) -> None:
    three_unpublished(tmp_path)
    make_old(tmp_path)
    vacuum(tmp_path, keep=1)
    assert sequences(tmp_path) == [3, 2, 1]


def test_a_version_whose_entries_delta_has_cleared_away_stops_no_vacuum(tmp_path: Path) -> None:
    run(tmp_path, cuts=1)
    for table in (*GROWING_TABLES, "commits"):
        DeltaTable(str(tmp_path / table)).create_checkpoint()
        *cleared, _ = sorted((tmp_path / table / "_delta_log").glob("*.json"))
        for path in cleared:
            path.unlink()
    make_old(tmp_path)
    before = whole(tmp_path)
    assert vacuum(tmp_path, keep=2) > 0
    assert whole(tmp_path) == before


def test_the_commit_that_nodes_fold_their_windows_from_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, cuts=1)
    newest, *_ = found = [read_commit(tmp_path, number) for number in sequences(tmp_path)]
    back = found[-2]
    monkeypatch.setattr(vacuuming, "WINDOW", newest.to[1] - back.to[1])
    vacuum(tmp_path, keep=2, min_age_seconds=0)
    assert sequences(tmp_path) == [*(commit.sequence for commit in found[:2]), back.sequence]
    require_intact(tmp_path, back, STATE_TABLES)


def test_where_no_commit_lies_so_far_back_only_the_newest_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, cuts=1)
    newest = sequences(tmp_path)[:2]
    monkeypatch.setattr(vacuuming, "WINDOW", read_commit(tmp_path, newest[0]).to[1] - 1)
    vacuum(tmp_path, keep=2, min_age_seconds=0)
    assert sequences(tmp_path) == newest


def test_that_commit_is_none_that_was_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = three_commits(tmp_path)
    given_up = read_commit(tmp_path, 3)
    (tmp_path / given_up.own_files[0].path).write_bytes(b"damaged")
    job = Compactor(tmp_path, IDENTITY)
    job.take(run_here([*others[1], *others[2]]), slices=2)
    job.close()
    monkeypatch.setattr(vacuuming, "WINDOW", read_commit(tmp_path, 4).to[1] - given_up.to[1])
    vacuum(tmp_path, keep=1, min_age_seconds=-1)
    assert sequences(tmp_path) == [4, 2]


def test_files_that_somebody_else_removes_meanwhile_do_not_stop_a_vacuum(tmp_path: Path) -> None:
    run(tmp_path, cuts=1)
    before = whole(tmp_path)
    for name in ("rings", "history"):
        (tmp_path / name / "gone.parquet").symlink_to("removed")
    assert vacuum(tmp_path, min_age_seconds=0) == 0
    assert whole(tmp_path) == before


def test_two_vacuums_at_once_do_not_stop_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, cuts=1)
    before, unlink = whole(tmp_path), Path.unlink

    def unlink_behind_another(path: Path, missing_ok: bool = False) -> None:
        if path.parent != tmp_path:
            unlink(path)
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink_behind_another)
    assert vacuum(tmp_path, keep=2, min_age_seconds=0) > 0
    assert whole(tmp_path) == before
