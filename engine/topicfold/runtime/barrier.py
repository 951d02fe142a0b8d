"""Barriers: the moment after which everything acknowledged before is folded here.

A barrier asks for the log's end after the request arrived, then waits for the fold to reach it. One query to the
log serves everybody who arrived before it was sent.

Source: Kubernetes KEP-2340 (consistent reads from cache); Raft's read index.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import TypeVar

from topicfold.errors import LogUnavailable, PositionTimeout
from topicfold.log.codec import encode_event
from topicfold.log.port import Log
from topicfold.model.events import GENESIS, AggregateKind, Event, Kind
from topicfold.runtime.tracker import Tracker
from topicfold.state.fold import PartitionState

_T = TypeVar("_T")


class Ends(dict[int, int]):
    """Per partition the next offset to be written, where it is known; asked for another, it raises `LogUnavailable`."""

    def __missing__(self, partition: int) -> int:
        raise LogUnavailable(f"partition {partition} of the log cannot be reached", partition=partition)


RECORD_SECONDS = 5.0
"""After this a barrier record counts as lost, so that the next can be sent."""


class Barriers:
    """Shared end-offset queries, and barrier records for those who ask for more."""

    def __init__(
        self,
        log: Log,
        states: Mapping[int, PartitionState],
        tracker: Tracker,
        new_id: Callable[[], bytes],
        on_ends: Callable[[Ends, float], None],
    ) -> None:
        """Take `on_ends`, which is told each answer and the loop's time at which it was asked for."""
        self._log = log
        self._states = states
        self._tracker = tracker
        self._new_id = new_id
        self._on_ends = on_ends
        self._running: asyncio.Task[Ends] | None = None
        self._next: asyncio.Task[Ends] | None = None
        self._records: dict[int, asyncio.Task[None]] = {}

    async def ends(self) -> Ends:
        """Return the end offsets, asked for after this call.

        Raises:
            LogUnavailable: no partition of the log answered.
        """
        if self._running is None and self._next is None:
            self._running = _start(self._query())
            return await asyncio.shield(self._running)
        if self._next is None:
            self._next = _start(self._query_after(self._running))
        return await asyncio.shield(self._next)

    async def wait(self, partitions: Collection[int], deadline: float) -> None:
        """Return once `partitions` are folded up to ends asked for after this call.

        Raises:
            LogUnavailable: the log did not answer for all of them by `deadline` (a time of the loop's clock).
            PositionTimeout: it did, but the fold did not get there by then.
        """
        await self.reach(await self.ends_by(deadline), partitions, deadline)

    async def ends_by(self, deadline: float) -> Ends:
        """Return the end offsets, asked for after this call.

        Raises:
            LogUnavailable: the log did not answer by `deadline`, a time of the loop's clock.
        """
        try:
            async with asyncio.timeout_at(deadline):
                return await self.ends()
        except TimeoutError:
            raise LogUnavailable("the log did not say where it ends in time") from None

    async def reach(self, ends: Ends, partitions: Collection[int], deadline: float) -> None:
        """Return once `partitions` are folded up to `ends`.

        Raises:
            LogUnavailable: `ends` says nothing of one.
            PositionTimeout: the fold did not get there by `deadline`.
        """
        for partition in partitions:
            await self._tracker.wait_for(partition, ends[partition], self._states[partition].position, deadline)

    async def wait_linearizable(self, partitions: Collection[int], deadline: float) -> None:
        """Return once a barrier record, appended to each of `partitions` after this call, is folded.

        Holds even where a broker that lost its leadership answers end-offset queries. At most one such record is in
        flight per partition.

        Raises:
            LogUnavailable: the record could not be appended.
            PositionTimeout: it did not come back by `deadline`.
        """
        for partition in partitions:
            try:
                async with asyncio.timeout_at(deadline):
                    await self._record_after_now(partition)
            except TimeoutError:
                raise PositionTimeout("the barrier record has not come back in time", partition=partition) from None

    async def _record_after_now(self, partition: int) -> None:
        before = self._records.get(partition)
        if before is not None:
            await asyncio.wait([before])
        task = self._records.get(partition)
        if task is None or task is before:
            task = self._records[partition] = _start(self._append(partition))
        await asyncio.shield(task)

    async def _append(self, partition: int) -> None:
        event_id = self._new_id()
        folded = self._tracker.expect_event(partition, event_id)
        level = self._states[partition].level
        barrier = Event(level, Kind.BARRIER, 0, event_id, AggregateKind.NONE, "", 0, GENESIS, GENESIS, (), 0, b"", b"")
        try:
            self._log.append(
                partition,
                encode_event(barrier),
                lambda error: None if folded.done() else folded.set_exception(error),
            )
            async with asyncio.timeout(RECORD_SECONDS):
                await folded
        finally:
            folded.cancel()

    async def _query(self) -> Ends:
        asked = asyncio.get_running_loop().time()
        try:
            ends = Ends(await self._log.known_end_offsets())
        finally:
            self._running = None
        self._on_ends(ends, asked)
        return ends

    async def _query_after(self, running: asyncio.Task[Ends] | None) -> Ends:
        if running is not None:
            await asyncio.wait([running])
        self._running, self._next = self._next, None
        return await self._query()


def _start(work: Coroutine[None, None, _T]) -> asyncio.Task[_T]:
    """Start `work` for those who still wait when it ends; they get its error, and nobody does if all have left."""
    task = asyncio.create_task(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task
