"""An asyncio event loop on which time is a number.

Nothing sleeps: when no callback is ready the clock jumps to the next timer. There are no sockets, threads or
executors, so the same callbacks in the same order give the same run. Work is filed under an owner (a node's
name), so that a crash can take away everything an owner had going.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from typing import Any, NoReturn, TypeVar

_T = TypeVar("_T")

OWNER: ContextVar[str] = ContextVar("owner", default="world")


class Deadlock(Exception):
    """Somebody waits, and no timer or callback is left that could wake them."""


class RealIo(Exception):
    """The code under test asked for a thread, a socket or another process."""


class _Selector:
    """Stands where a loop's selector does: waiting for I/O is a jump of the clock."""

    def __init__(self) -> None:
        self.now = 0.0

    def select(self, timeout: float | None) -> list[NoReturn]:
        if timeout is None:
            raise Deadlock("everybody waits and nothing is going to happen")
        self.now += timeout
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """A loop that starts at time 0 and refuses real I/O; `errors` are those that nobody retrieved."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self) -> None:
        super().__init__()
        self._selector = _Selector()
        self._owned: defaultdict[str, list[asyncio.Task[Any]]] = defaultdict(list)
        self.errors: list[str] = []
        self.set_exception_handler(lambda _, context: self.errors.append(_described(context)))

    def time(self) -> float:
        """Return the virtual seconds since the start."""
        return self._selector.now

    def create_task(
        self, coro: Generator[Any, None, _T] | Coroutine[Any, Any, _T], *, name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[_T]:  # fmt: skip
        """Start a task and file it under the owner of its context."""
        task = super().create_task(coro, name=name, context=context)
        self._owned[OWNER.get() if context is None else context[OWNER]].append(task)
        return task

    def kill(self, owner: str) -> None:
        """End all that `owner` has going: its callbacks and timers never run, its tasks are cancelled."""
        for handle in [*self._ready, *self._scheduled]:
            if _owner_of(handle) == owner and not _steps_a_task(handle):
                handle.cancel()
        for task in self._owned.pop(owner, ()):
            task.cancel()

    def close(self) -> None:
        """Let go of everything, so that errors nobody looked at come to light in `errors`."""
        self._owned.clear()
        super().close()

    def run_in_executor(self, *_: object) -> NoReturn:
        """Refuse.

        Raises:
            RealIo: always.
        """
        raise RealIo("a simulated run has no threads")

    def call_soon_threadsafe(self, *_: object, **__: object) -> NoReturn:
        """Refuse.

        Raises:
            RealIo: always.
        """
        raise RealIo("a simulated run has no threads")

    def _process_events(self, _: object) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody else could be waiting."""


def owned_by(owner: str) -> Context:
    """Return a context in which everything started belongs to `owner`."""
    context = copy_context()
    context.run(OWNER.set, owner)
    return context


def _owner_of(handle: asyncio.Handle) -> str | None:
    """Return whose a callback is, None where it was cancelled."""
    context: Context | None = handle._context  # type: ignore[attr-defined]
    return None if context is None else context.get(OWNER)


def _steps_a_task(handle: asyncio.Handle) -> bool:
    """Whether a callback moves a task on; tasks must take their step to learn that they are cancelled."""
    return isinstance(getattr(handle._callback, "__self__", None), asyncio.Task)  # type: ignore[attr-defined]


def _described(context: dict[str, Any]) -> str:
    return f"{context.get('message')}: {context.get('exception')!r}"
