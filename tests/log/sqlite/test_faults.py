"""What the log in a file does when its file is taken away, or its thread meets what nobody foresaw."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw
import pytest

from tests.full_disk import no_room
from tests.log.following import PATIENCE_SECONDS, Following, never
from topicfold.errors import LogUnavailable, OperatorNeeded, TopicfoldError, WrongLog
from topicfold.log.port import Entry
from topicfold.log.sqlite import SqliteLog
from topicfold.log.sqlite import log as sqlite
from topicfold.log.sqlite.errors import translated
from topicfold.log.sqlite.file import SqliteFile

COPY = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('VACUUM INTO ?', sys.argv[2:])"


def deleted(path: Path) -> None:
    path.unlink()


def moved(path: Path) -> None:
    path.replace(path.with_name("found.db"))


def moved_back(path: Path) -> None:
    path.with_name("found.db").replace(path)


def replaced(path: Path) -> None:
    successor = path.with_name("successor.db")
    successor.write_bytes(path.read_bytes())
    successor.replace(path)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def overwritten(path: Path) -> None:
    copy = path.with_name("copy.db")
    subprocess.run([sys.executable, "-c", COPY, str(path), str(copy)], check=True)
    with path.open("r+b") as file:
        file.write(copy.read_bytes())


def without_its_newest_commits(path: Path) -> None:
    path.with_name("log.db-wal").unlink()


def without_their_index(path: Path) -> None:
    path.with_name("log.db-shm").unlink()


def test_what_the_system_says_of_a_write_that_failed_is_told_also_where_a_log_is_opened(path: Path) -> None:
    file = SqliteFile(path, partitions=1)
    with pytest.raises(LogUnavailable, match=r"disk I/O error: File too large$"), no_room():
        file.append([(0, b"one")])
    assert [entry.offset for entry in file.append([(0, b"another")])] == [0]
    file.close()
    with pytest.raises(LogUnavailable, match=r"disk I/O error: File too large$"), no_room():
        SqliteFile(path, partitions=1)


def test_nobody_is_told_to_restore_a_file_before_they_have_looked_whether_the_disk_reads_again(path: Path) -> None:
    damaged = translated(apsw.CorruptError("database disk image is malformed"), path)
    assert isinstance(damaged, WrongLog)
    assert damaged.hint.startswith("Restart this node first")


lost = pytest.mark.parametrize(
    "lose", [deleted, replaced, emptied, overwritten, without_its_newest_commits, without_their_index]
)


@lost
async def test_a_lost_file_is_one_fault_of_all_partitions(
    log: SqliteLog, path: Path, lose: Callable[[Path], None]
) -> None:
    following = Following(log)
    lose(path)
    error, partition = await following.faulted()
    assert isinstance(error, WrongLog)
    is_the_log = lose in (deleted, replaced, emptied, overwritten)
    told = "Let this node run until you have saved" if is_the_log else "Stop this node by SIGTERM"
    assert error.hint.startswith(told)
    assert error.hint.endswith(f"topicfold renew --log {path}") == (lose is overwritten)
    assert partition is None
    await log.close()
    assert len(following.faults) == 1


async def test_no_empty_log_takes_the_place_of_a_lost_file_and_its_newest_commits_stay(
    log: SqliteLog, path: Path
) -> None:
    following = Following(log)
    log.append(0, b"one", never)
    await following.seen(1)
    moved(path)
    await following.faulted()
    await log.close()
    with pytest.raises(WrongLog, match=r"log.db is gone, but log.db-wal, which has its newest changes, is there"):
        await SqliteLog.open(path, partitions=3)
    moved_back(path)
    again = await SqliteLog.open(path)
    assert [entry.value for entry in await again.read(0, 0, 10)] == [b"one"]
    await again.close()


@lost
async def test_an_append_to_a_lost_file_fails(log: SqliteLog, path: Path, lose: Callable[[Path], None]) -> None:
    failures = asyncio.Queue[TopicfoldError]()
    lose(path)
    log.append(0, b"x", failures.put_nowait)
    error = await asyncio.wait_for(failures.get(), PATIENCE_SECONDS)
    assert isinstance(error, LogUnavailable)
    assert error.reason.endswith("while in use")


@pytest.mark.parametrize("lose", [without_its_newest_commits, without_their_index])
async def test_what_was_answered_is_in_the_file_once_a_node_without_the_files_beside_it_has_stopped(
    path: Path, lose: Callable[[Path], None]
) -> None:
    log = await SqliteLog.open(path)
    following = Following(log)
    log.append(0, b"answered", never)
    await following.seen(1)
    lose(path)
    await following.faulted()
    await log.close()
    log = await SqliteLog.open(path)
    assert [entry.value for entry in await Following(log).seen(1)] == [b"answered"]
    await log.close()


def with_a_copy(path: Path) -> tuple[SqliteFile, bytes]:
    """Return a file of much that is in its write-ahead log only, and a copy that was made before that by SQLite."""
    file = SqliteFile(path, partitions=1)
    file.append([(0, b"old")])
    file._connection.execute("VACUUM INTO ?", (str(path.with_name("copy.db")),))
    for _ in range(20):
        file.append([(0, bytes(3_000))])
    return file, path.with_name("copy.db").read_bytes()


@pytest.mark.parametrize("lose", [emptied, without_its_newest_commits, without_their_index, None])
def test_a_copy_that_was_written_into_the_file_under_a_node_is_still_that_copy_once_the_node_has_stopped(
    path: Path, lose: Callable[[Path], None] | None
) -> None:
    file, copy = with_a_copy(path)
    if lose:
        lose(path)
        with pytest.raises(WrongLog, match="while in use"):
            file.bounds()
    path.write_bytes(copy)
    file.close()
    assert path.read_bytes() == copy


def test_a_copy_that_nodes_had_used_is_still_that_copy_where_the_file_was_seen_to_be_emptied_for_it(path: Path) -> None:
    file, _ = with_a_copy(path)
    used = path.with_name("copy.db")
    SqliteFile(used, partitions=1).close()
    emptied(path)
    with pytest.raises(WrongLog, match="was emptied while in use"):
        file.bounds()
    path.write_bytes(used.read_bytes())
    file.close()
    assert path.read_bytes() == used.read_bytes()


def test_a_copy_is_not_served_with_what_was_left_beside_the_file_that_it_was_written_into(path: Path) -> None:
    file, copy = with_a_copy(path)
    path.write_bytes(copy)
    file.close()
    with pytest.raises(WrongLog, match=r"is a copy, and log\.db-wal beside it is of the file that was there before"):
        SqliteFile(path, partitions=1)


def test_nothing_more_is_written_into_a_file_that_seems_damaged_and_a_restart_still_has_all_of_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, _ = with_a_copy(path)
    before = path.read_bytes()
    monkeypatch.setattr(file, "_select_bounds", damaged)
    with pytest.raises(WrongLog, match="is damaged"):
        file.bounds()
    file.close()
    assert path.read_bytes() == before
    again = SqliteFile(path, partitions=1)
    assert again.bounds() == [(0, 21)]
    again.close()


def test_what_is_left_of_a_file_that_was_emptied_is_in_it_once_the_node_has_stopped(path: Path) -> None:
    file, _ = with_a_copy(path)
    emptied(path)
    with pytest.raises(WrongLog, match="was emptied while in use"):
        file.bounds()
    file.close()
    assert path.stat().st_size
    assert not path.with_name("log.db-wal").exists()


async def test_an_append_fails_whose_file_was_lost_while_it_was_committed(
    log: SqliteLog, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures, select_bounds = asyncio.Queue[TopicfoldError](), SqliteFile._select_bounds

    def select_and_lose(file: SqliteFile) -> object:
        path.unlink()
        return select_bounds(file)

    monkeypatch.setattr(SqliteFile, "_select_bounds", select_and_lose)
    log.append(0, b"x", failures.put_nowait)
    assert isinstance(await asyncio.wait_for(failures.get(), PATIENCE_SECONDS), LogUnavailable)


async def test_a_record_is_delivered_that_is_in_the_log_though_it_was_told_to_have_failed(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    following, append, failures = Following(log), SqliteFile.append, asyncio.Queue[TopicfoldError]()
    log.append(0, b"x", never)
    await following.seen(1)

    def append_and_deny_it(file: SqliteFile, records: Sequence[tuple[int, bytes]]) -> list[Entry]:
        append(file, records)
        raise LogUnavailable("its directory cannot be looked into")

    monkeypatch.setattr(SqliteFile, "append", append_and_deny_it)
    log.append(0, b"y", failures.put_nowait)
    await asyncio.wait_for(failures.get(), PATIENCE_SECONDS)
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await following.seen(2) == [Entry(0, 0, b"x"), Entry(0, 1, b"y")]


@lost
async def test_a_lost_file_is_refused_to_readers_and_reported(
    log: SqliteLog, path: Path, lose: Callable[[Path], None]
) -> None:
    assert not await log.check_settings()
    lose(path)
    for _ in range(2):
        with pytest.raises(LogUnavailable, match=r"while in use$"):
            await log.end_offsets()
    with pytest.raises(LogUnavailable):
        log.append(0, b"x", never)
    [problem] = await log.check_settings()
    assert problem.refuses_writes


async def test_whatever_the_thread_meets_is_a_fault_and_fails_what_waits(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    following, failures = Following(log), asyncio.Queue[TopicfoldError]()
    monkeypatch.setattr(SqliteFile, "append", out_of_memory)
    log.append(0, b"x", failures.put_nowait)
    asked = asyncio.create_task(log.end_offsets())
    error, partition = await following.faulted()
    assert isinstance(error, OperatorNeeded)
    assert ("no room" in error.reason, error.hint, partition) == (True, "Restart this node.", None)
    assert isinstance(await asyncio.wait_for(failures.get(), PATIENCE_SECONDS), LogUnavailable)
    with pytest.raises(LogUnavailable):
        await asked
    with pytest.raises(LogUnavailable):
        log.append(0, b"x", never)


async def test_who_follows_a_log_that_has_met_a_fault_hears_of_it(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteFile, "read", out_of_memory)
    with pytest.raises(LogUnavailable, match="no room"):
        await log.read(0, 0, 1)
    error, partition = await Following(log).faulted()
    assert isinstance(error, OperatorNeeded)
    assert partition is None


async def test_a_question_that_breaks_the_thread_is_answered_and_what_was_appended_before_has_not_failed(
    log: SqliteLog, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteFile, "read", out_of_memory)
    log.append(0, b"x", never)
    with pytest.raises(LogUnavailable, match="no room"):
        await log.read(0, 0, 1)
    with apsw.Connection(str(path)) as connection:
        assert connection.execute("SELECT count(*) FROM records").get == 1
    connection.close()


async def test_a_question_that_breaks_the_thread_fails_no_append_that_it_took_together_with_it(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, failures = threading.Event(), list[TopicfoldError]()
    waits = asyncio.create_task(log._worker.ask(lambda file: goes_on.wait(PATIENCE_SECONDS)))
    await asyncio.sleep(0)
    monkeypatch.setattr(SqliteFile, "read", out_of_memory)
    log.append(0, b"x", failures.append)
    breaks = asyncio.create_task(log.read(0, 0, 1))
    await asyncio.sleep(0)
    goes_on.set()
    await waits
    with pytest.raises(LogUnavailable, match="no room"):
        await breaks
    assert not failures


async def test_a_thread_that_breaks_by_the_last_that_it_was_given_ends_all_the_same(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_held, go_on, failures = threading.Event(), threading.Event(), list[TopicfoldError]()
    held = asyncio.create_task(log._worker.ask(lambda file: is_held.set() or go_on.wait(30)))
    await asyncio.to_thread(is_held.wait)
    monkeypatch.setattr(SqliteFile, "append", out_of_memory)
    log.append(0, b"x", failures.append)
    closing = asyncio.create_task(log.close())
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.wait_for(closing, PATIENCE_SECONDS)
    assert await held
    assert len(failures) == 1


async def test_a_thread_that_does_not_answer_in_time_leaves_the_log_unavailable(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_ANSWER_SECONDS", 0.01)
    may_go_on, bounds = threading.Event(), SqliteFile.bounds
    monkeypatch.setattr(SqliteFile, "bounds", lambda file: may_go_on.wait(PATIENCE_SECONDS) and bounds(file))
    with pytest.raises(LogUnavailable, match="did not answer within"):
        await log.end_offsets()
    may_go_on.set()


async def test_a_log_that_is_closed_delivers_nothing_that_was_on_its_way(log: SqliteLog) -> None:
    following = Following(log)
    log.append(0, b"x", never)
    await log.close()
    assert not following.entries


async def test_opening_does_not_wait_for_a_thread_that_broke(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteFile, "_prepare", out_of_memory)
    with pytest.raises(OperatorNeeded, match="no room"):
        await asyncio.wait_for(SqliteLog.open(path), PATIENCE_SECONDS)


async def test_an_opening_that_is_given_up_leaves_nobody_with_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, prepare = threading.Event(), SqliteFile._prepare

    def prepare_later(self: SqliteFile, path: Path, partitions: int) -> None:
        goes_on.wait(PATIENCE_SECONDS)
        prepare(self, path, partitions)

    monkeypatch.setattr(SqliteFile, "_prepare", prepare_later)
    opening = asyncio.create_task(SqliteLog.open(path))
    await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait([opening])
    goes_on.set()
    for thread in threading.enumerate():
        if thread.name == "topicfold-sqlite":
            await asyncio.to_thread(thread.join, PATIENCE_SECONDS)
            assert not thread.is_alive()


def damaged() -> None:
    """Stand for a method that finds the file damaged."""
    raise apsw.CorruptError("database disk image is malformed")


def out_of_memory(*_: object) -> None:
    """Stand for a method that fails as no error of SQLite's or ours."""
    raise MemoryError("no room")


def test_of_an_append_that_fails_half_way_nothing_is_left_and_the_next_is_made(path: Path) -> None:
    file = SqliteFile(path, partitions=1)
    file._connection.limit(apsw.SQLITE_LIMIT_LENGTH, 1_000)
    with pytest.raises(LogUnavailable):
        file.append([(0, b"one"), (0, bytes(2_000))])
    assert [entry.offset for entry in file.append([(0, b"another")])] == [0]
    assert [entry.value for entry in file.read(0, 0, 10)] == [b"another"]
    file.close()


def test_a_file_that_another_process_makes_at_the_same_moment_is_the_others(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = SqliteFile._keep_write_ahead_log

    def be_forestalled(file: SqliteFile) -> None:
        monkeypatch.undo()
        SqliteFile(path, partitions=5).close()
        keep(file)

    monkeypatch.setattr(SqliteFile, "_keep_write_ahead_log", be_forestalled)
    file = SqliteFile(path, partitions=3)
    assert file.partitions == 5
    file.close()


def test_of_many_records_so_many_are_deleted_at_once_as_are_told(path: Path) -> None:
    file = SqliteFile(path, partitions=1)
    file.append([(0, b"x")] * 5)
    assert [file.delete_before(0, 4, 3), file.delete_before(0, 4, 3)] == [3, 4]
    assert [entry.offset for entry in file.read(0, 0, 10)] == [4]
    file.close()
