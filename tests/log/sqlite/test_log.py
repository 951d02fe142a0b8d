"""What the log in a file promises beyond the contract of all logs."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from unittest.mock import ANY

import apsw
import pytest

import topicfold
from tests.log.following import PATIENCE_SECONDS, Following, never
from tests.log.sqlite import writer as sqlite_writer
from topicfold.errors import BadSetting, LogGap, LogUnavailable, Overloaded, TopicfoldError, WrongLog
from topicfold.log.identity import establish_identity
from topicfold.log.port import Entry, LogFull, SettingProblem
from topicfold.log.sqlite import SqliteLog
from topicfold.log.sqlite import delivery as sqlite_delivery
from topicfold.log.sqlite import worker as sqlite_worker
from topicfold.log.sqlite.file import SqliteFile, require_safe_sqlite

RECOVERY = Path(__file__).parents[3] / "docs" / "recovery.md"


async def test_several_processes_write_one_order_without_a_gap(log: SqliteLog, path: Path) -> None:
    following = Following(log)
    writers = [await writer(path, who, 300) for who in ("a", "b", "c")]
    for process in writers:
        assert await process.wait() == 0
    entries = await following.seen(900)
    for partition in range(3):
        assert [e.offset for e in entries if e.partition == partition] == list(range(300))
    assert len({entry.value for entry in entries}) == 900


async def test_an_append_of_another_process_is_seen_while_this_one_does_nothing(log: SqliteLog, path: Path) -> None:
    following = Following(log)
    process = await writer(path, "other", 1)
    assert await following.seen(1) == [Entry(0, 0, b"other-0")]
    assert await process.wait() == 0


async def test_many_processes_may_make_the_file_at_once(path: Path) -> None:
    writers = [await writer(path, str(number), 3) for number in range(4)]
    assert [await process.wait() for process in writers] == [0, 0, 0, 0]
    log = await SqliteLog.open(path)
    assert sum((await log.end_offsets()).values()) == 12
    await log.close()


async def test_making_the_file_waits_for_another_process_that_is_making_it(path: Path) -> None:
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    making = asyncio.create_task(SqliteLog.open(path, partitions=3))
    await asyncio.sleep(0.1)
    assert not making.done()
    other.close()
    await (await making).close()


async def test_an_existing_file_keeps_its_number_of_partitions(log: SqliteLog, path: Path) -> None:
    again = await SqliteLog.open(path, partitions=8)
    assert again.partitions == 3
    await again.close()


async def test_the_offset_of_a_deleted_last_record_is_never_used_again(log: SqliteLog, path: Path) -> None:
    for value in (b"first", b"second"):
        log.append(0, value, never)
    await Following(log).seen(2)
    tamper(path, "DELETE FROM records WHERE partition = 0 AND offset = 1")
    log.append(0, b"third", never)
    assert (await log.end_offsets())[0] == 3
    assert [entry.offset for entry in await log.read(0, 0, 10)] == [0, 2]


@pytest.mark.parametrize(("missing", "whole"), [(0, 0), (1, 1), (2, 2)])
async def test_a_missing_record_stops_its_partition_after_the_last_whole_one(
    log: SqliteLog, path: Path, missing: int, whole: int
) -> None:
    for _ in range(3):
        log.append(1, b"x", never)
    await log.end_offsets()
    tamper(path, f"DELETE FROM records WHERE partition = 1 AND offset = {missing}")
    following = Following(log)
    error, partition = await following.faulted()
    assert isinstance(error, LogGap)
    assert (partition, error.values["expected"], len(following.entries)) == (1, missing, whole)


async def test_only_the_owner_may_read_the_file(log: SqliteLog, path: Path) -> None:
    log.append(0, b"x", never)
    await log.end_offsets()
    modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {0o600}


async def test_whoever_lets_nobody_write_new_files_gets_a_log_that_they_can_write(tmp_path: Path) -> None:
    before = os.umask(0o277)
    try:
        log = await SqliteLog.open(tmp_path / "new.db", partitions=1)
    finally:
        os.umask(before)
    await log.close()
    assert stat.S_IMODE((tmp_path / "new.db").stat().st_mode) == 0o600


async def test_commits_are_synced_and_the_file_bears_its_name(log: SqliteLog, path: Path) -> None:
    with apsw.Connection(str(path)) as connection:
        assert connection.pragma("journal_mode") == "wal"
        assert connection.pragma("application_id").to_bytes(4, "big") == b"TFLG"
    synchronous = await log._worker.ask(lambda file: file._connection.pragma("synchronous"))
    assert synchronous == 2


async def test_a_copy_that_is_made_as_the_document_says_of_a_log_in_use_is_the_same_log(path: Path) -> None:
    (command,) = re.findall(r"^    (umask .*?)\n\n", RECOVERY.read_text(), re.DOTALL | re.MULTILINE)
    log, copy = await SqliteLog.open(path.with_name("topicfold.db")), path.with_name("copy.db")
    log.append(0, b"x", never)
    await Following(log).seen(1)
    own = command.replace("python3", shlex.quote(sys.executable), 1)
    await asyncio.to_thread(subprocess.run, own, shell=True, cwd=path.parent, check=True)
    await log.close()
    opened = await SqliteLog.open(copy)
    assert [entry.value for entry in await opened.read(0, 0, 10)] == [b"x"]
    with apsw.Connection(str(copy)) as connection:
        assert connection.pragma("journal_mode") == "wal"
    await opened.close()


async def test_a_file_copied_without_its_write_ahead_log_is_no_empty_file(log: SqliteLog, path: Path) -> None:
    copy = path.with_name("copy.db")
    await asyncio.to_thread(shutil.copyfile, path, copy)
    with apsw.Connection(str(copy)) as connection:
        assert connection.pragma("application_id").to_bytes(4, "big") == b"TFLG"
        assert connection.execute("SELECT count(*) FROM partitions").get == log.partitions


async def test_a_copy_of_a_young_log_without_its_write_ahead_log_is_the_same_log(log: SqliteLog, path: Path) -> None:
    identity = await establish_identity(log, b"the log's own id")
    opened = await SqliteLog.open(copy_of_the_file_alone(path))
    assert await establish_identity(opened, b"a new log's id..") == identity
    await opened.close()


async def at_rest(log: SqliteLog) -> None:
    """Return once the thread waits for somebody to write."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not log._worker._is_resting:  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.001)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of writes")
async def test_an_idle_log_is_hardly_looked_at_and_what_anybody_appends_is_seen_at_once(
    log: SqliteLog, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_delivery, "_AWAKE_SECONDS", 0.01)
    monkeypatch.setattr(sqlite_worker, "RESTING_SECONDS", 10 * PATIENCE_SECONDS)
    looks, version = [0], SqliteFile.version

    def counted(file: SqliteFile) -> int:
        looks[0] += 1
        return version(file)

    monkeypatch.setattr(SqliteFile, "version", counted)
    other = await SqliteLog.open(path)
    following = Following(log)
    await at_rest(log)
    before = looks[0]
    await asyncio.sleep(0.2)
    assert looks[0] < before + 20
    for count, writer in enumerate((other, log, other), 1):
        writer.append(0, b"x", never)
        await following.seen(count)
        await at_rest(log)
    assert (await log.end_offsets())[0] == 3
    await other.close()


async def test_where_the_system_does_not_tell_of_writes_what_others_append_is_looked_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_worker, "file_bell", lambda _: None)
    log, other = [await SqliteLog.open(path, partitions=3) for _ in range(2)]
    following = Following(log)
    other.append(0, b"x", never)
    assert [entry.value for entry in await following.seen(1)] == [b"x"]
    for each in (log, other):
        await each.close()


async def test_while_nothing_is_appended_the_file_takes_in_what_was(
    log: SqliteLog, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_delivery, "_QUIET_SECONDS", 0.02)
    following = Following(log)
    for count in range(1, 4):
        log.append(0, b"x", never)
        await following.seen(count)
    await until_the_file_alone_holds(3, log, path)


async def test_while_somebody_reads_appends_go_on_and_the_file_takes_them_in_afterwards(
    log: SqliteLog, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_delivery, "_QUIET_SECONDS", 0.0)
    following, reader = Following(log), apsw.Connection(str(path))
    reader.execute("BEGIN; SELECT count(*) FROM records")
    for count in range(1, 4):
        log.append(0, b"x", never)
        await following.seen(count)
    assert records_in(copy_of_the_file_alone(path)) == 0
    reader.close()
    await until_the_file_alone_holds(3, log, path)


async def test_a_file_takes_in_what_a_killed_process_left_beside_it_when_it_is_opened(
    log: SqliteLog, path: Path, tmp_path: Path
) -> None:
    for _ in range(3):
        log.append(0, b"x", never)
        await log.end_offsets()
    left = tmp_path / "left.db"
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{path}{suffix}", f"{left}{suffix}")
    opened = await SqliteLog.open(left)
    assert records_in(copy_of_the_file_alone(left)) == 3
    await opened.close()


@pytest.fixture
def foreign(path: Path) -> Path:
    """A database of another program."""
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE theirs(x)")
    database.close()
    return path


@pytest.fixture
def diary(path: Path) -> Path:
    """A file that is no database."""
    path.write_text("Dear diary, " * 100)
    return path


async def test_another_program_s_database_is_refused_and_left_as_it_was(foreign: Path) -> None:
    before = content(foreign)
    with pytest.raises(WrongLog, match="not a log of Topicfold"):
        await SqliteLog.open(foreign)
    assert content(foreign) == before


async def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(diary: Path) -> None:
    with pytest.raises(WrongLog, match="not a SQLite database"):
        await SqliteLog.open(diary)
    assert content(diary) == b"Dear diary, " * 100


async def test_a_log_of_a_newer_format_is_refused(log: SqliteLog, path: Path) -> None:
    await log.close()
    tamper(path, "PRAGMA user_version = 2")
    with pytest.raises(WrongLog, match="format 2") as refused:
        await SqliteLog.open(path)
    assert refused.value.hint == "Install a newer Topicfold here."


@pytest.fixture
def link(path: Path) -> Path:
    """A link to where no file is."""
    path.symlink_to(path.with_name("target.db"))
    return path


async def test_a_link_is_not_followed(link: Path) -> None:
    with pytest.raises(BadSetting, match="is a link"):
        await SqliteLog.open(link)
    assert [file.name for file in link.parent.iterdir()] == ["log.db"]


async def test_a_file_with_two_names_is_refused_for_each_would_have_its_own_write_ahead_log(
    log: SqliteLog, path: Path
) -> None:
    await log.close()
    path.with_name("other.db").hardlink_to(path)
    for each in (path, path.with_name("other.db")):
        with pytest.raises(BadSetting, match="has another name too"):
            await SqliteLog.open(each)
    path.with_name("other.db").unlink()
    await (await SqliteLog.open(path)).close()


async def test_a_directory_that_cannot_be_written_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.db"
    path.touch()
    monkeypatch.setattr(os, "access", lambda place, mode: place != tmp_path)
    with pytest.raises(BadSetting, match=r"the directory of .*log\.db is not writable"):
        await SqliteLog.open(path)


@pytest.mark.parametrize("name", ["missing/log.db", "."])
async def test_a_path_that_cannot_hold_a_file_is_a_bad_setting(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadSetting):
        await SqliteLog.open(tmp_path / name)


async def test_a_name_that_is_no_utf_8_is_a_bad_setting_and_nothing_is_made(tmp_path: Path) -> None:
    directory = tmp_path / os.fsdecode(b"caf\xe9")
    directory.mkdir()
    with pytest.raises(BadSetting, match=r"caf.* is not UTF-8$"):
        await SqliteLog.open(directory / "log.db")
    assert not [*directory.iterdir()]


@pytest.mark.parametrize("version", ["3.7.0", "3.40.1", "3.51.2"])
def test_a_sqlite_that_can_damage_the_file_is_refused(version: str) -> None:
    with pytest.raises(BadSetting, match=r"3\.51\.3"):
        require_safe_sqlite(version)


@pytest.mark.parametrize("version", ["3.51.3", "3.54.1", "4.0.0"])
def test_a_sqlite_with_the_repair_is_taken(version: str) -> None:
    require_safe_sqlite(version)


async def test_opening_refuses_an_old_sqlite(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    with pytest.raises(BadSetting):
        await SqliteLog.open(path)
    assert not os.listdir(path.parent)


async def test_an_append_to_a_locked_file_fails_and_later_ones_go_through(log: SqliteLog, path: Path) -> None:
    following, failures = Following(log), asyncio.Queue[TopicfoldError]()
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    log.append(0, b"too early", failures.put_nowait)
    error = await failures.get()
    other.close()
    assert isinstance(error, LogUnavailable)
    assert "locked" in error.reason
    log.append(0, b"in time", never)
    assert await following.seen(1) == [Entry(0, 0, b"in time")]


async def test_an_append_to_a_full_disk_fails_and_the_log_goes_on_when_there_is_room(log: SqliteLog) -> None:
    failures = asyncio.Queue[TopicfoldError]()
    room = await log._worker.ask(lambda file: file._connection.pragma("max_page_count"))
    await log._worker.ask(lambda file: file._connection.pragma("max_page_count", 1))
    log.append(0, bytes(100_000), failures.put_nowait)
    assert isinstance(await failures.get(), LogFull)
    await log._worker.ask(lambda file: file._connection.pragma("max_page_count", room))
    log.append(0, b"x", never)
    assert await log.end_offsets() == {0: 1, 1: 0, 2: 0}


@pytest.mark.parametrize(
    ("error", "setting", "found"),
    [
        (LogFull("the disk of log.db is full", hint="Make room."), "disk", "full"),
        (LogUnavailable("log.db: disk I/O error"), "file", "not writable: log.db: disk I/O error"),
    ],
)
async def test_a_file_that_cannot_be_written_is_told_for_as_long_as_that_is_so(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch, error: LogUnavailable, setting: str, found: str
) -> None:
    def broken(*_: object) -> None:
        raise error

    failures = asyncio.Queue[TopicfoldError]()
    with monkeypatch.context() as patch:
        patch.setattr(SqliteFile, "_transaction", broken)
        log.append(0, b"x", failures.put_nowait)
        assert await failures.get() is error
        assert await log.check_settings() == (SettingProblem(setting, found, ANY, False, error.hint),)
    assert await log.check_settings() == ()
    assert await log.end_offsets() == dict.fromkeys(range(3), 0)


async def test_a_full_disk_is_told_with_its_place_until_there_is_room(log: SqliteLog, path: Path) -> None:
    async def limit(pages: int) -> None:
        await log._worker.ask(lambda file: file._connection.pragma("max_page_count", pages))

    failures = asyncio.Queue[TopicfoldError]()
    await limit(1)
    log.append(0, bytes(100_000), failures.put_nowait)
    assert isinstance(await failures.get(), LogFull)
    (problem,) = await log.check_settings()
    assert (problem.setting, problem.found) == ("disk", "full")
    assert str(path) in problem.repair
    await limit(1_000)
    assert await log.check_settings() == ()
    assert await log.end_offsets() == dict.fromkeys(range(3), 0)
    assert await log._worker.ask(lambda file: file._connection.execute("SELECT count(*) FROM records").get) == 0


async def test_a_read_that_fails_for_a_moment_is_tried_again(log: SqliteLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append(0, b"x", never)
    await log.end_offsets()
    read, failures = SqliteFile.read, [LogUnavailable("the disk is slow")]

    def read_at_second_try(file: SqliteFile, partition: int, offset: int, limit: int) -> list[Entry]:
        if failures:
            raise failures.pop()
        return read(file, partition, offset, limit)

    monkeypatch.setattr(SqliteFile, "read", read_at_second_try)
    following = Following(log)
    assert await following.seen(1) == [Entry(0, 0, b"x")]
    assert not failures


async def test_too_many_waiting_appends_are_refused(log: SqliteLog) -> None:
    is_held, go_on = threading.Event(), threading.Event()
    held = asyncio.create_task(log._worker.ask(lambda file: is_held.set() or go_on.wait(30)))
    await asyncio.to_thread(is_held.wait)
    for _ in range(10_000):
        log.append(0, b"x", never)
    with pytest.raises(Overloaded):
        log.append(0, b"x", never)
    go_on.set()
    await held


async def test_a_loop_that_stands_still_holds_up_replaying(log: SqliteLog) -> None:
    for _ in range(2_000):
        log.append(0, bytes(20_000), never)
    await log.end_offsets()
    following, delivery = Following(log), log._worker._delivery
    while delivery._handed_out_bytes < 8_000_000:  # the loop is to stand still while the thread reads ahead
        time.sleep(0.01)  # noqa: ASYNC251
    time.sleep(0.1)  # noqa: ASYNC251
    assert delivery._handed_out_bytes < 16_000_000
    await following.seen(2_000)


async def test_what_is_appended_while_the_loop_stands_still_comes_once_it_goes_on(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    following = Following(log)
    for _ in range(2):
        await log.end_offsets()
    monkeypatch.setattr(sqlite_delivery, "_MAX_BACKLOG_BYTES", 1)
    for value in (b"x", b"y"):
        log.append(0, value, never)
        time.sleep(0.2)  # noqa: ASYNC251 -- the loop is to stand still while the thread commits
    assert await following.seen(2) == [Entry(0, 0, b"x"), Entry(0, 1, b"y")]


async def test_closing_ends_the_thread(path: Path) -> None:
    log = await SqliteLog.open(path)
    assert "topicfold-sqlite" in {thread.name for thread in threading.enumerate()}
    await log.close()
    assert "topicfold-sqlite" not in {thread.name for thread in threading.enumerate()}


def content(path: Path) -> bytes:
    return path.read_bytes()


def copy_of_the_file_alone(path: Path) -> Path:
    return Path(shutil.copyfile(path, path.with_name("alone.db")))


def records_in(path: Path) -> int:
    with closing(apsw.Connection(str(path))) as connection:
        count: int = connection.execute("SELECT count(*) FROM records").get
        return count


async def until_the_file_alone_holds(count: int, log: SqliteLog, path: Path) -> None:
    """Return once it does, looked at by the thread that writes it: so no copy is half of what it writes."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await log._worker.ask(lambda file: records_in(copy_of_the_file_alone(path))) < count:
            pass


def tamper(path: Path, statement: str) -> None:
    """Change the file as no Topicfold would."""
    with apsw.Connection(str(path)) as connection:
        connection.execute(statement)
    connection.close()


async def writer(path: Path, who: str, count: int) -> asyncio.subprocess.Process:
    """Start a process that appends `count` records."""
    environment = {**os.environ, "PYTHONPATH": str(Path(topicfold.__file__).parents[1])}
    command = [sys.executable, str(sqlite_writer.__file__), str(path), who, str(count)]
    return await asyncio.create_subprocess_exec(*command, env=environment)


async def test_while_much_is_deleted_another_handle_appends(log: SqliteLog, path: Path) -> None:
    following, other = Following(log), await SqliteLog.open(path)
    for start in range(0, 20_000, 5_000):
        for _ in range(5_000):
            log.append(0, bytes(200), never)
        await following.seen(start + 5_000)
    deleting = asyncio.create_task(other.delete_before(0, 20_000))
    appended_meanwhile = 0
    while not deleting.done():
        log.append(1, b"x", never)
        appended_meanwhile += 1
        await following.seen(20_000 + appended_meanwhile)
    await deleting
    await other.close()
    assert appended_meanwhile > 5
    assert (await log.start_offsets())[0] == 20_000
