"""What an operating system's refusal to write below a snapshot's directory is to its users."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topicfold.errors import SnapshotUnwritable

_LACKING = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.ENOLCK)
"""What a file system says that cannot make a hard link, lock a file, or have a directory on the disk."""
_LACKING_HINT = (
    "Name a directory on a file system that makes hard links and locks, as local ones and NFS do; one that shows an "
    "object store as files mostly does not."
)
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@contextmanager
def naming_unwritable(root: Path, what: str = "snapshot") -> Iterator[None]:
    """Name the snapshot at `root`, or `what` it is, where the block cannot read or write its files.

    Raises:
        SnapshotUnwritable: it cannot.
    """
    try:
        yield
    except (ConnectionError, TimeoutError):
        raise
    except OSError as error:
        place = f"{error.filename}: " if error.strerror and error.filename else ""
        hint = _LACKING_HINT if _is_lacking(error) else None
        raise unwritable(root, place + (error.strerror or str(error)), what, hint) from error


def unwritable(root: Path, why: str, what: str = "snapshot", hint: str | None = None) -> SnapshotUnwritable:
    """Return the error where a text says `why`; its colours and line ends are left out."""
    plain = " ".join(_ESCAPES.sub("", why).split())
    return SnapshotUnwritable(f"the {what} {root} cannot be written: {plain[:500]}", hint=hint, path=str(root))


def _is_lacking(error: OSError) -> bool:
    """Return whether the file system cannot do at all what was asked; of a hard link some say that it is forbidden."""
    return error.errno in _LACKING or (error.errno == errno.EPERM and error.filename2 is not None)
