"""The errors for a log that lacks a position: it begins after it, or ends before it."""

from __future__ import annotations

from topicfold.errors import LogGap


def begins_after(partition: int, start: int, position: int) -> LogGap:
    """Return the error for a `partition` that begins at `start`, after the `position` that was to be read."""
    return LogGap(
        f"partition {partition} of the log begins at offset {start}: the records from {position} on were trimmed",
        hint="Start from a newer snapshot: --snapshot DIR, where `topicfold compact` writes it.",
        partition=partition,
        expected=position,
        found=start,
    )


def ends_before(partition: int, end: int, position: int) -> LogGap:
    """Return the error for a `partition` that ends at `end`, before the `position` that was requested."""
    return LogGap(
        f"partition {partition} ends at {end}, before {position}",
        hint=(
            "The log has lost records, or is an older copy. If there is no newer one, let this node run until you have "
            "saved what it knows (docs/recovery.md); then restore the log."
        ),
        partition=partition,
        expected=position,
        found=end,
    )
