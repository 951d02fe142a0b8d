"""The tracker: completes those who wait for something to be folded.

They wait for a position of a partition, or for one event. The reader completes them in the step after the fold. If the
tracker is closed, they fail; they are never completed then.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import defaultdict
from itertools import count

from topicfold.errors import NotReady, PositionTimeout
from topicfold.state.change import Change

_SWEEP_AT = 64
"""Waiters who gave up are swept out once so many wait, then whenever twice as many do as were left."""


class Tracker:
    """Who waits for what, on one loop."""

    def __init__(self) -> None:
        self._positions: defaultdict[int, list[tuple[int, int, asyncio.Future[None]]]] = defaultdict(list)
        self._reached: defaultdict[int, int] = defaultdict(int)
        self._events: dict[tuple[int, bytes], asyncio.Future[None]] = {}
        self._sweep_at: defaultdict[int, int] = defaultdict(lambda: _SWEEP_AT)
        self._order = count()
        self._given_up: set[int] = set()
        self._is_closed = False

    async def wait_for(self, partition: int, position: int, reached: int, deadline: float | None) -> None:
        """Return once the fold of `partition` has passed `position`; `reached` is where it is now.

        Says nothing about watchers, who may lag. `deadline` is a time of the loop's clock, None for ever.

        Raises:
            PositionTimeout: budget spent; carries `wanted`, and `reached` as it is then.
            NotReady: the engine stopped; the write may still become visible after a restart.

        Source: session guarantees, Terry et al. 1994.
        """
        if reached >= position:
            return
        future = self._new_future(partition)
        waiting = self._positions[partition]
        if len(waiting) >= self._sweep_at[partition]:
            waiting[:] = [each for each in waiting if not each[2].done()]
            heapq.heapify(waiting)
            self._sweep_at[partition] = 2 * len(waiting) + _SWEEP_AT
        heapq.heappush(waiting, (position, next(self._order), future))
        try:
            async with asyncio.timeout_at(deadline):
                await future
        except TimeoutError:
            raise PositionTimeout(
                f"partition {partition} has not been folded up to {position} in time",
                partition=partition,
                wanted=position,
                reached=max(reached, self._reached[partition]),
            ) from None

    def expect_event(self, partition: int, event_id: bytes) -> asyncio.Future[None]:
        """Return a future that is done once the event of that id is folded in `partition`, whatever came of it.

        A copy of it in another partition says nothing of this one. Ask before the event is appended. Who no longer
        waits cancels it.

        Raises:
            NotReady: the engine stopped; the future fails with the same if it stops later.
        """
        future = self._events[partition, event_id] = self._new_future(partition)
        future.add_done_callback(lambda _: self._events.pop((partition, event_id), None))
        return future

    def publish(self, partition: int, change: Change) -> None:
        """Complete those who wait for this record's event."""
        if self._events and change.event is not None:
            future = self._events.get((partition, change.event.event_id))
            if future is not None and not future.done():
                future.set_result(None)

    def publish_position(self, partition: int, position: int) -> None:
        """Complete those who wait for a position of `partition` up to `position`."""
        self._reached[partition] = position
        waiting = self._positions.get(partition)
        while waiting and waiting[0][0] <= position:
            future = heapq.heappop(waiting)[2]
            if not future.done():
                future.set_result(None)

    def give_up(self, partition: int) -> None:
        """Fail everybody who waits for a partition that is folded no further, now and later."""
        self._given_up.add(partition)
        for future in self._waiting(partition):
            future.set_exception(no_further(partition))

    def close(self) -> None:
        """Fail everybody who waits, now and later."""
        self._is_closed = True
        for partition in {*self._positions, *(each for each, _ in self._events)}:
            self.give_up(partition)

    def _waiting(self, partition: int) -> list[asyncio.Future[None]]:
        futures = [future for _, _, future in self._positions.get(partition, ())]
        futures += [future for (each, _), future in self._events.items() if each == partition]
        return [future for future in futures if not future.done()]

    def _new_future(self, partition: int) -> asyncio.Future[None]:
        if self._is_closed or partition in self._given_up:
            raise no_further(partition)
        return asyncio.get_running_loop().create_future()


def no_further(partition: int) -> NotReady:
    """Return what to tell who waits for a partition that is not folded any further here, as when the node stops."""
    return NotReady(f"this node folds partition {partition} no further", hint="Send the request to another node.")
