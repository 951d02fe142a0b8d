"""The thread that owns a log's SQLite file.

It commits all waiting appends in one transaction, answers questions, and delivers in between (`delivery`).
An error that it cannot get past is a fault: from then on it refuses every command, until it is stopped.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, assert_never

import structlog

from topicfold.errors import LogUnavailable, OperatorNeeded, TopicfoldError
from topicfold.log.port import Failed
from topicfold.log.sqlite.delivery import RESTING_SECONDS, Follow, SqliteDelivery
from topicfold.log.sqlite.file import SqliteFile
from topicfold.log.sqlite.file_bell import FileBell, file_bell


class Append(NamedTuple):
    """One record to be appended, and what to call if that failed."""

    partition: int
    value: bytes
    failed: Failed


class Ask(NamedTuple):
    """A question to the file, and the future for its answer."""

    question: Callable[[SqliteFile], Any]
    answer: asyncio.Future[Any]


Command = Append | Follow | Ask | None
"""What the thread can be told to do; None ends it."""

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class SqliteWorker:
    """Owns the thread. `start`, `put`, `ask` and `stop` are called on the loop, everything else by the thread."""

    def __init__(self, path: Path, partitions: int, loop: asyncio.AbstractEventLoop) -> None:
        self._path = path
        self._partitions = partitions
        self._loop = loop
        self._commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._at_hand: list[Append | Ask] = []
        self._fault: OperatorNeeded | None = None
        self._refused: LogUnavailable | None = None
        self._started: asyncio.Future[int] = loop.create_future()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="topicfold-sqlite", daemon=True)
        self._is_stopping = False
        self._delivery = SqliteDelivery(self._post)
        self._bell: FileBell | None = None
        self._is_resting = False

    async def start(self) -> int:
        """Start the thread; return the file's number of partitions once it is open.

        Raises:
            BadSetting: the SQLite library is too old, or the path cannot hold a file.
            WrongLog: the file is something else, damaged, or has a newer format.
            LogUnavailable: the file is locked, or its disk is full.
        """
        self._thread.start()
        try:
            return await self._started
        except asyncio.CancelledError:
            # The caller gets no log that it could close, so end the thread here: it would keep the file open.
            self._put(None)
            raise

    @property
    def fault(self) -> OperatorNeeded | None:
        """The error that stopped the thread's work; None while it works."""
        return self._fault

    @property
    def refused(self) -> LogUnavailable | None:
        """The error of the last commit; None if it succeeded."""
        return self._refused

    @property
    def waiting(self) -> int:
        """The number of commands that the thread has not taken yet."""
        return self._commands.qsize()

    def put(self, command: Append | Follow) -> None:
        """Queue `command`; after `stop` it is ignored."""
        self._put(command)

    async def ask(self, question: Callable[[SqliteFile], T]) -> T:
        """Return the result of `question`, which runs in the thread after all appends that were put before.

        Raises:
            LogUnavailable: the file is locked, its disk is failing, or the thread met a fault.
        """
        answer: asyncio.Future[T] = self._loop.create_future()
        self._put(Ask(question, answer))
        return await answer

    async def stop(self) -> None:
        """Return once the thread has done everything put before, closed the file, and ended."""
        self._is_stopping = True
        self._delivery.end()
        self._put(None)
        await self._ended.wait()
        self._thread.join()

    def _put(self, command: Command) -> None:
        self._commands.put(command)
        bell = self._bell
        if self._is_resting and bell is not None:
            bell.wake()

    def _run(self) -> None:
        try:
            file = SqliteFile(self._path, self._partitions)
        except TopicfoldError as error:
            self._post(_settle, self._started, None, error)
            return
        except Exception as error:  # noqa: BLE001 -- the boundary of the thread: whoever opens must hear of it
            self._post(_settle, self._started, None, OperatorNeeded(f"opening the log failed: {error!r}"))
            return
        self._post(_settle, self._started, file.partitions, None)
        self._bell = file_bell(file.newest)
        try:
            self._work(file)
        finally:
            try:
                file.close()
            finally:
                self._post(self._on_ended)

    def _on_ended(self) -> None:
        if self._bell is not None:
            self._bell.close()
            self._bell = None
        self._ended.set()

    def _work(self, file: SqliteFile) -> None:
        try:
            while self._turn(file):
                pass
        except OperatorNeeded as error:
            self._refuse_all(error)
        except Exception as error:  # noqa: BLE001 -- the boundary of the thread: nobody else would hear of it
            self._post(partial(_log.error, "log_thread_failed", exc_info=error))
            self._refuse_all(OperatorNeeded(f"reading the log failed: {error!r}", hint="Restart this node."))

    def _turn(self, file: SqliteFile) -> bool:
        """Do all waiting commands, then look for new records; return whether to go on."""
        appends: list[Append] = []
        asks: list[Ask] = []
        goes_on = True
        for command in self._waiting_commands():
            match command:
                case Append():
                    appends.append(command)
                case Ask():
                    asks.append(command)
                case Follow():
                    self._delivery.begin(command)
                case None:
                    goes_on = False
                case _:
                    assert_never(command)
        self._at_hand = [*appends, *asks]
        if appends:
            self._commit(file, appends)
            self._at_hand = [*asks]
        for ask in asks:
            self._answer(file, ask)
            self._at_hand.remove(ask)
        if goes_on:
            self._delivery.fetch(file)
        return goes_on

    def _refuse_all(self, fault: OperatorNeeded) -> None:
        """Report `fault`; refuse the commands at hand and all later ones, until told to end."""
        self._fault = fault
        self._delivery.fail(fault)
        for command in self._at_hand:
            self._refuse(command, fault)
        while not (self._is_stopping and self._commands.empty()):
            command_or_end = self._commands.get()
            if command_or_end is None:
                return
            self._refuse(command_or_end, fault)

    def _refuse(self, command: Append | Ask | Follow, fault: OperatorNeeded) -> None:
        match command:
            case Append():
                self._post(command.failed, refusal(fault))
            case Ask():
                self._post(_settle, command.answer, None, refusal(fault))
            case Follow():
                self._post(command.fault, fault, None)
            case _:
                assert_never(command)

    def _waiting_commands(self) -> list[Command]:
        """Return all waiting commands; if there are none, wait for one, or until it is time to look for new records."""
        commands: list[Command] = []
        patience = 0.0 if self._has_rested() else self._delivery.patience_seconds
        try:
            commands.append(self._commands.get(timeout=patience))
            while True:
                commands.append(self._commands.get_nowait())
        except queue.Empty:
            return commands

    def _has_rested(self) -> bool:
        """Wait for a command, or for somebody to write to the file, if nothing else is to be done; return whether.

        A command that is put after the queue was looked at finds that this thread rests.
        """
        if self._bell is None or not self._delivery.is_resting:
            return False
        self._is_resting = True
        if self._commands.empty() and self._bell.is_rung(RESTING_SECONDS):
            self._delivery.stir()
        self._is_resting = False
        return True

    def _commit(self, file: SqliteFile, appends: Sequence[Append]) -> None:
        try:
            entries = file.append([(append.partition, append.value) for append in appends])
        except LogUnavailable as error:
            self._refused = error
            self._delivery.look()
            for append in appends:
                self._post(append.failed, error)
        else:
            self._refused = None
            self._delivery.deliver_own(file, entries)

    def _answer(self, file: SqliteFile, ask: Ask) -> None:
        try:
            self._post(_settle, ask.answer, ask.question(file), None)
        except LogUnavailable as error:
            self._post(_settle, ask.answer, None, error)

    def _post(self, callback: Callable[..., object], *arguments: Any) -> None:
        """Make the loop call `callback`; if the loop is closed, end the thread."""
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            self._commands.put(None)


def refusal(fault: OperatorNeeded) -> LogUnavailable:
    """Return the error for whoever uses a log that has met `fault`."""
    return LogUnavailable(fault.reason, hint=fault.hint)


def _settle(future: asyncio.Future[Any], answer: Any, error: TopicfoldError | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(answer)
    else:
        future.set_exception(error)
