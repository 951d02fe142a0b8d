"""Interrupting work wherever it waits: one wait a run, on a loop whose time is a number.

Who waits may be cancelled before what it waits for has come, or in the turn in which it comes: then it is there, and
nobody takes it. That is where turns, locks and answers get lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from enum import Enum
from types import coroutine
from typing import Any

from tests.simulation.virtual_loop import VirtualLoop

_MOST_WAITS = 1_000

Awaited = asyncio.Future[Any] | None
"""What is waited for: None for the next turn of the loop."""


class When(Enum):
    """When a wait is interrupted."""

    BEFORE = "before"
    """Before what is waited for has come."""
    WITH = "with"
    """In the turn in which it comes."""


class Interruption:
    """Cancels one task when it waits for the `number`th time. `has_come` stays false where it waits less often."""

    def __init__(self, number: int, when: When) -> None:
        self.has_come = False
        self._waits_left = number
        self._when = when

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Do `work` in a task that is interrupted."""
        task = asyncio.create_task(_told_of_waits(work, lambda awaited: self._on_wait(task, awaited)))
        return task

    def _on_wait(self, task: asyncio.Task[Any], awaited: Awaited) -> None:
        self._waits_left -= 1
        if self._waits_left:
            return
        self.has_come = True
        if awaited is None or self._when is When.BEFORE:
            asyncio.get_running_loop().call_soon(task.cancel)
        else:
            awaited.add_done_callback(lambda _: task.cancel())


def interrupted_everywhere(run: Callable[[Interruption], Coroutine[Any, Any, None]], when: When) -> int:
    """Do `run` on loops of their own, interrupted at its first wait, its second, and so on; return how many there are.

    Nothing may be left on the loop, nor be raised where nobody sees it.
    """
    for number in range(1, _MOST_WAITS):
        interruption = Interruption(number, when)
        on_loop_of_its_own(run(interruption))
        if not interruption.has_come:
            return number - 1
    raise AssertionError(f"it waits more than {_MOST_WAITS} times")


def on_loop_of_its_own(work: Coroutine[Any, Any, None]) -> None:
    """Do `work`; nothing may be left of it."""
    loop = VirtualLoop()
    try:
        loop.run_until_complete(work)
        assert not asyncio.all_tasks(loop)
    finally:
        loop.close()
    assert loop.errors == []


async def _told_of_waits(work: Coroutine[Any, Any, Any], on_wait: Callable[[Awaited], None]) -> Any:
    return await _step_by_step(work, on_wait)


@coroutine
def _step_by_step(work: Coroutine[Any, Any, Any], on_wait: Callable[[Awaited], None]) -> Generator[Awaited, None, Any]:
    """Do `work`, and tell of each wait when it begins."""
    raised: BaseException | None = None
    while True:
        try:
            awaited = work.send(None) if raised is None else work.throw(raised)
        except StopIteration as end:
            return end.value
        on_wait(awaited)
        raised = None
        try:
            yield awaited
        except BaseException as error:  # noqa: BLE001 -- it is for the work
            raised = error
