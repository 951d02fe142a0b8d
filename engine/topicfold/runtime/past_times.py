"""From times to positions: where in a partition of the log a moment lies, by the clocks of the nodes that wrote.

Clocks of nodes differ, so times need not rise with offsets. Then a moment is somewhere among the events that were
written about then; the position that is found is one, and always the same while the log is.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from topicfold.log.codec import decode_audit, decode_event
from topicfold.log.port import Log
from topicfold.runtime.slices import Slice

_BLOCK = 32
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


async def position_at(log: Log, partition: int, time_ms: int, start: int, end: int) -> int:
    """Return the position after the newest event from `start` on and below `end` that was written up to `time_ms`.

    `start` where all of them were written later. Records that say no time count to the event before them.

    Raises:
        LogUnavailable: the log did not answer in time.

    Cost: a read of `_BLOCK` records for each halving of what lies between.
    """
    low, high = start, end
    turn = Slice()
    while low < high:
        middle = (low + high) // 2
        found = await _next_time(log, partition, middle, high, turn)
        if found is None:
            high = middle
        elif found[1] <= time_ms:
            low = found[0] + 1
        else:
            high = middle
    return low


async def first_time_ms(log: Log, partition: int, start: int, end: int) -> int | None:
    """Return when the first event from `start` on and below `end` was written; None where there is none.

    Raises:
        LogUnavailable: the log did not answer in time.
    """
    found = await _next_time(log, partition, start, end, Slice())
    return None if found is None else found[1]


def time_text(time_ms: int) -> str:
    """Return a time as RFC 3339 has it.

    >>> time_text(1_700_000_000_000)
    '2023-11-14T22:13:20Z'
    """
    moment = _EPOCH + timedelta(milliseconds=time_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z").replace(".000Z", "Z")


async def _next_time(log: Log, partition: int, offset: int, end: int, turn: Slice) -> tuple[int, int] | None:
    """Return the next record from `offset` on and below `end` that says a time, and that time; None for none."""
    while offset < end:
        entries = await log.read(partition, offset, min(_BLOCK, end - offset))
        if not entries:
            return None
        for _, at, value in entries:
            event = decode_event(value)
            trail = decode_audit(event.audit) if event is not None else None
            if trail is not None and trail.says_time:
                return at, trail.time_ms
            await turn.rest()
        offset = entries[-1].offset + 1
    return None
