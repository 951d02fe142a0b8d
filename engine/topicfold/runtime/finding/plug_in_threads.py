"""Threads for the plain functions of a topic listing: a limited number at a time, including those that hang."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from topicfold.errors import Overloaded
from topicfold.process.own_thread import call_in_own_thread

MAX_CALLS = 16
"""At work at the same time, those that hang included."""


class PlugInThreads:
    """Runs calls, each in a thread of its own, `limit` at most at a time."""

    def __init__(self, name: str, limit: int = MAX_CALLS) -> None:
        self._name = name
        self._limit = limit
        self._room = threading.Semaphore(limit)

    async def call(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Return what `call` returns, raise what it raises. Who waits no longer leaves it to itself.

        Raises:
            Overloaded: as many as may be are at work.
        """
        if not self._room.acquire(blocking=False):
            raise Overloaded(
                f"{self._limit} calls of the topic listing {self._name} have not returned, and no more can run",
                hint="Try again in a few seconds. If it goes on, the listing hangs: the node's log names it.",
                limit=self._limit,
            )

        has_begun = False

        def counted() -> Any:
            nonlocal has_begun
            has_begun = True
            try:
                return call(*arguments)
            finally:
                self._room.release()

        try:
            return await call_in_own_thread(f"listing-{self._name}", counted)
        except RuntimeError:
            if not has_begun:
                # There is no room for another thread in this process.
                self._room.release()
            raise
