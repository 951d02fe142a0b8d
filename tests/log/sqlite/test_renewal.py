"""A log that was restored from a copy becomes another one, and holds the same."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.log.following import never
from topicfold.errors import BadSetting, LogUnavailable, WrongLog
from topicfold.log.identity import establish_identity, header_value, identity_in, recognise_identity
from topicfold.log.port import LogIdentity
from topicfold.log.sqlite import SqliteLog
from topicfold.log.sqlite.file import SqliteFile
from topicfold.log.sqlite.renewal import renew

OLD, NEW = b"o" * 16, b"n" * 16


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A log of three partitions, with records in one."""
    path = tmp_path / "log.db"
    log = await SqliteLog.open(path, partitions=3)
    await establish_identity(log, OLD)
    for value in (b"first", b"second"):
        log.append(1, value, never)
    await log.close()
    return path


def records(path: Path) -> list[list[bytes]]:
    """Return the values of each partition."""
    file = SqliteFile(path, 3)
    try:
        return [[entry.value for entry in file.read(partition, 0, 100)] for partition in range(3)]
    finally:
        file.close()


async def test_it_is_another_log_in_every_partition_with_the_same_records(path: Path) -> None:
    before = records(path)
    assert renew(path, NEW).incarnation == NEW
    log = await SqliteLog.open(path)
    assert (await recognise_identity(log)).incarnation == NEW
    await log.close()
    after = records(path)
    for partition in range(3):
        header = identity_in(after[partition][0])
        assert header is not None
        assert header.incarnation == NEW
    assert [values[1:] for values in after] == [values[1:] for values in before] == [[], [b"first", b"second"], []]


async def test_it_may_lie_below_a_link_but_be_none(path: Path) -> None:
    (path.parent / "below").symlink_to(path.parent)
    assert renew(path.parent / "below" / "log.db", NEW).incarnation == NEW
    (path.parent / "link.db").symlink_to(path)
    with pytest.raises(BadSetting, match=r"link\.db is a link"):
        renew(path.parent / "link.db", OLD)


async def test_a_header_of_some_other_log_among_the_records_is_left_as_it_is(path: Path) -> None:
    stray = header_value(LogIdentity(b"s" * 16, 3, "other"))
    log = await SqliteLog.open(path)
    log.append(2, stray, never)
    await log.close()
    renew(path, NEW)
    assert records(path)[2][1] == stray


async def test_a_log_that_a_node_has_open_is_not_renewed(path: Path) -> None:
    log = await SqliteLog.open(path)
    with pytest.raises(LogUnavailable) as refused:
        renew(path, NEW)
    assert "Stop all nodes" in refused.value.hint
    assert (await recognise_identity(log)).incarnation == OLD
    await log.close()
    renew(path, NEW)


def taken_back(path: Path, values: list[bytes]) -> Path:
    """Put a copy that SQLite made into the place of a file that a killed process went on with; return what it left."""
    copy, newest = path.with_name("copy.db"), path.with_name("log.db-wal")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM INTO ?", (str(copy),))
    file = SqliteFile(path, 3)
    for value in values:
        file.append([(1, value)])
    left = newest.read_bytes()
    file.close()
    copy.replace(path)
    newest.write_bytes(left)
    return newest


def test_a_copy_is_not_mixed_with_the_newest_changes_of_the_file_that_was_there_before(path: Path) -> None:
    before = records(path)
    newest = taken_back(path, [bytes([number]) * 4_000 for number in range(9)])
    content = path.read_bytes()
    with pytest.raises(WrongLog, match=r"log.db-wal lies beside .*log.db, and would be taken for its latest changes"):
        renew(path, NEW)
    with pytest.raises(WrongLog, match=r"log.db is a copy, and log.db-wal beside it is of the file that was there"):
        SqliteFile(path, 3)
    assert path.read_bytes() == content
    newest.unlink()
    renew(path, NEW)
    assert [values[1:] for values in records(path)] == [values[1:] for values in before]


def test_a_copy_with_newest_changes_beside_it_is_left_as_it_is(path: Path) -> None:
    file = SqliteFile(path, 3)
    file.append([(1, b"third")])
    kept = {each: each.read_bytes() for each in (path, path.with_name("log.db-wal"))}
    file.close()
    for each, content in kept.items():
        each.write_bytes(content)
    with pytest.raises(WrongLog, match="lies beside") as refused:
        renew(path, NEW)
    assert refused.value.hint.startswith("If it belongs to the file that was there before, remove it")
    assert {each: each.read_bytes() for each in kept} == kept
    assert records(path)[1][1:] == [b"first", b"second", b"third"]
    renew(path, NEW)


async def test_a_trimmed_log_keeps_its_name_as_its_snapshot_bears_it(path: Path) -> None:
    log = await SqliteLog.open(path)
    await log.delete_before(1, 2)
    await log.close()
    with pytest.raises(WrongLog, match="was trimmed"):
        renew(path, NEW)
    log = await SqliteLog.open(path)
    assert (await recognise_identity(log)).incarnation == OLD
    await log.close()


async def test_what_is_no_log_is_refused_and_nothing_made(tmp_path: Path) -> None:
    missing, text, empty, young = (tmp_path / name for name in ("missing", "text", "empty", "young"))
    text.write_text("something else, and longer than a header of SQLite is, which has one hundred bytes" * 20)
    empty.touch()
    await (await SqliteLog.open(young, partitions=1)).close()
    for path in (missing, text, empty, young):
        with pytest.raises(WrongLog):
            renew(path, NEW)
    assert not missing.exists()
    assert empty.read_bytes() == b""
