"""Readiness: which partitions are folded up to the end that the log had when this node started."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from topicfold.errors import NotReady, TopicfoldError
from topicfold.state.fold import PartitionState


class Readiness:
    """A gate per partition. A namespace behind a closed one is "not ready", never empty."""

    def __init__(self, states: Mapping[int, PartitionState], faults: Mapping[int, TopicfoldError]) -> None:
        self._states = states
        self._faults = faults
        self._open = {partition: asyncio.Event() for partition in states}
        self._closed: set[int] = set()
        self._ends: dict[int, int] = {}

    def expect(self, ends: Mapping[int, int]) -> None:
        """Take the ends that have to be folded before these partitions are ready."""
        self._ends |= ends

    def open(self, partition: int) -> None:
        """Say that `partition` is ready from now on; nothing happens where it was closed meanwhile."""
        if partition not in self._closed:
            self._open[partition].set()

    def close(self, partition: int) -> None:
        """Say that `partition` must never be read again: what is folded of it is wrong."""
        self._closed.add(partition)
        self._open[partition].clear()

    def is_ready(self, partition: int) -> bool:
        """Return whether `partition` has caught up and has not stopped."""
        return self._open[partition].is_set() and partition not in self._faults

    def can_be_read(self, partition: int) -> bool:
        """Return whether `partition` has caught up once; a stopped one stays readable, marked by its age."""
        return self._open[partition].is_set()

    async def wait(self, partitions: Collection[int], seconds: float | None) -> None:
        """Return once all of `partitions` can be read. `seconds`, which is for all of them, None waits for ever.

        Raises:
            NotReady: one cannot within `seconds`; says how far it is or why it stopped.
        """
        loop = asyncio.get_running_loop()
        end = None if seconds is None else loop.time() + seconds
        for partition in partitions:
            if self._open[partition].is_set():
                continue
            try:
                async with asyncio.timeout_at(end if partition not in self._faults else loop.time()):
                    await self._open[partition].wait()
            except TimeoutError:
                fault = self._faults.get(partition)
                hint = None if fault is None else fault.hint
                raise NotReady(self.reason(partition), hint=hint, partition=partition) from None

    def reason(self, partition: int) -> str:
        """Return a sentence on why `partition` is not ready."""
        fault = self._faults.get(partition)
        if fault is not None:
            return f"partition {partition} has stopped: {fault.reason}"
        if partition not in self._ends:
            return f"partition {partition} of the log has not said yet where it ends"
        position = self._states[partition].position
        return f"partition {partition} is folded up to {position} of {max(position, self._ends[partition])}"
