"""The SQLite file of a log, used directly: what each use of it says where the file cannot be used, and how much."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from topicfold.errors import LogUnavailable, WrongLog
from topicfold.log.sqlite.file import SqliteFile

any_use = pytest.mark.parametrize(
    "use",
    [
        lambda file: file.append([(0, b"x")]),
        lambda file: file.read(0, 0, 10),
        lambda file: file.bounds(),
        lambda file: file.version(),
        lambda file: file.delete_before(0, 1, 10),
        lambda file: file.require_writable(),
    ],
    ids=["append", "read", "bounds", "version", "delete_before", "require_writable"],
)


class Locked:
    """A connection to a file that others have locked."""

    in_transaction = False

    def execute(self, *_: object) -> None:
        raise apsw.BusyError("database is locked")

    def wal_checkpoint(self) -> None:
        raise apsw.BusyError("database is locked")

    def close(self) -> None:
        pass


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SqliteFile]:
    file = SqliteFile(tmp_path / "log.db", partitions=1)
    file.append([(0, b"x")])
    yield file
    file.close()


@any_use
def test_no_use_goes_on_with_a_file_that_nobody_can_open_again(
    file: SqliteFile, tmp_path: Path, use: Callable[[SqliteFile], object]
) -> None:
    newest = (tmp_path / "log.db-wal").read_bytes()
    (tmp_path / "log.db").unlink()
    with pytest.raises(WrongLog, match=r"was deleted or replaced while in use$"):
        use(file)
    assert (tmp_path / "log.db-wal").read_bytes() == newest


@any_use
def test_a_file_that_cannot_be_looked_at_is_not_taken_for_a_lost_one(
    file: SqliteFile, monkeypatch: pytest.MonkeyPatch, use: Callable[[SqliteFile], object]
) -> None:
    def denied(path: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(os, "stat", denied)
        with pytest.raises(LogUnavailable, match=r"Permission denied$"):
            use(file)
    use(file)


def test_a_file_that_cannot_be_opened_is_told_with_where_to_look(
    file: SqliteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise apsw.CantOpenError("unable to open database file")

    monkeypatch.setattr(apsw, "VFSFile", fail)
    with pytest.raises(LogUnavailable, match=r"log\.db: unable to open database file$") as caught:
        SqliteFile(tmp_path / "log.db", partitions=1)
    assert "whether the disk that it is on can be read" in caught.value.hint


@any_use
def test_a_use_that_the_file_does_not_let_through_may_be_tried_again(
    file: SqliteFile, monkeypatch: pytest.MonkeyPatch, use: Callable[[SqliteFile], object]
) -> None:
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(file, "_connection", Locked())
        with pytest.raises(LogUnavailable, match=r"is locked by another process$"):
            use(file)
    use(file)


def test_a_checkpoint_that_comes_at_a_bad_time_is_left_to_a_later_one(
    file: SqliteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(file, "_connection", Locked())
        file.checkpoint()


def test_of_large_records_a_page_has_fewer_than_were_asked_for(file: SqliteFile) -> None:
    file.append([(0, bytes(1024 * 1024))] * 9)
    page = file.read(0, 1, 9)
    assert [entry.offset for entry in page] == [1, 2, 3, 4]
