"""The SQLite file that holds a log: creates, recognises, writes and reads it. Blocking; for one thread.

Invariant: offsets come from a stored counter, never from the rows, so a deleted row's offset is never used again.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from topicfold.errors import BadSetting, TopicfoldError, WrongLog
from topicfold.log.port import Entry
from topicfold.log.sqlite.errors import translated
from topicfold.log.sqlite.place import OpenedPlace, require_own_newest
from topicfold.log.sqlite.plain_file import NEWEST, file_made

APPLICATION_ID = int.from_bytes(b"TFLG", "big")
FORMAT = 1
OLDEST_SQLITE = (3, 51, 3)
"""In older versions, two connections that write at once can damage a file in WAL mode.

Source: SQLite's release notes of 3.51.3, "WAL-reset bug".
"""

_BUSY_SECONDS = 2.0
_BUSY_STEP_SECONDS = 0.0005
_BATCH_BYTES = 4 * 1024 * 1024
_SCHEMA = """
CREATE TABLE partitions(
    partition INTEGER PRIMARY KEY,
    start_offset INTEGER NOT NULL DEFAULT 0,
    next_offset INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE records(
    partition INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY(partition, offset)
) WITHOUT ROWID;
"""

# In one statement, because another process may be creating the tables at this moment.
_WHOSE = """
SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
FROM pragma_application_id, pragma_user_version
"""
_TRIED_BYTES = 16 * 1024
_TRY = "INSERT OR REPLACE INTO records VALUES (-1, 0, zeroblob(?))"
_UNDO_TRY = "DELETE FROM records WHERE partition = -1"
_SELECT = "SELECT partition, offset, value FROM records WHERE partition = ? AND offset >= ? ORDER BY offset LIMIT ?"


class Bounds(NamedTuple):
    """The first offset of a partition that still exists, and the next one to be written."""

    start: int
    end: int


class SqliteFile:
    """One connection to a log's file.

    A commit is on disk when `append` returns (`synchronous=FULL`). Any number of processes may have the file open. If
    the file, or one that SQLite keeps beside it, was deleted or replaced after opening, every use is refused: SQLite
    itself would continue with the old one, which nobody can open again. So is every use of a file that was emptied, or
    overwritten by a copy that SQLite made: SQLite would continue with its newest commits, which are no log, or mix them
    with the copy.
    """

    def __init__(self, path: Path, partitions: int) -> None:
        """Open the log at `path`; if there is none, create one with `partitions` that only its owner may read.

        Raises:
            BadSetting: the SQLite library is too old, or the path cannot hold a file.
            WrongLog: the file is something else, or has a newer format.
            LogUnavailable: the file is locked, or its disk is full or failing.
        """
        require_safe_sqlite(apsw.sqlite_lib_version())
        target = file_made(path)
        require_own_newest(target, path)
        try:
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
            self._connection = apsw.Connection(str(target), flags=flags)
            self._connection.set_busy_handler(_waiter())
        except apsw.Error as error:
            raise translated(error, path) from error
        try:
            self._prepare(path, partitions)
        except apsw.Error as error:
            told = translated(error, path, self._connection)
            self._connection.close()
            raise told from error
        except BaseException:
            self._connection.close()
            raise
        self._path = path
        self._place = OpenedPlace(path, target)
        self.identity = self._place.identity
        self.newest = target.with_name(target.name + NEWEST)
        self.partitions = len(self.bounds())
        self.checkpoint()

    def append(self, records: Sequence[tuple[int, bytes]]) -> list[Entry]:
        """Append all of `records` in one transaction and return them with their offsets.

        Either all are in the log or none is; if the commit itself fails, it is unknown which. A log's first commit, its
        header, is copied into the main file at once, so that even a copy of that file alone has the log's identity.

        Raises:
            LogFull: there is no space; none is in the log.
            LogUnavailable: the file is locked, or its disk is failing.
            WrongLog: the file is damaged, emptied, overwritten, deleted or replaced.
        """
        with self._transaction():
            ends = [bound.end for bound in self._select_bounds()]
            is_first = not any(ends)
            entries = []
            for partition, value in records:
                entries.append(Entry(partition, ends[partition], value))
                ends[partition] += 1
            self._connection.executemany("INSERT INTO records VALUES (?, ?, ?)", entries)
            self._connection.executemany(
                "UPDATE partitions SET next_offset = ? WHERE partition = ?",
                [(ends[partition], partition) for partition in {entry.partition for entry in entries}],
            )
        if is_first:
            self.checkpoint()
        return entries

    def delete_before(self, partition: int, offset: int, limit: int) -> int:
        """Delete up to `limit` records of `partition` below `offset` in one transaction; return where it begins now.

        The file does not shrink, but its free space is reused.

        Raises:
            LogUnavailable: the file is locked, or its disk is full or failing.
            WrongLog: the file is damaged, emptied, overwritten, deleted or replaced.
        """
        with self._transaction():
            start, end = self._select_bounds()[partition]
            floor = max(start, min(offset, start + limit, end))
            self._connection.execute("DELETE FROM records WHERE partition = ? AND offset < ?", (partition, floor))
            self._connection.execute("UPDATE partitions SET start_offset = ? WHERE partition = ?", (floor, partition))
        return floor

    def require_writable(self) -> None:
        """Check that a change can be written, by adding a record in no partition and removing it again.

        It must be a real change: SQLite does not write what has not changed, so it would not notice a full disk.

        Raises:
            LogUnavailable: the file is locked, or its disk is full or failing.
            WrongLog: the file is damaged, emptied, overwritten, deleted or replaced.
        """
        with self._transaction():
            self._connection.execute(_TRY, (_TRIED_BYTES,))
        with self._transaction():
            self._connection.execute(_UNDO_TRY)

    def read(self, partition: int, offset: int, limit: int) -> list[Entry]:
        """Return up to `limit` records of `partition` from `offset`, or fewer if they are large.

        Raises:
            LogUnavailable: the file is locked, or its disk is full or failing.
            WrongLog: the file is damaged, emptied, overwritten, deleted or replaced.
        """
        self._place.require()
        entries, size = [], 0
        try:
            for row in self._connection.execute(_SELECT, (partition, offset, limit)):
                entries.append(Entry._make(row))
                size += len(row[2])
                if size >= _BATCH_BYTES:
                    break
        except apsw.Error as error:
            raise self._told(error) from error
        return entries

    def bounds(self) -> list[Bounds]:
        """Return the bounds of every partition, by its number.

        Raises:
            LogUnavailable: the file is locked, or its disk is full or failing.
            WrongLog: the file is damaged, emptied, overwritten, deleted or replaced.
        """
        self._place.require()
        try:
            return self._select_bounds()
        except apsw.Error as error:
            raise self._told(error) from error

    def version(self) -> int:
        """Return a number that changes when another connection has committed. Cost: 3 µs.

        Raises:
            LogUnavailable: the file is locked, or its disk is full or failing.
            WrongLog: the file is damaged, emptied, overwritten, deleted or replaced.
        """
        self._place.require()
        try:
            version: int = self._connection.execute("PRAGMA data_version").get
            return version
        except apsw.Error as error:
            raise self._told(error) from error

    def checkpoint(self) -> None:
        """Copy the write-ahead log into the file itself, as far as readers allow, without waiting for anybody.

        What could not be copied is as safe as before, and is copied by a later call.

        Cost: 2 µs if there is nothing to copy; otherwise two syncs, and 7 ms for 900 pages.
        """
        with suppress(apsw.Error):
            self._connection.wal_checkpoint()

    def close(self) -> None:
        """Close the file; the last one to do so folds the write-ahead log into it.

        Not if the file was damaged, deleted, replaced, emptied or overwritten: by now it may be a copy that was put
        there, and these pages would make it neither of the two. If it is still empty, they are all that there is.
        """
        with suppress(TopicfoldError):
            self._place.require()
        self._place.close()
        if self._place.is_taken():
            self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run the block in a transaction: commit all of its changes or none."""
        self._place.require()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
        except apsw.Error as error:
            raise self._told(error) from error
        self._place.require()

    def _told(self, error: apsw.Error) -> TopicfoldError:
        """Return our own error for one of SQLite's about this file, noting that the file is damaged if it is."""
        told = translated(error, self._path, self._connection)
        self._place.is_lost |= isinstance(told, WrongLog)
        return told

    def _select_bounds(self) -> list[Bounds]:
        return [
            Bounds._make(row)
            for row in self._connection.execute("SELECT start_offset, next_offset FROM partitions ORDER BY partition")
        ]

    def _prepare(self, path: Path, partitions: int) -> None:
        """Create the tables in an empty file; refuse somebody else's file before anything is written to it."""
        is_made = self._is_ours(path)
        # A copy made by SQLite is not in this mode.
        self._keep_write_ahead_log()
        if not is_made:
            self._connection.execute("BEGIN IMMEDIATE")
            with self._connection:
                if not self._is_ours(path):
                    self._connection.execute(_SCHEMA)
                    self._connection.executemany(
                        "INSERT INTO partitions(partition) VALUES (?)", [(number,) for number in range(partitions)]
                    )
                    self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    self._connection.execute(f"PRAGMA user_version = {FORMAT}")
            self._connection.execute("COMMIT")
        self._connection.execute("PRAGMA synchronous = FULL")

    def _keep_write_ahead_log(self) -> None:
        """Switch the file to a write-ahead log; SQLite does not wait by itself while another process does the same.

        Source: SQLite's documentation of `sqlite3_busy_handler`: it is not invoked if a reader wants to write.
        """
        wait = _waiter()
        for tries in itertools.count():
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except apsw.BusyError:
                if not wait(tries):
                    raise

    def _is_ours(self, path: Path) -> bool:
        application, version, tables = next(iter(self._connection.execute(_WHOSE)))
        if (application, version, tables) == (0, 0, 0):
            return False
        if application != APPLICATION_ID:
            raise WrongLog(f"{path} is a SQLite database, but not a log of Topicfold", hint="Name another file.")
        if version != FORMAT:
            raise WrongLog(
                f"{path} has format {version}, this version knows {FORMAT}", hint="Install a newer Topicfold here."
            )
        return True


def require_safe_sqlite(version: str) -> None:
    """Check that the SQLite library of `version` can safely have several writers on one file.

    Raises:
        BadSetting: it is older than `OLDEST_SQLITE`.
    """
    if tuple(int(part) for part in version.split(".")[:3]) < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        raise BadSetting(
            f"SQLite {version} can damage a log that two processes write; {wanted} is the first that cannot",
            hint=f"pip install 'apsw>={wanted}.0'",
        )


def _waiter() -> Callable[[int], bool]:
    """Return a busy handler that retries at short, constant intervals; SQLite's own backs off to 100 ms."""
    deadline = 0.0

    def wait(calls_before: int) -> bool:
        nonlocal deadline
        if not calls_before:
            deadline = time.monotonic() + _BUSY_SECONDS
        time.sleep(_BUSY_STEP_SECONDS)
        return time.monotonic() < deadline

    return wait
