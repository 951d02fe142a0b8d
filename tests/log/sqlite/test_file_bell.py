"""The bell that rings when a file is written."""

from __future__ import annotations

import asyncio
import errno
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from topicfold.log.sqlite import file_bell
from topicfold.log.sqlite.file_bell import FileBell

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of writes")

LONG = 60.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "log.db-wal"
    path.write_bytes(b"")
    return path


@pytest.fixture
def bell(path: Path) -> Iterator[FileBell]:
    bell = FileBell(path)
    yield bell
    bell.close()


def test_writes_ring_it_once_also_those_that_came_before_anybody_waited(bell: FileBell, path: Path) -> None:
    for _ in range(3):
        with path.open("ab") as file:
            file.write(b"a commit")
    assert bell.is_rung(LONG)
    assert not bell.is_rung(0)


async def test_a_write_ends_the_wait(bell: FileBell, path: Path) -> None:
    waiting = asyncio.create_task(asyncio.to_thread(bell.is_rung, LONG))
    await asyncio.sleep(0.01)
    await asyncio.to_thread(path.write_bytes, b"a commit")
    assert await waiting


def test_who_is_woken_is_not_told_of_a_write_and_waits_again_afterwards(bell: FileBell) -> None:
    bell.wake()
    bell.wake()
    assert not bell.is_rung(LONG)
    assert not bell.is_rung(0)


def test_reading_a_file_does_not_ring(bell: FileBell, path: Path) -> None:
    assert path.read_bytes() == b""
    assert not bell.is_rung(0)


def test_there_is_none_for_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert file_bell.file_bell(tmp_path / "gone") is None


def test_there_is_none_where_the_system_has_no_more(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(_: Path) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(file_bell, "_listening", none_left)
    assert file_bell.file_bell(path) is None
