"""Refilling the window: what events changed that lie below where this node began to fold.

A node that starts from a snapshot has nothing in its window below the snapshot's positions, and yet a stream goes on
from wherever the log and the window's size allow. What an event changed only folding can tell: what a topic bore before
stands nowhere else. So once somebody wants to go on from there, that partition is folded once more, aside and in
slices: from the newest commit at or below the wanted position, or from the log's beginning, up to where the window
begins. Who asks waits for it, and nobody else; it goes on where they are gone, who come again. Where there is neither
such a commit nor the log's beginning, the window stays as it is, and who wants more is told to start anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import structlog

from topicfold.errors import NotReady
from topicfold.log.codec import decode_event
from topicfold.log.port import Log
from topicfold.process.own_thread import is_cancelled
from topicfold.runtime.refold import Base
from topicfold.runtime.slices import Slice
from topicfold.runtime.task_end import end_tasks
from topicfold.runtime.watching.window import Window
from topicfold.state.fold import NewState, PartitionState

_log = structlog.get_logger(__name__)

_BATCH = 1_000


class WindowRefill:
    """Extends one node's window downwards."""

    def __init__(
        self, log: Log, states: Mapping[int, PartitionState], window: Window, new_state: NewState, base: Base
    ) -> None:
        self._log = log
        self._states = states
        self._window = window
        self._new_state = new_state
        self._base = base
        self._extending: dict[int, asyncio.Task[None]] = {}

    async def reach(self, positions: Mapping[int, int]) -> None:
        """Return once the window goes back to these positions, or as far as it can.

        Raises:
            LogUnavailable: the log did not answer in time.
            NotReady: the node is stopping.

        Cost: nothing where it does already; else the fold of what lies between a commit and the window.
        """
        for partition, position in positions.items():
            is_tried = False
            while position < self._window.start(partition) and not is_tried:
                is_tried = partition not in self._extending
                try:
                    await asyncio.shield(self._extending.get(partition) or self._begin(partition, position))
                except asyncio.CancelledError:
                    if is_cancelled():
                        raise
                    raise NotReady("this node is stopping", hint="Watch on another node.") from None

    async def close(self) -> None:
        """Give up what is being folded."""
        await end_tasks(self._extending.values())

    def _begin(self, partition: int, position: int) -> asyncio.Task[None]:
        task = self._extending[partition] = asyncio.create_task(self._extend_alone(partition, position))
        # Who asked may be gone, and nobody be told.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def _extend_alone(self, partition: int, position: int) -> None:
        try:
            await self._extend(partition, position)
        finally:
            del self._extending[partition]

    async def _extend(self, partition: int, position: int) -> None:
        window = self._window
        end = window.start(partition)
        floor = (await self._log.start_offsets())[partition]
        if position < max(floor, window.lowest(partition, self._states[partition].position)):
            return
        state = await self._base(partition, position) or self._new_state(partition)
        if state.position < floor:
            return
        older = window.below(partition, state.position)
        await self._fill(older, state, end)
        if state.position == end:
            window.extend(partition, older)
            _log.info("window_extended", partition=partition, start=window.start(partition), end=end)

    async def _fill(self, older: Window, state: PartitionState, end: int) -> None:
        """Fold `state` up to `end`, or to where the log cannot go on; have `older` take what that changes."""
        turn = Slice()
        while state.position < end:
            entries = await self._log.read(state.partition, state.position, min(_BATCH, end - state.position))
            if not entries or entries[0].offset != state.position:
                break
            for _, offset, value in entries:
                change = state.apply(offset, decode_event(value))
                if change.effect is not None and change.event is not None:
                    older.add(state.partition, change.effect, change.event.audit)
                await turn.rest()
