"""From times to positions: where in a partition of the log a moment lies, by the clocks of the nodes that wrote.

Clocks differ between nodes, so times need not rise with offsets. Then a moment lies somewhere among the events written
around it; one position is chosen, and always the same one for the same log. It follows the majority of the events
there, so a clock that was once far off does not move it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from topicfold.log.codec import decode_audit, decode_event
from topicfold.log.port import Log
from topicfold.runtime.slices import Slice

BLOCK = 32
"""Events that are looked at together."""


class _Timed(NamedTuple):
    """An event that says when it was written."""

    offset: int
    time_ms: int


async def position_at(log: Log, partition: int, time_ms: int, start: int, end: int) -> int:
    """Return the position from `start` to `end` that parts events written up to `time_ms` from those written later.

    After the newest of the former, `start` where there is none. Where clocks differ, the first position with the fewest
    events on the wrong side of it, among the blocks about which most events agree: as many as half of `BLOCK` events
    in a row may say anything. Records that say no time count to the event before them.

    Raises:
        LogUnavailable: the log did not answer in time.

    Cost: a read of `BLOCK` records for each halving of what lies between.
    """
    low, high = start, end
    before: Sequence[_Timed] = ()
    after: Sequence[_Timed] = ()
    turn = Slice()
    while high - low > 2 * BLOCK:
        middle = (low + high) // 2
        found = await _next_timed(log, partition, middle, high, turn)
        if sum(_side(each, time_ms) for each in found) > 0:
            low, before = found[-1].offset + 1, found
        else:
            high, after = middle, found or after
    between: list[_Timed] = []
    while found := await _next_timed(log, partition, low, high, turn):
        between += found
        low = found[-1].offset + 1
    return _parting([*before, *between, *after], time_ms) or start


async def surplus(log: Log, partition: int, time_ms: int, start: int, end: int) -> int:
    """Return how many more of the events from `start` on and below `end` were written up to `time_ms` than later.

    Raises:
        LogUnavailable: the log did not answer in time.
    """
    found = 0
    turn = Slice()
    while block := await _next_timed(log, partition, start, end, turn):
        found += sum(_side(each, time_ms) for each in block)
        start = block[-1].offset + 1
    return found


async def first_time_ms(log: Log, partition: int, start: int, end: int) -> int | None:
    """Return when the first event from `start` on and below `end` was written; None where there is none.

    Raises:
        LogUnavailable: the log did not answer in time.
    """
    found = await _next_timed(log, partition, start, end, Slice())
    return found[0].time_ms if found else None


def _side(event: _Timed, time_ms: int) -> int:
    return 1 if event.time_ms <= time_ms else -1


def _parting(events: Sequence[_Timed], time_ms: int) -> int:
    """Return the first position that has the fewest of `events` on the wrong side, 0 before all of them."""
    surplus = list(accumulate((_side(each, time_ms) for each in events), initial=0))
    place = surplus.index(max(surplus))
    return events[place - 1].offset + 1 if place else 0


async def _next_timed(log: Log, partition: int, offset: int, end: int, turn: Slice) -> Sequence[_Timed]:
    """Return the next events from `offset` on and below `end` that say a time, of one block; none at the end."""
    while offset < end:
        entries = await log.read(partition, offset, min(BLOCK, end - offset))
        if not entries:
            return ()
        found = []
        for _, at, value in entries:
            event = decode_event(value)
            trail = decode_audit(event.audit) if event is not None else None
            if trail is not None and trail.says_time:
                found.append(_Timed(at, trail.time_ms))
            await turn.rest()
        if found:
            return found
        offset = entries[-1].offset + 1
    return ()
