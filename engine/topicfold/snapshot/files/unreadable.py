"""What keeps a process from reading a snapshot although its files may be undamaged: missing rights, memory or open
files, or a failing disk.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topicfold.errors import SnapshotUnreadable
from topicfold.process.shortage import shortage_in

_FAILS = (errno.EIO, errno.ENXIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.EHOSTDOWN)
"""Errors of a disk that fails to read, and of a remote file system that does not answer."""


@contextmanager
def naming_shortage(path: Path) -> Iterator[None]:
    """Translate errors of the block that only say that `path`, a part of a snapshot, cannot be read by this process.

    Use this wherever any other error means damage: a commit that counts as damaged is given up for good.

    Raises:
        SnapshotUnreadable: memory, open files, threads or rights do not suffice, or the disk fails.
    """
    try:
        yield
    except PermissionError as error:
        raise SnapshotUnreadable(
            f"{path} may not be read",
            hint="The snapshot itself may be fine. Only the user who runs the job may read its files: read them as "
            "that user, or change their owner or mode.",
            path=str(path),
        ) from error
    except (MemoryError, OSError, RuntimeError) as error:
        if shortage := shortage_in(error):
            raise SnapshotUnreadable(
                f"{path} cannot be read now: {shortage}",
                hint="The snapshot itself may be fine. Give this process more of what it lacks, and try again.",
                path=str(path),
            ) from error
        if isinstance(error, OSError) and error.errno in _FAILS:
            raise SnapshotUnreadable(
                f"{path} cannot be read: {error.strerror}",
                hint="The disk or the file system failed; the snapshot itself may be fine. If you know that the file "
                "is lost, remove it: then an older commit is used.",
                path=str(path),
            ) from error
        raise
