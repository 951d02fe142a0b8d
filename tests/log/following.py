"""A follower for tests: keeps what a log delivers, and waits for it without sleeping."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from topicfold.errors import TopicfoldError
from topicfold.log.port import Entry, Log

PATIENCE_SECONDS = 60


class Following:
    """Follows `log` from `positions` (default: all from 0) and remembers everything."""

    def __init__(self, log: Log, positions: Mapping[int, int] | None = None) -> None:
        self.entries: list[Entry] = []
        self.batches = 0
        self.faults: list[tuple[TopicfoldError, int | None]] = []
        self._news = asyncio.Event()
        log.follow(positions or dict.fromkeys(range(log.partitions), 0), self._deliver, self._fault)

    async def seen(self, count: int) -> list[Entry]:
        """Return all entries once there are `count` of them."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.entries) < count:
                self._news.clear()
                await self._news.wait()
        return self.entries

    async def faulted(self) -> tuple[TopicfoldError, int | None]:
        """Return the first fault once there is one."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not self.faults:
                self._news.clear()
                await self._news.wait()
        return self.faults[0]

    def values(self, partition: int) -> list[bytes]:
        """Return what was delivered of `partition`, in order."""
        return [entry.value for entry in self.entries if entry.partition == partition]

    def _deliver(self, batch: Sequence[Entry]) -> None:
        self.entries += batch
        self.batches += 1
        self._news.set()

    def _fault(self, error: TopicfoldError, partition: int | None) -> None:
        self.faults.append((error, partition))
        self._news.set()


def never(error: TopicfoldError) -> None:
    """Stand for `failed` where no append may fail."""
    raise AssertionError(f"the log gave up on an append: {error}")
