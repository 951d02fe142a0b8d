"""Workers: parts of a benchmark that run in processes of their own, told what to do over a pipe.

Both sides of a comparison are such workers, so neither shares an interpreter with the other or with a load
generator, and an idle one costs nothing while its rival is measured.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import traceback
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

import structlog
import uvloop

_END_SECONDS = 20.0
_COLLECT_AFTER = (10_000, 3, 30_000)
"""The fold makes no cycles; with Python's own (700, 10, 10) a third of its time goes into looking for them."""

S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")


class WorkerFailed(Exception):
    """A worker raised or died; the text is its traceback."""


class Worker(Generic[S]):
    """A process in which `opened(*arguments)` is entered; commands are module-level functions of what that gives.

    Runs on uvloop, as the server does. A context manager that ends the process.
    """

    def __init__(self, opened: Callable[..., AbstractAsyncContextManager[S]], *arguments: object) -> None:
        """Start the process and return once its subject is open.

        Raises:
            WorkerFailed: opening failed.
        """
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, opened, arguments), daemon=True)
        self._process.start()
        theirs.close()
        self._answer()

    def run(self, command: Callable[Concatenate[S, P], Awaitable[R]], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return what `command` returns there.

        Raises:
            WorkerFailed: it raised.
        """
        return self.begin(command, *args, **kwargs)()

    def begin(
        self, command: Callable[Concatenate[S, P], Awaitable[R]], *args: P.args, **kwargs: P.kwargs
    ) -> Callable[[], R]:
        """Start `command` there; call what is returned for its answer, or for `WorkerFailed`."""
        self._pipe.send((command, args, kwargs))
        return lambda: cast("R", self._answer())

    def __enter__(self) -> Worker[S]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipe.close()
        self._process.join(_END_SECONDS)
        if self._process.is_alive():
            self._process.kill()

    def _answer(self) -> object:
        try:
            failure, answer = self._pipe.recv()
        except EOFError:
            raise WorkerFailed("the worker's process died") from None
        if failure:
            raise WorkerFailed(failure)
        return answer


def _work(
    pipe: Connection, opened: Callable[..., AbstractAsyncContextManager[Any]], arguments: tuple[Any, ...]
) -> None:
    gc.set_threshold(*_COLLECT_AFTER)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    try:
        uvloop.run(_obey(pipe, opened, arguments))
    except EOFError:
        return
    except Exception:  # noqa: BLE001 -- whatever it is, the parent has to hear of it
        pipe.send((traceback.format_exc(), None))


async def _obey(
    pipe: Connection, opened: Callable[..., AbstractAsyncContextManager[Any]], arguments: tuple[Any, ...]
) -> None:
    """Run commands until the pipe is closed, the loop going on between them."""
    loop = asyncio.get_running_loop()
    async with opened(*arguments) as subject:
        pipe.send(("", None))
        while True:
            command, args, kwargs = await loop.run_in_executor(None, pipe.recv)
            pipe.send(("", await command(subject, *args, **kwargs)))
