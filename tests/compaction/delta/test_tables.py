"""Versions of Delta tables where several jobs write them, and whether they are on the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from deltalake import DeltaTable, Schema
from deltalake.exceptions import DeltaError
from deltalake.table import TableAlterer

from topicfold.compaction.delta.tables import files_in, opened, write_version
from topicfold.errors import SnapshotDamaged
from topicfold.snapshot.files.data_files import write_rows
from topicfold.snapshot.tables import COMMITS


def test_of_two_jobs_that_make_a_table_at_once_both_have_the_same_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = opened(tmp_path, "commits")
    monkeypatch.setattr(DeltaTable, "is_deltatable", lambda *_: False)
    assert opened(tmp_path, "commits").metadata().id == first.metadata().id


def test_of_two_jobs_that_tell_a_table_of_statistics_at_once_both_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "commits"
    DeltaTable.create(str(table), Schema.from_arrow(COMMITS))
    tell = TableAlterer.set_table_properties

    def told_late(alterer: TableAlterer, properties: dict[str, str]) -> None:
        tell(DeltaTable(str(table)).alter, properties)
        tell(alterer, properties)

    monkeypatch.setattr(TableAlterer, "set_table_properties", told_late)
    assert opened(tmp_path, "commits").version() > 0


def test_an_older_table_that_takes_no_change_is_named_and_not_tried_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DeltaTable.create(str(tmp_path / "commits"), Schema.from_arrow(COMMITS))
    tried: list[None] = []

    def refused(*_: object) -> None:
        tried.append(None)
        assert len(tried) == 1
        raise DeltaError("not today")

    monkeypatch.setattr(TableAlterer, "set_table_properties", refused)
    with pytest.raises(SnapshotDamaged, match="commits/_delta_log takes no change: not today"):
        opened(tmp_path, "commits")


@pytest.mark.parametrize("commit", [7, None])
def test_of_two_jobs_that_write_a_version_at_once_one_does_and_the_other_is_told(
    tmp_path: Path, commit: int | None
) -> None:
    tables = [opened(tmp_path, "commits") for _ in range(2)]
    files = [write_rows(tmp_path, "commits", f"{number}", COMMITS.empty_table()) for number in (1, 2)]
    wrote = [
        write_version(table, tmp_path / "commits", [file], set(), 0, commit)
        for table, file in zip(tables, files, strict=True)
    ]
    newest = opened(tmp_path, "commits")
    assert wrote == [True, False]
    assert (newest.version(), files_in(newest)) == (1, {Path(files[0].path).name})


@pytest.mark.parametrize("is_older", [False, True])
def test_a_table_that_is_made_or_told_of_statistics_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_older: bool
) -> None:
    if is_older:
        DeltaTable.create(str(tmp_path / "commits"), Schema.from_arrow(COMMITS))
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.readlink(f"/proc/self/fd/{descriptor}")))
    opened(tmp_path, "commits")
    log = tmp_path / "commits" / "_delta_log"
    assert synced == [str(log / f"{int(is_older):020}.json"), str(log)]
