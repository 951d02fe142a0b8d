"""The log in a SQLite file: the default, for one machine and any number of processes on it.

This is the part that runs on the loop; `worker` is the thread, `file` the file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from topicfold.errors import LogUnavailable, Overloaded, TooLarge
from topicfold.log.codec import MAX_EVENT_BYTES
from topicfold.log.gaps import ends_before
from topicfold.log.port import Deliver, Entry, Failed, Fault, LogFull, SettingProblem
from topicfold.log.sqlite.delivery import Follow
from topicfold.log.sqlite.file import SqliteFile
from topicfold.log.sqlite.worker import Append, SqliteWorker, refusal

_ANSWER_SECONDS = 10.0
_MAX_WAITING = 10_000
_DELETED_AT_ONCE = 2_000
_DELETE_PAUSE_SECONDS = 0.002
"""Longer than the interval at which a process that waits for the file tries again."""

T = TypeVar("T")


class SqliteLog:
    """A log in a SQLite file; keeps the promises of `topicfold.log.port.Log`.

    It is unavailable if it is closed, locked, deleted, replaced or damaged, or does not answer in time.
    """

    @classmethod
    async def open(cls, path: str | Path, partitions: int = 8) -> SqliteLog:
        """Open the log at `path`. A missing one is created with `partitions`; an existing one keeps its number.

        Raises:
            BadSetting: the SQLite library is too old, or the path cannot hold a file.
            WrongLog: the file is something else, damaged, or has a newer format.
            LogUnavailable: the file is locked, or its disk is full.
        """
        worker = SqliteWorker(Path(path), partitions, asyncio.get_running_loop())
        return cls(await worker.start(), worker)

    def __init__(self, partitions: int, worker: SqliteWorker) -> None:
        self._partitions = partitions
        self._worker = worker
        self._is_closed = False

    @property
    def partitions(self) -> int:
        """The number of partitions stored in the file."""
        return self._partitions

    def append(self, partition: int, value: bytes, failed: Failed) -> None:
        """Hand `value` to the thread. It is synced to disk before anybody reads it.

        Raises:
            LogUnavailable: the log is closed, or its file was deleted, replaced or damaged.
            Overloaded: 10,000 appends are waiting.
            TooLarge: above `MAX_EVENT_BYTES`.
        """
        self._require_whole()
        if len(value) > MAX_EVENT_BYTES:
            raise TooLarge(f"an event of {len(value)} bytes is above {MAX_EVENT_BYTES}", limit=MAX_EVENT_BYTES)
        if self._worker.waiting >= _MAX_WAITING:
            raise Overloaded(f"{_MAX_WAITING} appends are waiting for the disk")
        self._worker.put(Append(partition, value, failed))

    async def place(self) -> Hashable:
        """Return the identity of the file, whatever path it was opened by."""
        return await self._ask(lambda file: file.identity)

    async def read(self, partition: int, offset: int, limit: int) -> list[Entry]:
        """Return up to `limit` records of `partition` from `offset`, or fewer if they are large."""
        return await self._ask(lambda file: file.read(partition, offset, limit))

    async def start_offsets(self) -> Mapping[int, int]:
        """Return per partition the first offset that still exists."""
        return await self._ask(lambda file: {number: bound.start for number, bound in enumerate(file.bounds())})

    async def end_offsets(self) -> Mapping[int, int]:
        """Return per partition the next offset to be written, whichever process writes it."""
        return await self._ask(lambda file: {number: bound.end for number, bound in enumerate(file.bounds())})

    async def known_start_offsets(self) -> Mapping[int, int]:
        """Return the same as `start_offsets`: partitions of one file do not fail apart."""
        return await self.start_offsets()

    async def known_end_offsets(self) -> Mapping[int, int]:
        """Return the same as `end_offsets`: partitions of one file do not fail apart."""
        return await self.end_offsets()

    async def delete_before(self, partition: int, offset: int) -> None:
        """Delete the records of `partition` below `offset`, some at a time, so that others can append in between.

        Raises:
            LogGap: the log ends before `offset`.
        """
        end = (await self.end_offsets())[partition]
        if offset > end:
            raise ends_before(partition, end, offset)
        start = 0
        while start < offset:
            start = await self._ask(lambda file: file.delete_before(partition, offset, _DELETED_AT_ONCE))
            await asyncio.sleep(_DELETE_PAUSE_SECONDS)

    def follow(self, positions: Mapping[int, int], deliver: Deliver, fault: Fault) -> None:
        """Start delivering from `positions`; a missing record is a fault of its partition only."""
        self._require_open()
        self._worker.put(Follow(dict(positions), deliver, fault))

    async def check_settings(self) -> Sequence[SettingProblem]:
        """Return what is wrong with the file itself; it has no settings that others could change.

        If the last commit failed, this tries another.
        """
        self._require_open()
        fault = self._worker.fault
        if fault is not None:
            wanted = "the file that was opened, whole"
            return (SettingProblem("log file", fault.reason, wanted, refuses_writes=True, repair=fault.hint),)
        if self._worker.refused is not None:
            try:
                await self._ask(SqliteFile.require_writable)
            except LogFull as error:
                return (SettingProblem("disk", "full", "one with room", refuses_writes=False, repair=error.hint),)
            except LogUnavailable as error:
                found = f"not writable: {error.reason}"
                return (SettingProblem("file", found, "writable", refuses_writes=False, repair=error.hint),)
        return ()

    async def close(self) -> None:
        """Commit waiting appends, deliver nothing more, and end the thread."""
        self._is_closed = True
        await self._worker.stop()

    async def _ask(self, question: Callable[[SqliteFile], T]) -> T:
        self._require_whole()
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await self._worker.ask(question)
        except TimeoutError as error:
            raise LogUnavailable(f"the log did not answer within {_ANSWER_SECONDS:.0f} s") from error

    def _require_open(self) -> None:
        if self._is_closed:
            raise LogUnavailable("the log is closed")

    def _require_whole(self) -> None:
        self._require_open()
        if self._worker.fault:
            raise refusal(self._worker.fault)
