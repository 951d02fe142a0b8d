"""Wherever a job dies, and however many there are, the tables end the same."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.builders import empty_state
from tests.compaction.folds import run_here
from tests.compaction.job_process import IDENTITY, LENGTH, STAGES, batches, run, the_log
from tests.compaction.tables import rows, three_commits, three_unpublished, whole, without
from tests.state.histories import PARTITION, PARTITIONS
from topicfold.compaction.compactor import Compactor
from topicfold.compaction.delta import publishing
from topicfold.compaction.delta.publishing import publish
from topicfold.compaction.delta.vacuum import vacuum
from topicfold.compaction.plan import Plan, SliceResult
from topicfold.errors import LevelUnsupported, SnapshotDamaged, SnapshotUnreadable, WrongSnapshot
from topicfold.log.codec import decode_event
from topicfold.snapshot.claims import Claims
from topicfold.snapshot.commits import MANIFESTS, DataFile, commit_path, put_commit, read_commit, sequences
from topicfold.snapshot.tables import GROWING_TABLES, SCHEMAS, STATE_TABLES

COMMAND = [sys.executable, "-m", "tests.compaction.job_process"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("undisturbed")
    run(root, cuts=1)
    return root


def test_the_tables_end_where_the_engine_does(undisturbed: Path) -> None:
    state = empty_state(PARTITION, PARTITIONS, client_ring=65_536, server_ring=16_384)
    for record in the_log():
        state.apply(record.offset, decode_event(record.value))
    to, digests = whole(undisturbed)["end"]
    assert to[PARTITION] == LENGTH
    assert digests[PARTITION] == state.digest().hex()


@pytest.mark.parametrize("stage", STAGES)
def test_a_job_that_was_killed_leaves_no_trace_once_it_has_run_again(
    undisturbed: Path, tmp_path: Path, stage: str
) -> None:
    killed = subprocess.run([*COMMAND, str(tmp_path), "1", stage], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    run(tmp_path, cuts=1)
    assert whole(tmp_path) == whole(undisturbed)
    found, expected = (without(without(without(rows(root, "commits"), "time"), "sha256"), "predecessor")
                       for root in (tmp_path, undisturbed))  # fmt: skip
    key = lambda row: row["sequence"]  # noqa: E731
    assert sorted(without(found, "versions"), key=key) == sorted(without(expected, "versions"), key=key)


def test_two_jobs_at_once_fold_every_event_once(undisturbed: Path, tmp_path: Path) -> None:
    jobs = [subprocess.Popen([*COMMAND, str(tmp_path), cuts], stderr=subprocess.PIPE) for cuts in ("2", "3", "2")]
    assert [(job.communicate()[1].decode(), job.returncode) for job in jobs] == [("", 0)] * 3
    assert whole(tmp_path) == whole(undisturbed)


def test_batches_that_come_again_change_nothing(undisturbed: Path) -> None:
    before = sequences(undisturbed)
    run(undisturbed, cuts=2)
    assert sequences(undisturbed) == before


def test_a_version_that_a_commit_names_is_that_state_for_ever(undisturbed: Path) -> None:
    for row in rows(undisturbed, "commits"):
        commit = read_commit(undisturbed, row["sequence"])
        versions = dict(row["versions"])
        for table in ("topics", "topics_tail", "namespaces", "rings", "label_index"):
            delta = DeltaTable(str(undisturbed / table), version=versions[table])
            names = {Path(each).name for each in delta.file_uris()}
            assert names == {Path(each.path).name for each in commit.files_of(table)}


def test_a_job_that_finds_nothing_new_keeps_nobody_from_what_comes_next(tmp_path: Path) -> None:
    first, second = (Compactor(tmp_path, IDENTITY) for _ in range(2))
    one, two, *_ = batches(cuts=1)
    assert first.take(run_here(one), slices=2) is not None
    assert second.take(run_here(one), slices=2) is None
    done = first.take(run_here(two), 2, lambda sequence: pytest.fail(f"it waits at commit {sequence}"))
    assert done is not None
    assert done.commit.sequence == 2


def test_a_job_that_was_overtaken_before_it_had_its_claim_folds_nothing_onto_the_old_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (Compactor(tmp_path, IDENTITY) for _ in range(2))
    one, two, *_ = batches(cuts=1)
    plans: list[Plan] = []
    claim = Claims.take

    def late(claims: Claims, sequence: int, predecessor: str, start: tuple[int, ...]) -> bool:
        monkeypatch.setattr(Claims, "take", claim)
        first.take(run_here(one), slices=2)
        return claim(claims, sequence, predecessor, start)

    def run(plan: Plan) -> Sequence[SliceResult]:
        plans.append(plan)
        return run_here([*one, *two])(plan)

    monkeypatch.setattr(Claims, "take", late)
    assert second.take(run, slices=2) is not None
    assert {plan.sequence for plan in plans} == {2}


def test_a_damaged_commit_is_given_up_and_folded_anew(undisturbed: Path, tmp_path: Path) -> None:
    run(tmp_path, cuts=1)
    newest = read_commit(tmp_path, sequences(tmp_path)[0])
    (tmp_path / newest.files_of("namespaces")[0].path).write_bytes(b"flipped")
    run(tmp_path, cuts=2)
    assert whole(tmp_path) == whole(undisturbed)
    assert read_commit(tmp_path, newest.sequence + 1).after == newest.after


def tidy(root: Path) -> None:
    """Join the files of the tables that only grow, as anybody may at any time."""
    for table in GROWING_TABLES:
        DeltaTable(str(root / table)).optimize.compact()


def commit_unknown_to_its_table(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make four commits, the last of which has no row in `commits`."""
    others = three_commits(root)
    job = Compactor(root, IDENTITY)
    with monkeypatch.context() as patch:
        patch.setattr(publishing, "_append_commit", lambda root, commit, versions: None)
        job.take(run_here(others[2]), slices=2)
    job.close()


def test_tables_that_are_tidied_up_after_each_batch_say_the_same(undisturbed: Path, tmp_path: Path) -> None:
    job = Compactor(tmp_path, IDENTITY)
    for each in batches(1):
        job.take(run_here(each), slices=2)
        tidy(tmp_path)
    job.close()
    assert whole(tmp_path) == whole(undisturbed)
    assert all(len(DeltaTable(str(tmp_path / table)).file_uris()) == 1 for table in GROWING_TABLES)


def test_rows_that_were_tidied_up_before_their_commit_was_published_everywhere_are_not_added_again(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_unknown_to_its_table(tmp_path, monkeypatch)
    tidy(tmp_path)
    run(tmp_path, cuts=1)
    assert whole(tmp_path) == whole(undisturbed)


def test_rows_of_a_commit_that_was_given_up_go_though_they_were_tidied_up(undisturbed: Path, tmp_path: Path) -> None:
    run(tmp_path, cuts=1)
    tidy(tmp_path)
    newest = read_commit(tmp_path, sequences(tmp_path)[0])
    (tmp_path / newest.files_of("namespaces")[0].path).write_bytes(b"flipped")
    run(tmp_path, cuts=2)
    assert whole(tmp_path) == whole(undisturbed)
    vacuum(tmp_path, keep=2, min_age_seconds=0)
    assert whole(tmp_path) == whole(undisturbed)


def test_what_was_kept_of_a_tidied_file_is_looked_through_again_where_the_next_is_given_up_too(
    undisturbed: Path, tmp_path: Path
) -> None:
    run(tmp_path, cuts=1)
    tidy(tmp_path)
    *_, before_newest, newest = reversed(sequences(tmp_path))
    for numbers in ([newest], [newest + 1, before_newest]):
        for number in numbers:
            (tmp_path / read_commit(tmp_path, number).files_of("namespaces")[0].path).write_bytes(b"flipped")
        run(tmp_path, cuts=1)
    assert whole(tmp_path) == whole(undisturbed)


def test_a_joined_file_that_is_damaged_is_read_only_where_some_of_its_commits_were_given_up(tmp_path: Path) -> None:
    others = three_commits(tmp_path)
    tidy(tmp_path)
    (joined,) = DeltaTable(str(tmp_path / "history")).file_uris()
    Path(joined).write_bytes(b"damaged".ljust(Path(joined).stat().st_size))
    job = Compactor(tmp_path, IDENTITY)
    done = job.take(run_here(others[2]), slices=2)
    job.close()
    assert done is not None
    for commit in (read_commit(tmp_path, 3), done.commit):
        (tmp_path / commit.files_of("namespaces")[0].path).write_bytes(b"flipped")
    job = Compactor(tmp_path, IDENTITY)
    with pytest.raises(SnapshotDamaged, match=f"{joined}, a file of the table history, cannot be read") as caught:
        job.take(run_here([*others[1], *others[2]]), slices=2)
    job.close()
    assert caught.value.hint == "Restore it, or compact into a new directory. Nodes do not need it."


def test_a_commit_that_was_removed_is_folded_anew_under_another_number(undisturbed: Path, tmp_path: Path) -> None:
    run(tmp_path, cuts=1)
    newest = read_commit(tmp_path, sequences(tmp_path)[0])
    commit_path(tmp_path, newest.sequence).unlink()
    run(tmp_path, cuts=2)
    assert whole(tmp_path) == whole(undisturbed)
    assert read_commit(tmp_path, newest.sequence + 1).after == newest.after


def test_nor_is_its_number_given_again_where_only_some_tables_know_of_it(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_unknown_to_its_table(tmp_path, monkeypatch)
    commit_path(tmp_path, 4).unlink()
    run(tmp_path, cuts=2)
    assert whole(tmp_path) == whole(undisturbed)


@pytest.mark.parametrize("table", GROWING_TABLES)
@pytest.mark.parametrize("log_start", [0, LENGTH])
def test_what_a_copy_of_a_growing_table_lacks_is_folded_anew_where_the_log_has_it(
    undisturbed: Path, tmp_path: Path, table: str, log_start: int
) -> None:
    others = three_commits(tmp_path)
    shutil.copytree(tmp_path / table, tmp_path / "copy")
    job = Compactor(tmp_path, IDENTITY)
    for each in others[2:4]:
        job.take(run_here(each), slices=2)
    job.close()
    shutil.rmtree(tmp_path / table)
    (tmp_path / "copy").rename(tmp_path / table)
    job = Compactor(tmp_path, IDENTITY, log_start=(0, log_start))
    gone_on_from = job.base.commit
    assert gone_on_from
    assert [each.parent.name for each in job.lost] == ([table] if log_start else [])
    assert (gone_on_from.sequence == 5) == bool(log_start)
    assert rows(tmp_path, table)
    run(tmp_path, cuts=2)
    assert whole(tmp_path) == whole(undisturbed)


@pytest.mark.parametrize("table", GROWING_TABLES)
@pytest.mark.parametrize("log_start", [0, LENGTH])
def test_rows_of_a_file_that_is_gone_are_folded_anew_or_else_the_others_are_readable(
    undisturbed: Path, tmp_path: Path, table: str, log_start: int
) -> None:
    run(tmp_path, cuts=1)
    gone = sorted((tmp_path / table).glob("000000000003-*.parquet"))
    others = {row["sequence"] for row in rows(tmp_path, table)} - {3}
    for path in gone:
        path.unlink()
    job = Compactor(tmp_path, IDENTITY, log_start=(0, log_start))
    job.close()
    assert job.base.commit
    assert (job.lost, job.base.commit.sequence) == ((gone, 6) if log_start else ([], 2))
    if log_start:
        assert {row["sequence"] for row in rows(tmp_path, table)} == others
    else:
        run(tmp_path, cuts=2)
        assert whole(tmp_path) == whole(undisturbed)


@pytest.mark.parametrize("table", GROWING_TABLES)
def test_rows_that_were_there_before_every_commit_that_is_kept_are_folded_anew_from_a_log_that_has_its_beginning(
    undisturbed: Path, tmp_path: Path, table: str
) -> None:
    run(tmp_path, cuts=1)
    vacuum(tmp_path, keep=2, min_age_seconds=0)
    for path in (tmp_path / table).glob("000000000001-*.parquet"):
        path.unlink()
    job = Compactor(tmp_path, IDENTITY, log_start=(0,) * PARTITIONS)
    assert (job.base.commit, job.lost) == (None, ())
    job.take(run_here(the_log()), slices=2)
    job.close()
    assert whole(tmp_path) == whole(undisturbed)


def test_a_file_that_was_cut_short_is_taken_for_gone(undisturbed: Path, tmp_path: Path) -> None:
    run(tmp_path, cuts=1)
    for path in (tmp_path / "history").glob("000000000004-*.parquet"):
        path.write_bytes(path.read_bytes()[:-1])
    run(tmp_path, cuts=2)
    assert whole(tmp_path) == whole(undisturbed)


def test_commits_are_readable_though_a_file_of_theirs_is_gone(tmp_path: Path) -> None:
    run(tmp_path, cuts=1)
    (gone,) = (tmp_path / "commits").glob("000000000004-*.parquet")
    gone.unlink()
    job = Compactor(tmp_path, IDENTITY)
    job.close()
    assert job.lost == [gone]
    assert {row["sequence"] for row in rows(tmp_path, "commits")} == {1, 2, 3, 5, 6}
    assert Compactor(tmp_path, IDENTITY).lost == []


@pytest.mark.parametrize(("table", "failure"), [("commits", errno.ESTALE), ("history", errno.EIO)])
def test_a_file_that_cannot_be_looked_at_now_is_not_taken_for_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, failure: int
) -> None:
    run(tmp_path, cuts=1)
    (hidden, *_), before, stat = (tmp_path / table).glob("000000000004-*.parquet"), rows(tmp_path, table), Path.stat

    def looked_at(path: Path, **options: bool) -> os.stat_result:
        if path == hidden:
            raise OSError(failure, os.strerror(failure), str(path))
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", looked_at)
    with pytest.raises(SnapshotUnreadable, match=hidden.name):
        Compactor(tmp_path, IDENTITY)
    monkeypatch.undo()
    assert rows(tmp_path, table) == before


def test_a_commit_stands_though_the_one_before_was_damaged_meanwhile(undisturbed: Path, tmp_path: Path) -> None:
    job = Compactor(tmp_path, IDENTITY)
    for each in batches(1):
        job.take(run_here(each), slices=2)
        commit_path(tmp_path, job.base.sequence - 1).write_bytes(b"{}")
    job.close()
    assert whole(tmp_path) == whole(undisturbed)


def test_a_commit_that_was_damaged_before_it_was_published_is_folded_anew_with_those_made_from_it(
    undisturbed: Path, tmp_path: Path
) -> None:
    three_unpublished(tmp_path)
    commit_path(tmp_path, 2).write_bytes(b"{}")
    run(tmp_path, cuts=1)
    assert whole(tmp_path) == whole(undisturbed)
    assert [read_commit(tmp_path, number).after for number in (4, 5)] == [1, 4]


def test_damage_is_never_written_anew_as_if_it_were_meant(tmp_path: Path) -> None:
    job = Compactor(tmp_path, IDENTITY)
    first, second, *_ = batches(1)
    done = job.take(run_here(first), slices=2)
    assert done is not None
    path = tmp_path / done.commit.files_of("topics")[0].path
    rows = pq.read_table(path)
    pq.write_table(rows.set_column(rows.schema.get_field_index("payload"), "payload", rows["version"]), path)
    with pytest.raises(SnapshotDamaged, match=path.name):
        job.take(run_here(second), slices=2)
    job.close()


@pytest.mark.parametrize("table", ["commits", "topics", "history"])
def test_a_table_whose_delta_log_is_damaged_is_named(tmp_path: Path, table: str) -> None:
    run(tmp_path, cuts=1)
    (tmp_path / table / "_delta_log" / "00000000000000000001.json").unlink()
    with pytest.raises(SnapshotDamaged, match=f"{table}/_delta_log is damaged"):
        publish(tmp_path, replace(read_commit(tmp_path, sequences(tmp_path)[0]), sequence=99))


def test_a_table_that_takes_no_change_is_named_and_not_tried_for_ever(tmp_path: Path) -> None:
    job = Compactor(tmp_path, IDENTITY)
    first, second, *_ = batches(cuts=1)
    job.take(run_here(first), slices=2)
    own = DeltaTable(str(tmp_path / "topics")).version()
    DeltaTable(str(tmp_path / "topics")).alter.set_table_properties({"delta.appendOnly": "true"})
    with pytest.raises(SnapshotDamaged, match=r"topics/_delta_log takes no change: .*append-only") as caught:
        job.take(run_here(second), slices=2)
    job.close()
    assert f"above version {own} from it" in caught.value.hint


def test_a_row_of_commits_is_added_though_somebody_else_changes_the_table_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = publishing.write_rows

    def disturbed(root: Path, table: str, label: str, added: pa.Table) -> DataFile:
        if table == "commits" and label.endswith("2"):
            DeltaTable(str(root / table)).alter.set_table_properties({"delta.logRetentionDuration": "interval 9 days"})
        return write(root, table, label, added)

    monkeypatch.setattr(publishing, "write_rows", disturbed)
    three_commits(tmp_path)
    assert sorted(row["sequence"] for row in rows(tmp_path, "commits")) == [1, 2, 3]


def test_commits_that_nobody_published_are_published_one_after_another(undisturbed: Path, tmp_path: Path) -> None:
    three_unpublished(tmp_path)
    assert not DeltaTable.is_deltatable(str(tmp_path / "commits"))
    run(tmp_path, cuts=1)
    assert whole(tmp_path) == whole(undisturbed)
    assert sorted(row["sequence"] for row in rows(tmp_path, "commits")) == [1, 2, 3, 4, 5, 6]


def test_a_file_that_a_copy_lacks_leaves_the_rows_of_others_readable(tmp_path: Path) -> None:
    three_unpublished(tmp_path)
    for each in read_commit(tmp_path, 2).added:
        (tmp_path / each.path).unlink()
    publish(tmp_path, read_commit(tmp_path, 3))
    assert {row["sequence"] for row in rows(tmp_path, "history")} == {1, 3}


@pytest.mark.parametrize("table", GROWING_TABLES)
@pytest.mark.parametrize("entries", [1, 2, 99])
def test_rows_whose_entry_in_a_delta_log_was_lost_are_in_the_table_again(
    undisturbed: Path, tmp_path: Path, table: str, entries: int
) -> None:
    three_commits(tmp_path)
    for entry in sorted((tmp_path / table / "_delta_log").glob("*.json"))[-entries:]:
        entry.unlink()
    run(tmp_path, cuts=1)
    assert whole(tmp_path) == whole(undisturbed)


@pytest.mark.parametrize("table", ["commits", *STATE_TABLES])
def test_the_job_goes_on_where_a_damaged_delta_log_was_removed_as_it_says(
    undisturbed: Path, tmp_path: Path, table: str
) -> None:
    three_commits(tmp_path)
    vacuum(tmp_path, keep=2, min_age_seconds=0)
    log = tmp_path / table / "_delta_log"
    (log / "00000000000000000001.json").write_bytes(b"{")
    with pytest.raises(SnapshotDamaged, match="_delta_log is damaged") as caught:
        run(tmp_path, cuts=1)
    assert "remove it" in caught.value.hint
    shutil.rmtree(log)
    run(tmp_path, cuts=1)
    found, expected = whole(tmp_path), whole(undisturbed)
    assert {**found, "chain": expected["chain"]} == expected
    assert 3 in {row["sequence"] for row in rows(tmp_path, "commits")}


def test_what_grows_is_on_the_disk_before_commits_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    sync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    run(tmp_path, cuts=1)
    places = {path.relative_to(tmp_path).as_posix(): -place for place, path in enumerate(reversed(synced))}
    for row in rows(tmp_path, "commits"):
        said = next(place for path, place in places.items() if path.startswith(f"commits/{row['sequence']:012}"))
        for table, version in row["versions"]:
            for number in range(version + 1) if table in GROWING_TABLES else ():
                assert places[f"{table}/_delta_log/{number:020}.json"] < said


def test_a_snapshot_of_which_nothing_is_whole_is_refused(tmp_path: Path) -> None:
    run(tmp_path, cuts=1)
    for path in (tmp_path / MANIFESTS).iterdir():
        path.write_bytes(b"{}")
    with pytest.raises(SnapshotDamaged):
        run(tmp_path, cuts=1)


def test_a_snapshot_of_another_log_is_refused(undisturbed: Path) -> None:
    with pytest.raises(WrongSnapshot, match="is of the log"):
        Compactor(undisturbed, replace(IDENTITY, incarnation=b"M" * 16))


def test_a_commit_at_a_level_that_is_not_known_is_not_gone_on_from_by_the_rule_of_this_one(tmp_path: Path) -> None:
    run(tmp_path, cuts=1)
    job = Compactor(tmp_path, IDENTITY)
    newest = job.base.commit
    assert newest is not None
    number = newest.sequence + 1
    ahead = replace(newest, sequence=number, after=newest.sequence, predecessor=newest.sha256, levels=(1, 2))
    assert put_commit(tmp_path, ahead) is not None
    for goes_on in (lambda: Compactor(tmp_path, IDENTITY), job.look_again, lambda: job.take(run_here([]), slices=1)):
        with pytest.raises(LevelUnsupported, match=f"commit {number} is at level 2"):
            goes_on()
    assert sequences(tmp_path)[0] == number


def test_publishing_again_changes_no_table(undisturbed: Path) -> None:
    before = {table: DeltaTable(str(undisturbed / table)).version() for table in SCHEMAS}
    publish(undisturbed, read_commit(undisturbed, sequences(undisturbed)[0]))
    assert {table: DeltaTable(str(undisturbed / table)).version() for table in SCHEMAS} == before


def test_the_batches_of_these_tests_differ() -> None:
    assert len({tuple(len(each) for each in batches(cuts)) for cuts in (1, 2, 3)}) == 3
