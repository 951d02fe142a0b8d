"""A log in memory: several nodes of one process and one loop share a `MemoryStore`.

What is appended is in the log at once, for every handle; it is delivered in a later turn of the loop. There are no
threads and no clock, so the same calls in the same order give the same deliveries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping, Sequence

from topicfold.errors import LogUnavailable, TooLarge
from topicfold.log.codec import MAX_EVENT_BYTES
from topicfold.log.gaps import begins_after, ends_before
from topicfold.log.port import Deliver, Entry, Failed, Fault, SettingProblem

_BATCH = 1_000


class MemoryStore:
    """The records themselves. They outlive the handles, as a file outlives processes."""

    def __init__(self, partitions: int = 8) -> None:
        self.entries: tuple[list[Entry], ...] = tuple([] for _ in range(partitions))
        self.starts = [0] * partitions
        """Records below these offsets are deleted: their entries stay in place, with empty values."""
        self._followers: list[MemoryLog] = []

    def append(self, partition: int, value: bytes) -> None:
        """Add `value` to the end of `partition` and tell the followers."""
        entries = self.entries[partition]
        entries.append(Entry(partition, len(entries), value))
        for follower in self._followers:
            follower.wake()

    def delete_before(self, partition: int, offset: int) -> None:
        """Empty the entries of `partition` below `offset`."""
        for place in range(self.starts[partition], offset):
            self.entries[partition][place] = Entry(partition, place, b"")
        self.starts[partition] = max(self.starts[partition], offset)

    def page(self, partition: int, offset: int, limit: int) -> list[Entry]:
        """Return up to `limit` entries of `partition` from `offset`, or from its beginning if that is later."""
        first = max(offset, self.starts[partition])
        return self.entries[partition][first : first + limit]

    def join(self, follower: MemoryLog) -> None:
        """Wake `follower` after every append from now on."""
        self._followers.append(follower)

    def leave(self, follower: MemoryLog) -> None:
        """Wake `follower` no longer; does nothing if it never joined."""
        if follower in self._followers:
            self._followers.remove(follower)


class MemoryLog:
    """One node's handle on a `MemoryStore`; keeps the promises of `topicfold.log.port.Log`."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._positions: dict[int, int] = {}
        self._deliver: Deliver | None = None
        self._fault: Fault | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_woken = False
        self._is_closed = False

    @property
    def partitions(self) -> int:
        """The number of partitions of the store."""
        return len(self._store.entries)

    def append(self, partition: int, value: bytes, failed: Failed) -> None:
        """Append `value`; it can be read by every handle when this returns. Never calls `failed`.

        Raises:
            TooLarge: above `MAX_EVENT_BYTES`.
        """
        self._require_open()
        if len(value) > MAX_EVENT_BYTES:
            raise TooLarge(f"an event of {len(value)} bytes is above {MAX_EVENT_BYTES}", limit=MAX_EVENT_BYTES)
        self._store.append(partition, value)

    async def place(self) -> Hashable:
        """Return the identity of the store."""
        self._require_open()
        return id(self._store)

    async def read(self, partition: int, offset: int, limit: int) -> list[Entry]:
        """Return up to `limit` records of `partition` from `offset` on."""
        self._require_open()
        return self._store.page(partition, offset, limit)

    async def start_offsets(self) -> Mapping[int, int]:
        """Return per partition the first offset that still exists."""
        self._require_open()
        return dict(enumerate(self._store.starts))

    async def end_offsets(self) -> Mapping[int, int]:
        """Return per partition the next offset to be written."""
        self._require_open()
        return {partition: len(entries) for partition, entries in enumerate(self._store.entries)}

    async def known_start_offsets(self) -> Mapping[int, int]:
        """Return the same as `start_offsets`: partitions do not fail apart."""
        return await self.start_offsets()

    async def known_end_offsets(self) -> Mapping[int, int]:
        """Return the same as `end_offsets`: partitions do not fail apart."""
        return await self.end_offsets()

    async def delete_before(self, partition: int, offset: int) -> None:
        """Delete the records of `partition` below `offset`.

        Raises:
            LogGap: the log ends before `offset`.
        """
        self._require_open()
        end = len(self._store.entries[partition])
        if offset > end:
            raise ends_before(partition, end, offset)
        self._store.delete_before(partition, offset)

    def follow(self, positions: Mapping[int, int], deliver: Deliver, fault: Fault) -> None:
        """Deliver from `positions`; a position that is deleted or beyond the end is a fault of its partition."""
        self._require_open()
        self._loop = asyncio.get_running_loop()
        self._deliver = deliver
        self._fault = fault
        for partition, position in positions.items():
            end = len(self._store.entries[partition])
            if position <= end:
                self._positions[partition] = position
                continue
            self._loop.call_soon(fault, ends_before(partition, end, position), partition)
        self._store.join(self)
        self.wake()

    async def check_settings(self) -> Sequence[SettingProblem]:
        """Return nothing: there are no settings."""
        self._require_open()
        return ()

    async def close(self) -> None:
        """Stop delivering; the store stays."""
        self._is_closed = True
        self._store.leave(self)

    def wake(self) -> None:
        """Schedule the delivery of what is new for the loop's next turn."""
        if self._loop is not None and not self._is_woken:
            self._is_woken = True
            self._loop.call_soon(self._deliver_next)

    def _deliver_next(self) -> None:
        self._is_woken = False
        if self._is_closed or self._deliver is None or self._fault is None:
            return
        batch: list[Entry] = []
        for partition, position in [*self._positions.items()]:
            start = self._store.starts[partition]
            if position < start:
                del self._positions[partition]
                self._fault(begins_after(partition, start, position), partition)
                continue
            batch += self._store.entries[partition][position : position + _BATCH - len(batch)]
        if not batch:
            return
        for entry in batch:
            self._positions[entry.partition] = entry.offset + 1
        self.wake()
        self._deliver(batch)

    def _require_open(self) -> None:
        if self._is_closed:
            raise LogUnavailable("the log is closed")
