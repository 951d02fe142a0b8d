"""What a process runs out of while it reads a snapshot: that says nothing about the files, which may all be whole."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topicfold.errors import SnapshotUnreadable

_SHORT_OF = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


@contextmanager
def naming_shortage(path: Path) -> Iterator[None]:
    """Say so where memory or open files do not suffice to read what lies at `path`, of a snapshot.

    To be put where other errors mean damage: commits that are damaged are gone past, and for ever.

    Raises:
        SnapshotUnreadable: they do not.
    """
    try:
        yield
    except MemoryError as error:
        raise _unreadable(path, "there is not enough memory") from error
    except OSError as error:
        if error.errno not in _SHORT_OF:
            raise
        raise _unreadable(path, str(error.strerror)) from error


def _unreadable(path: Path, why: str) -> SnapshotUnreadable:
    return SnapshotUnreadable(
        f"{path} cannot be read now: {why}",
        hint="That says nothing about the snapshot. Let this process have more memory or open files, and try again.",
        path=str(path),
    )
