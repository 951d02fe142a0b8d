"""What a process runs out of while it reads a snapshot: that says nothing about the files, which may all be whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topicfold.errors import SnapshotUnreadable
from topicfold.shortage import shortage_in


@contextmanager
def naming_shortage(path: Path) -> Iterator[None]:
    """Say so where memory, open files or threads do not suffice to read what lies at `path`, of a snapshot.

    To be put where other errors mean damage: commits that are damaged are gone past, and for ever.

    Raises:
        SnapshotUnreadable: they do not.
    """
    try:
        yield
    except (MemoryError, OSError, RuntimeError) as error:
        if shortage := shortage_in(error):
            raise SnapshotUnreadable(
                f"{path} cannot be read now: {shortage}",
                hint="That says nothing about the snapshot. Let this process have more of it, and try again.",
                path=str(path),
            ) from error
        raise
