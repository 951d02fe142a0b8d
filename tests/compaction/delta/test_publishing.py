"""Where snapshots can be, as long as Delta's libraries are what they are."""

from __future__ import annotations

import os
import string
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from tests.compaction.folds import run_here
from tests.memory_log import MemoryLog, MemoryStore
from tests.snapshot.making import compacted_further, records_of
from topicfold.compaction.compactor import Compactor
from topicfold.errors import BadSetting, SnapshotUnreadable
from topicfold.log.identity import establish_identity, recognise_identity
from topicfold.snapshot.intact import require_intact

UNUSABLE = "\\"


async def log() -> MemoryLog:
    opened = MemoryLog(MemoryStore(2))
    await establish_identity(opened, b"L" * 16)
    return opened


async def test_a_directory_with_any_other_character_in_its_name_holds_one(tmp_path: Path) -> None:
    usable = "".join(sorted({*string.printable.strip(), " ", *"äю中😀"} - {*UNUSABLE, "/"})) + "%4"
    root = tmp_path / usable
    commit = await compacted_further(await log(), root)
    assert pa.table(DeltaTable(str(root / "commits")).to_pyarrow_table())["sequence"].to_pylist() == [commit.sequence]
    assert os.listdir(tmp_path) == [usable]


@pytest.mark.parametrize("name", ["snapshot", "../snapshot", "a:b", "memory:b"])
async def test_one_that_is_named_from_where_one_is_holds_one_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    opened = await log()
    job = Compactor(Path(name), await recognise_identity(opened))
    # Where Spark has its executors.
    monkeypatch.chdir("/")
    done = job.take(run_here(await records_of(opened)), slices=2)
    assert done is not None
    require_intact(here / name, done.commit)
    assert DeltaTable(str(here / name / "commits")).to_pyarrow_table()["sequence"].to_pylist() == [1]


@pytest.mark.parametrize("name", ["file:///tmp/snapshot", "s3://bucket/snapshot", "hdfs://name:8020/snapshot"])
async def test_a_url_is_no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SnapshotUnreadable, match=rf"^{name.split(':')[0]}://… is a URL") as caught:
        await compacted_further(await log(), Path(name))
    assert "mounted" in caught.value.hint
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("name", [*UNUSABLE, "%41", "%fF", "\n", "\x7f", "\udcff"])
async def test_one_that_delta_would_take_for_another_is_refused_before_anything_is_written(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(BadSetting, match="no Delta table can lie in"):
        await compacted_further(await log(), tmp_path / f"a{name}b" / "snapshot")
    assert not os.listdir(tmp_path)


async def test_one_that_a_link_leads_to_counts_as_well(tmp_path: Path) -> None:
    link, directory = tmp_path / "link", tmp_path / "a%41b"
    directory.mkdir()
    link.symlink_to(directory)
    with pytest.raises(BadSetting, match="a%41b"):
        await compacted_further(await log(), link / "snapshot")
    assert not os.listdir(directory)
