"""Left behind: the log was trimmed beyond what this node has folded, because the node was suspended for long.

A gap is never skipped, and nothing is folded across it. The remedy is a new start from a snapshot: everybody who waits
on the old state is told, and watchers continue from their cursors or get a RESET. `server.run` does that; without a
snapshot the partition stays stopped, and its error says what to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import structlog

from topicfold.errors import LogGap, LogUnavailable, TopicfoldError
from topicfold.log.gaps import begins_after, ends_before
from topicfold.log.port import Log
from topicfold.runtime.reader import Reader
from topicfold.runtime.task_end import end_tasks
from topicfold.state.fold import PartitionState

_log = structlog.get_logger(__name__)

LOOK_AGAIN_SECONDS = 1.0
"""After so long a log that did not answer is asked again where it begins."""


class LeftBehind:
    """Takes what stops the log's delivery, and finds out whether that is it. `can_start_anew`: there is a snapshot."""

    def __init__(self, log: Log, states: Mapping[int, PartitionState], reader: Reader, *, can_start_anew: bool) -> None:
        self._log = log
        self._states = states
        self._reader = reader
        self._can_start_anew = can_start_anew
        self._must_start_anew = asyncio.Event()
        self._looks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def wait(self) -> None:
        """Return once this engine can only be stopped, and another be started in its place, from the snapshot."""
        await self._must_start_anew.wait()

    def on_fault(self, fault: TopicfoldError, partition: int | None) -> None:
        """Stop one partition, or all of them for None; of a gap, look why."""
        self._reader.stop(fault, partition)
        if isinstance(fault, LogGap) and partition is not None and not self._is_closed:
            task = asyncio.get_running_loop().create_task(self._look(partition))
            self._looks.add(task)
            task.add_done_callback(self._looks.discard)

    async def close(self) -> None:
        """Look no more, whatever the log still tells while it is closed: it would never say where it begins."""
        self._is_closed = True
        await end_tasks(self._looks)

    async def _look(self, partition: int) -> None:
        start, end = await self._bounds(partition)
        position = self._states[partition].position
        if end < position:
            # No snapshot helps: where another topic took the log's name, or brokers lost records, less is there.
            lost = self._reader.faults[partition] = ends_before(partition, end, position)
            _log.error("log_lost_records", partition=partition, reason=lost.reason)
            return
        if start <= position:
            return
        gap = begins_after(partition, start, position)
        if self._can_start_anew:
            _log.warning("left_behind", partition=partition, position=position, start=start)
            self._must_start_anew.set()
        else:
            gap = LogGap(f"{gap.reason}; restart this node with --snapshot DIR", hint=gap.hint, **gap.values)
            _log.error("left_behind", partition=partition, reason=gap.reason)
        self._reader.faults[partition] = gap

    async def _bounds(self, partition: int) -> tuple[int, int]:
        """Return where the log begins and ends, as soon as it says so: who is left behind would stay so for ever."""
        while True:
            try:
                return (await self._log.start_offsets())[partition], (await self._log.end_offsets())[partition]
            except LogUnavailable as error:
                _log.warning("gap_not_looked_into", partition=partition, reason=error.reason)
                await asyncio.sleep(LOOK_AGAIN_SECONDS)
