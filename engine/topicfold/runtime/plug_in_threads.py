"""Threads for the plain functions of a plug-in: of nobody else, so few at a time, and waited for by nobody.

A thread that never comes back cannot be ended. As a daemon it keeps no process from ending, and none of the loop's own
threads are lost to it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from topicfold.errors import Overloaded

MAX_CALLS = 16
"""At work at the same time, those that hang included."""


class PlugInThreads:
    """Runs calls, each in a thread of its own, `limit` at most at a time."""

    def __init__(self, name: str, limit: int = MAX_CALLS) -> None:
        self._name = name
        self._limit = limit
        self._running = 0

    async def call(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Return what `call` returns, raise what it raises. Who waits no longer leaves it to itself.

        Raises:
            Overloaded: as many as may be are at work.
        """
        if self._running >= self._limit:
            raise Overloaded(
                f"{self._running} calls of the topic listing {self._name} have not come back, and no more may run",
                hint="Try again in a few seconds. If it goes on, the listing hangs: the node's log names it.",
                limit=self._limit,
            )
        loop = asyncio.get_running_loop()
        done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

        def end(answer: Any, error: BaseException | None) -> None:
            self._running -= 1
            if not done.done():
                done.set_result((answer, error))

        def work() -> None:
            answer, error = None, None
            try:
                answer = call(*arguments)
            except BaseException as raised:  # noqa: BLE001 -- whoever waits is told, whatever it is
                error = raised
            # The loop may have ended meanwhile.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(end, answer, error)

        self._running += 1
        threading.Thread(target=work, name=f"listing-{self._name}"[:40], daemon=True).start()
        answer, error = await done
        if error is not None:
            raise error
        return answer
