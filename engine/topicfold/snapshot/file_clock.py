"""The clock by which files say when they were written: that of the machine where they lie, which may be another."""

from __future__ import annotations

from pathlib import Path

from topicfold.snapshot.unfinished import unfinished


def now_in(directory: Path) -> float:
    """Return the time now, in seconds since 1970, as a file that is made in `directory` at this moment says it."""
    probe = unfinished(directory / "now")
    probe.touch()
    try:
        return probe.stat().st_mtime
    finally:
        probe.unlink()
