"""What is said where a log does not hold what it is asked for: it begins after it, or ends before it."""

from __future__ import annotations

from topicfold.errors import LogGap


def begins_after(partition: int, start: int, position: int) -> LogGap:
    """Return what is wrong where `partition` begins at `start`, and `position` was to be read."""
    return LogGap(
        f"partition {partition} of the log begins at offset {start}: what lay from {position} on was trimmed",
        hint="Start from a newer snapshot: --snapshot DIR, where `topicfold compact` writes it.",
        partition=partition,
        expected=position,
        found=start,
    )


def ends_before(partition: int, end: int, position: int) -> LogGap:
    """Return what is wrong where `partition` ends at `end`, and `position` was spoken of."""
    return LogGap(
        f"partition {partition} ends at {end}, before {position}",
        hint="The log has lost records, or is an older copy. Restore it.",
        partition=partition,
        expected=position,
        found=end,
    )
