"""What hinders a process while it reads a snapshot: what it lacks, the right to included, or a disk that fails. That
says nothing about the files, which may all be whole.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topicfold.errors import SnapshotUnreadable
from topicfold.shortage import shortage_in

_FAILS = (errno.EIO, errno.ENXIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.EHOSTDOWN)
"""What a disk says that cannot read, and a file system whose other end is away."""


@contextmanager
def naming_shortage(path: Path) -> Iterator[None]:
    """Say so where memory, open files, threads or rights do not suffice to read what lies at `path`, of a snapshot, or
    its disk fails.

    To be put where other errors mean damage: commits that are damaged are gone past, and for ever.

    Raises:
        SnapshotUnreadable: they do not, or it does.
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
        if isinstance(error, OSError) and error.errno in _FAILS:
            raise SnapshotUnreadable(
                f"{path} cannot be read: {error.strerror}",
                hint="The disk fails, or the file system whose it is: that says nothing about the snapshot. Once it is "
                "known that a file is lost, remove that: then it is gone on from an older commit.",
                path=str(path),
            ) from error
        raise
