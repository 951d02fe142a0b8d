"""A fair semaphore: askers get one turn each in rotation, however many turns one of them waits for."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextvars import ContextVar

ASKER: ContextVar[str] = ContextVar("asker", default="")
"""Who it is that a task works for, in whatever it calls and begins; "" where nobody is told from another."""


class FairSemaphore:
    """At most `limit` at a time, in turn among askers.

    An asker that waits for hundreds of turns does not delay another, which waits for one turn to end.
    """

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiting: OrderedDict[str, dict[asyncio.Future[None], None]] = OrderedDict()

    async def acquire(self, asker: str) -> None:
        """Return once `asker` has a turn. `release` it."""
        if self._free:
            self._free -= 1
            return
        mine = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(asker, {})[mine] = None
        try:
            await mine
        except asyncio.CancelledError:
            if not mine.cancelled():
                self.release()
            elif mine in self._waiting.get(asker, ()):
                self._drop(asker, mine)
            raise

    def waiting(self, asker: str) -> int:
        """Return for how many turns `asker` waits."""
        return len(self._waiting.get(asker, ()))

    def release(self) -> None:
        """Let the next one have a turn that is over."""
        while self._waiting:
            asker, theirs = next(iter(self._waiting.items()))
            mine = next(iter(theirs))
            if not mine.cancelled():
                self._waiting.move_to_end(asker)
                self._drop(asker, mine)
                mine.set_result(None)
                return
            # It is leaving, and has not been told yet.
            self._drop(asker, mine)
        self._free += 1

    def _drop(self, asker: str, mine: asyncio.Future[None]) -> None:
        theirs = self._waiting[asker]
        del theirs[mine]
        if not theirs:
            del self._waiting[asker]
