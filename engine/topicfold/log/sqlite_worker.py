"""The thread that owns a log's SQLite file.

It commits everything that waits in one transaction, looks every 2 ms whether another process has committed, and
hands batches to the loop. A commit of its own is handed over at once, without being read back.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from topicfold.errors import LogGap, LogUnavailable, OperatorNeeded, TopicfoldError
from topicfold.log.port import Deliver, Entry, Failed, Fault
from topicfold.log.sqlite_file import SqliteFile

_POLL_SECONDS = 0.002
_BATCH = 1_000
_MAX_BACKLOG_BYTES = 8 * 1024 * 1024
"""On its way to the loop before the thread stops reading ahead: replaying needs little more memory than this."""
_ENTRY_BYTES = 200
"""What an entry costs beside its value."""


class Append(NamedTuple):
    """One record to be appended, and whom to tell if it could not be."""

    partition: int
    value: bytes
    failed: Failed


class Follow(NamedTuple):
    """From where on to deliver what to whom."""

    positions: dict[int, int]
    deliver: Deliver
    fault: Fault


Job = Callable[[SqliteFile], None]
Command = Append | Follow | Job | None
"""What the thread is told to do; None ends it."""

T = TypeVar("T")


class SqliteWorker:
    """Owns the thread. `start`, `put`, `ask` and `stop` are for the loop, everything else for the thread."""

    def __init__(self, path: Path, partitions: int, loop: asyncio.AbstractEventLoop) -> None:
        self._path = path
        self._partitions = partitions
        self._loop = loop
        self._commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._started: asyncio.Future[int] = loop.create_future()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="topicfold-sqlite", daemon=True)
        self._is_stopping = False
        self._follow: Follow | None = None
        self._version = -1
        self._is_behind = False
        self._handed_out_bytes = 0
        self._taken_bytes = 0

    async def start(self) -> int:
        """Start the thread; return the file's number of partitions once it is open.

        Raises:
            BadSetting: the SQLite library is too old, or the path cannot hold a file.
            WrongLog: the file is something else, damaged, or of a newer format.
            LogUnavailable: the file is locked or its disk full.
        """
        self._thread.start()
        return await self._started

    @property
    def waiting(self) -> int:
        """The number of commands that the thread has not taken yet."""
        return self._commands.qsize()

    def put(self, command: Append | Follow) -> None:
        """Have `command` done; after `stop` it is forgotten."""
        self._commands.put(command)

    async def ask(self, question: Callable[[SqliteFile], T]) -> T:
        """Return what `question` answers, asked in the thread after all appends that were put before.

        Raises:
            LogUnavailable: what the file raised.
        """
        answer: asyncio.Future[T] = self._loop.create_future()

        def job(file: SqliteFile) -> None:
            try:
                self._post(_settle, answer, question(file), None)
            except TopicfoldError as error:
                self._post(_settle, answer, None, error)

        self._commands.put(job)
        return await answer

    async def stop(self) -> None:
        """Return once the thread has done what was put before, closed the file and ended."""
        self._is_stopping = True
        self._commands.put(None)
        await self._ended.wait()
        self._thread.join()

    def _run(self) -> None:
        try:
            file = SqliteFile(self._path, self._partitions)
        except TopicfoldError as error:
            self._post(_settle, self._started, None, error)
            return
        self._post(_settle, self._started, file.partitions, None)
        try:
            while self._turn(file):
                pass
        finally:
            file.close()
            self._post(self._ended.set)

    def _turn(self, file: SqliteFile) -> bool:
        """Do all that waits, then look for news; return whether to go on."""
        appends: list[Append] = []
        jobs: list[Job] = []
        goes_on = True
        for command in self._waiting_commands():
            match command:
                case Append():
                    appends.append(command)
                case Follow():
                    self._follow = command
                    self._is_behind = True
                case None:
                    goes_on = False
                case _:
                    jobs.append(command)
        if appends:
            self._commit(file, appends)
        for job in jobs:
            job(file)
        if goes_on and self._follow:
            self._fetch(file, self._follow)
        return goes_on

    def _waiting_commands(self) -> list[Command]:
        """Return all that waits; where nothing does, wait for the first or until it is time to look for news."""
        commands: list[Command] = []
        try:
            commands.append(self._commands.get(timeout=self._patience_seconds()))
            while True:
                commands.append(self._commands.get_nowait())
        except queue.Empty:
            return commands

    def _patience_seconds(self) -> float | None:
        if not self._follow:
            return None
        return 0.0 if self._is_behind and self._has_room() else _POLL_SECONDS

    def _commit(self, file: SqliteFile, appends: Sequence[Append]) -> None:
        try:
            entries = file.append([(append.partition, append.value) for append in appends])
        except TopicfoldError as error:
            for append in appends:
                self._post(append.failed, error)
            return
        if not self._follow:
            return
        positions = self._follow.positions
        fresh = []
        for entry in entries:
            if positions.get(entry.partition) == entry.offset and self._has_room():
                positions[entry.partition] += 1
                fresh.append(entry)
            else:
                self._is_behind = True
        self._hand_out(self._follow, fresh)

    def _fetch(self, file: SqliteFile, follow: Follow) -> None:
        """Hand out what other processes committed, a batch of each partition; a busy or full disk is tried again."""
        if not self._has_room():
            return
        try:
            version = file.version()
            if version == self._version and not self._is_behind:
                return
            bounds = file.bounds()
            self._version, self._is_behind = version, False
            for partition, position in list(follow.positions.items()):
                if position != bounds[partition].end:
                    self._fetch_partition(file, follow, partition, bounds[partition].end)
        except LogUnavailable:
            self._version = -1
        except OperatorNeeded as error:
            follow.positions.clear()
            self._post(follow.fault, error, None)

    def _fetch_partition(self, file: SqliteFile, follow: Follow, partition: int, end: int) -> None:
        position = follow.positions[partition]
        batch = file.read(partition, position, _BATCH)
        if batch and batch[0].offset == position and batch[-1].offset == position + len(batch) - 1:
            follow.positions[partition] += len(batch)
            self._is_behind |= follow.positions[partition] < end
            self._hand_out(follow, batch)
            return
        del follow.positions[partition]
        whole = next((n for n, entry in enumerate(batch) if entry.offset != position + n), 0)
        found = batch[whole].offset if batch else end
        gap = LogGap(
            f"partition {partition} goes on at {found} where record {position + whole} was expected",
            hint="The file was trimmed or changed by somebody else, or is an older copy. Restore it.",
            partition=partition,
            expected=position + whole,
            found=found,
        )
        self._hand_out(follow, batch[:whole])
        self._post(follow.fault, gap, partition)

    def _has_room(self) -> bool:
        return self._handed_out_bytes - self._taken_bytes < _MAX_BACKLOG_BYTES

    def _hand_out(self, follow: Follow, batch: list[Entry]) -> None:
        if batch:
            size = sum(len(entry.value) for entry in batch) + len(batch) * _ENTRY_BYTES
            self._handed_out_bytes += size
            self._post(self._take, follow, batch, size)

    def _take(self, follow: Follow, batch: list[Entry], size: int) -> None:
        """Deliver on the loop."""
        self._taken_bytes += size
        if not self._is_stopping:
            follow.deliver(batch)

    def _post(self, callback: Callable[..., object], *arguments: Any) -> None:
        """Have the loop call `callback`; a loop that is gone needs nothing more."""
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            self._commands.put(None)


def _settle(future: asyncio.Future[Any], answer: Any, error: TopicfoldError | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(answer)
    else:
        future.set_exception(error)
