"""The files of a table are those that Delta's own library names, however the table was written and tidied up."""

from __future__ import annotations

import errno
import json
import os
import random
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from topicfold.errors import SnapshotDamaged, SnapshotUnreadable
from topicfold.snapshot.files.delta_files import active_files


def named_by_delta(root: Path) -> list[str]:
    found = pa.table(DeltaTable(str(root / "history")).get_add_actions(flatten=True))["path"].to_pylist()
    return sorted(f"history/{path}" for path in found)


def append(root: Path, *numbers: int) -> None:
    write_deltalake(str(root / "history"), pa.table({"number": pa.array(numbers, pa.int64())}), mode="append")


def test_what_was_appended_tidied_and_summed_up_is_what_there_is(tmp_path: Path) -> None:
    chance = random.Random(5)
    assert active_files(tmp_path, "history").paths == []
    for number in range(30):
        append(tmp_path, number, number + 1)
        table = DeltaTable(str(tmp_path / "history"))
        if chance.random() < 0.2:
            table.optimize.compact()
        if chance.random() < 0.2:
            DeltaTable(str(tmp_path / "history")).create_checkpoint()
        assert active_files(tmp_path, "history").paths == named_by_delta(tmp_path)
    assert list((tmp_path / "history" / "_delta_log").glob("*.checkpoint.parquet"))


def test_entries_that_a_checkpoint_stands_for_need_not_be_there(tmp_path: Path) -> None:
    for number in range(5):
        append(tmp_path, number)
    DeltaTable(str(tmp_path / "history")).create_checkpoint()
    for path in (tmp_path / "history" / "_delta_log").glob("*.json"):
        path.unlink()
    assert len(active_files(tmp_path, "history").paths) == 5


@pytest.mark.parametrize("pointer", [None, '{"version":3,"size":6}', '{"version":9,"size":6}', "{"])
def test_a_checkpoint_is_found_whatever_the_hint_at_it_says(tmp_path: Path, pointer: str | None) -> None:
    for number in range(6):
        append(tmp_path, number)
        if number == 4:
            DeltaTable(str(tmp_path / "history")).create_checkpoint()
    log = tmp_path / "history" / "_delta_log"
    for path in sorted(log.glob("*.json"))[:4]:
        path.unlink()
    (log / "_last_checkpoint").unlink()
    if pointer is not None:
        (log / "_last_checkpoint").write_text(pointer)
    assert len(active_files(tmp_path, "history").paths) == 6


def test_a_checkpoint_that_lacks_a_part_is_none(tmp_path: Path) -> None:
    log = tmp_path / "history" / "_delta_log"
    for number in range(5):
        append(tmp_path, number)
        if number == 2:
            DeltaTable(str(tmp_path / "history")).create_checkpoint()
    whole = log / f"{2:020}.checkpoint.parquet"
    (log / f"{3:020}.checkpoint.{1:010}.{2:010}.parquet").write_bytes(whole.read_bytes())
    assert len(active_files(tmp_path, "history").paths) == 5


def test_the_commit_that_a_table_recorded_last_is_known_whether_or_not_it_is_in_a_checkpoint(tmp_path: Path) -> None:
    found = []
    for number in (3, 4, 0, 7):
        noted = [Transaction("topicfold", number), Transaction("another", 99)] if number else []
        rows = pa.table({"number": pa.array([number], pa.int64())})
        properties = CommitProperties(app_transactions=noted)
        write_deltalake(str(tmp_path / "history"), rows, mode="append", commit_properties=properties)
        if number == 4:
            DeltaTable(str(tmp_path / "history")).create_checkpoint()
        found.append(active_files(tmp_path, "history").commit)
    assert found == [3, 4, 4, 7]


@pytest.mark.parametrize("is_added_first", [False, True])
def test_a_file_of_which_somebody_deleted_rows_by_a_vector_is_still_there(tmp_path: Path, is_added_first: bool) -> None:
    append(tmp_path, 1)
    [name] = (path.partition("/")[2] for path in active_files(tmp_path, "history").paths)
    actions = [{"remove": {"path": name}}, {"add": {"path": name, "deletionVector": {"cardinality": 1}}}]
    entry = tmp_path / "history" / "_delta_log" / f"{1:020}.json"
    entry.write_text("\n".join(map(json.dumps, reversed(actions) if is_added_first else actions)))
    assert active_files(tmp_path, "history").paths == [f"history/{name}"]


@pytest.mark.parametrize("lost", [0, 2])
def test_a_log_that_lost_an_entry_is_told(tmp_path: Path, lost: int) -> None:
    for number in range(4):
        append(tmp_path, number)
    (tmp_path / "history" / "_delta_log" / f"{lost:020}.json").unlink()
    with pytest.raises(SnapshotDamaged, match=f"entry {lost} is missing"):
        active_files(tmp_path, "history")


@pytest.mark.parametrize(
    "entry",
    ["{", "[]", "5", '{"add": 5}', '{"add": {"path": 5}}', '{"txn": {"appId": "topicfold", "version": "x"}}'],
)
def test_a_log_that_cannot_be_read_is_told(tmp_path: Path, entry: str) -> None:
    append(tmp_path, 1)
    (tmp_path / "history" / "_delta_log" / f"{0:020}.json").write_text(entry)
    with pytest.raises(SnapshotDamaged, match="the log of the table"):
        active_files(tmp_path, "history")


def test_a_log_that_may_not_be_listed_is_no_table_without_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(tmp_path, 1)

    def refuse(path: Path) -> list[str]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(os, "listdir", refuse)
    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(SnapshotUnreadable, match="may not be read"):
        active_files(tmp_path, "history")


def test_a_name_that_the_log_has_in_percent_signs_is_that_of_the_file(tmp_path: Path) -> None:
    append(tmp_path, 1)
    entry = tmp_path / "history" / "_delta_log" / f"{1:020}.json"
    entry.write_text('{"add":{"path":"part%20one%25.parquet"}}')
    assert "history/part one%.parquet" in active_files(tmp_path, "history").paths
