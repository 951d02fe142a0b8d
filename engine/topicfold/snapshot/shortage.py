"""What a process lacks while it reads a snapshot, the right to included: that says nothing about the files, which may
all be whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topicfold.errors import SnapshotUnreadable
from topicfold.shortage import shortage_in


@contextmanager
def naming_shortage(path: Path) -> Iterator[None]:
    """Say so where memory, open files, threads or rights do not suffice to read what lies at `path`, of a snapshot.

    To be put where other errors mean damage: commits that are damaged are gone past, and for ever.

    Raises:
        SnapshotUnreadable: they do not.
    """
    try:
        yield
    except PermissionError as error:
        raise SnapshotUnreadable(
            f"{path} may not be read",
            hint="That says nothing about the snapshot. Its files are open to the user alone who runs the job: run as "
            "that one what reads them, or change their owner or their mode.",
            path=str(path),
        ) from error
    except (MemoryError, OSError, RuntimeError) as error:
        if shortage := shortage_in(error):
            raise SnapshotUnreadable(
                f"{path} cannot be read now: {shortage}",
                hint="That says nothing about the snapshot. Let this process have more of it, and try again.",
                path=str(path),
            ) from error
        raise
