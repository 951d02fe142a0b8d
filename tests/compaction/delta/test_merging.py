"""Tables that grow have few files however many batches there were, and say the same."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.compaction.folds import run_here
from tests.compaction.job_process import IDENTITY, LENGTH, batches, run, the_log
from tests.compaction.tables import make_old, rows, whole, without
from tests.state.histories import PARTITION
from topicfold.compaction import compactor
from topicfold.compaction.compactor import Compactor
from topicfold.compaction.delta import merging
from topicfold.compaction.delta.merging import merge_small_files
from topicfold.compaction.delta.tables import name_of, opened, parts_now, write_version
from topicfold.compaction.delta.vacuum import vacuum
from topicfold.snapshot.commits import DataFile, read_commit, sequences
from topicfold.snapshot.files.data_files import is_as_named, write_rows
from topicfold.snapshot.tables import COMMITS, GROWING_TABLES, SCHEMAS

MERGED = (*GROWING_TABLES, "commits")


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have four files be many."""
    monkeypatch.setattr(merging, "MANY", 4)


def names(root: Path, table: str) -> list[str]:
    """Return the names of the files that make up a table."""
    return sorted(Path(each).name for each in DeltaTable(str(root / table)).file_uris())


def merge(root: Path) -> None:
    """Merge what there is to merge, until there is nothing left."""
    for table in MERGED:
        while (before := names(root, table)) and (merge_small_files(root, table), names(root, table))[1] != before:
            pass


def add(root: Path, *sizes: int) -> list[str]:
    """Add files of these sizes to the table `commits`, one a version, each older by its time; return their names."""
    added = []
    for size in sizes:
        number = len(names(root, "commits")) + 1 if (root / "commits").exists() else 1
        file = write_rows(root, "commits", f"{number:012}", COMMITS.empty_table())._replace(size=size)
        assert write_version(opened(root, "commits"), root / "commits", [file], set(), 1_000 - number, number)
        added.append(Path(file.path).name)
    return added


def test_tables_of_many_batches_have_few_files_and_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compactor, "_TIDY_EVERY", 4)
    undisturbed, merged = tmp_path / "undisturbed", tmp_path / "merged"
    run(undisturbed, cuts=1)
    job = Compactor(merged, IDENTITY)
    log = the_log()
    for first in range(0, LENGTH, 3):
        job.take(run_here(log[first : first + 3]), slices=2)
    job.close()
    assert whole(merged) == whole(undisturbed)
    assert len(rows(merged, "commits")) == len(sequences(merged)) == LENGTH // 3
    assert max(len(names(merged, table)) for table in MERGED) < 16
    assert all(is_as_named(merged / table / name) for table in MERGED for name in names(merged, table))


def test_where_there_is_nothing_to_merge_no_version_is_written(tmp_path: Path) -> None:
    add(tmp_path, *[100] * 3)
    version = opened(tmp_path, "commits").version()
    merge_small_files(tmp_path, "commits")
    assert opened(tmp_path, "commits").version() == version


def test_who_follows_a_table_reads_no_row_again(tmp_path: Path) -> None:
    run(tmp_path, cuts=1)
    version = opened(tmp_path, "history").version() + 1
    merge_small_files(tmp_path, "history")
    entry = (tmp_path / "history" / "_delta_log" / f"{version:020}.json").read_text()
    files = [action for line in entry.splitlines() for action in json.loads(line).values() if "path" in action]
    assert {action["dataChange"] for action in files} == {False}
    assert len(files) > merging.MANY


def test_a_version_that_a_commit_names_can_be_read_as_long_as_the_commit_stays(tmp_path: Path) -> None:
    run(tmp_path, cuts=1)
    versions = {row["sequence"]: dict(row["versions"]) for row in rows(tmp_path, "commits")}
    kept = sequences(tmp_path)[:2]

    def read(number: int) -> list[object]:
        tables = (DeltaTable(str(tmp_path / table), version=version) for table, version in versions[number].items())
        return [each.to_pyarrow_table() for each in tables]

    before = [read(number) for number in kept]
    merge(tmp_path)
    make_old(tmp_path)
    assert vacuum(tmp_path, keep=2) > 0
    assert [read(number) for number in kept] == before
    with pytest.raises(OSError, match="not found"):
        read(1)


def test_rows_of_a_commit_that_was_given_up_go_though_they_were_merged(tmp_path: Path) -> None:
    undisturbed, merged = tmp_path / "undisturbed", tmp_path / "merged"
    run(undisturbed, cuts=1)
    run(merged, cuts=1)
    merge(merged)
    newest = read_commit(merged, sequences(merged)[0])
    (merged / newest.files_of("namespaces")[0].path).write_bytes(b"flipped")
    run(merged, cuts=2)
    assert whole(merged) == whole(undisturbed)


@pytest.mark.parametrize("table", GROWING_TABLES)
@pytest.mark.parametrize("begins_at", [None, 2, 4])
def test_where_a_merged_file_is_gone_what_the_log_has_of_its_rows_is_folded_anew(
    tmp_path: Path, table: str, begins_at: int | None
) -> None:
    undisturbed, merged = tmp_path / "undisturbed", tmp_path / "merged"
    run(undisturbed, cuts=1)
    run(merged, cuts=1)
    parts = [name_of(part.file) for part in parts_now(merged, table) if 3 <= part.first <= 5]
    whole_rows = pa.concat_tables([pq.read_table(merged / table / name, schema=SCHEMAS[table]) for name in parts])
    gone = write_rows(merged, table, "merged", whole_rows)
    assert write_version(opened(merged, table), merged / table, [gone], parts, 1_000, None)
    assert [(part.first, part.last) for part in parts_now(merged, table) if part.file.path == gone.path] == [(3, 5)]
    (merged / gone.path).unlink()
    start = 0 if begins_at is None else read_commit(merged, begins_at).to[PARTITION]
    job = Compactor(merged, IDENTITY, log_start=(0, start))
    assert job.base.commit is not None
    assert (job.base.commit.sequence, len(job.lost)) == (begins_at or 2, begins_at == 4)
    job.take(run_here(the_log()), slices=2)
    job.close()
    lacks = {3, 4} if begins_at == 4 else set()
    expected = [row for row in rows(undisturbed, table) if row["sequence"] not in lacks]
    assert told(rows(merged, table)) == told(expected)


def told(found: list[dict[str, Any]]) -> list[str]:
    return sorted(map(str, without(found, "sequence")))


@pytest.mark.parametrize("damage", ["swapped", "truncated", "gone"])
def test_a_file_that_is_damaged_or_gone_stays_in_the_table_as_it_is(tmp_path: Path, damage: str) -> None:
    run(tmp_path, cuts=1)
    before = names(tmp_path, "history")
    damaged, other = (tmp_path / "history" / name for name in before[1:3])
    if damage == "gone":
        damaged.unlink()
    else:
        damaged.write_bytes(other.read_bytes() if damage == "swapped" else damaged.read_bytes()[:-1])
    merge(tmp_path)
    assert damaged.name in names(tmp_path, "history")
    assert len(names(tmp_path, "history")) < len(before)


def test_where_somebody_else_writes_the_table_meanwhile_nothing_is_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = tmp_path / "undisturbed"
    run(undisturbed, cuts=1)
    first, *others = batches(cuts=1)
    job = Compactor(tmp_path / "both", IDENTITY)
    for each in (first, *others[:-1]):
        job.take(run_here(each), slices=2)

    def written_late(*arguments: object) -> object:
        with monkeypatch.context() as patch:
            patch.setattr(merging, "write_rows", write_rows)
            job.take(run_here(others[-1]), slices=2)
        return write_rows(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(merging, "write_rows", written_late)
    merge_small_files(tmp_path / "both", "history")
    job.close()
    assert not [name for name in names(tmp_path / "both", "history") if name.startswith("merged")]
    assert whole(tmp_path / "both")["history"] == whole(undisturbed)["history"]


def test_no_more_is_read_at_once_than_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, cuts=1)
    before = rows(tmp_path, "history")
    monkeypatch.setattr(merging, "_MOST_BYTES", 0)
    count = len(names(tmp_path, "history"))
    merge_small_files(tmp_path, "history")
    merged = [name for name in names(tmp_path, "history") if name.startswith("merged")]
    assert len(names(tmp_path, "history")) == count - len(merged) > 0
    assert merged
    assert sorted(map(str, rows(tmp_path, "history"))) == sorted(map(str, before))


def test_files_of_like_size_are_merged_the_oldest_first_and_large_ones_stay(tmp_path: Path) -> None:
    small, *_ = (add(tmp_path, *[size] * 3) for size in (100, 10_000, merging._LARGE_BYTES))
    add(tmp_path, merging._LARGE_BYTES)
    before = names(tmp_path, "commits")
    merge_small_files(tmp_path, "commits")
    assert names(tmp_path, "commits") == before
    before += (more := add(tmp_path, 100, 100))
    merge_small_files(tmp_path, "commits")
    [merged] = set(names(tmp_path, "commits")) - {*before}
    assert merged.startswith("merged-")
    assert {*before} - {*names(tmp_path, "commits")} == {*small[1:], *more}


def test_no_more_files_than_so_many_are_merged_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_MOST_GROUPS", 1)
    add(tmp_path, *[100] * 8)
    merge_small_files(tmp_path, "commits")
    assert len(names(tmp_path, "commits")) == 5


def test_a_file_that_alone_is_whole_is_not_written_again(tmp_path: Path) -> None:
    for damaged in add(tmp_path, *[100] * 4)[:-1]:
        (tmp_path / "commits" / damaged).unlink()
    before = names(tmp_path, "commits")
    merge_small_files(tmp_path, "commits")
    assert names(tmp_path, "commits") == before


@pytest.mark.parametrize("damage", ["flipped", "no Parquet"])
def test_a_damaged_file_of_somebody_else_stays_in_the_table_as_it_is(tmp_path: Path, damage: str) -> None:
    add(tmp_path, *[100] * 3)
    number, path = 0x1122334455667788, tmp_path / "commits" / "part-0.parquet"
    rows = pa.Table.from_pylist([{"sequence": number}], COMMITS)
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(rows, path, **plain, write_page_checksum=True)
    flipped = path.read_bytes().replace(number.to_bytes(8, "little"), bytes(8))
    path.write_bytes(flipped if damage == "flipped" else damage.encode())
    theirs = DataFile("commits/part-0.parquet", 100, 1, "")
    assert write_version(opened(tmp_path, "commits"), path.parent, [theirs], set(), 0, 4)
    merge_small_files(tmp_path, "commits")
    assert path.name in names(tmp_path, "commits")
    assert len(names(tmp_path, "commits")) == 2


def test_what_was_merged_is_on_the_disk_before_the_files_may_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path, *[100] * 4)
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.readlink(f"/proc/self/fd/{descriptor}")))
    merge_small_files(tmp_path, "commits")
    [merged] = names(tmp_path, "commits")
    log = tmp_path / "commits" / "_delta_log"
    assert [Path(each).name for each in synced] == [merged, "commits", f"{5:020}.json", log.name]
