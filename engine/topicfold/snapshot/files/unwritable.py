"""Translates the operating system's errors when a file below a snapshot's directory cannot be written."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topicfold.errors import SnapshotUnwritable

_LACKING = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.ENOLCK)
"""Errors of a file system that cannot make a hard link, lock a file, or sync a directory."""
_LACKING_HINT = (
    "Name a directory on a file system that makes hard links and locks, such as a local one or NFS; an object store "
    "that is mounted as files mostly does not."
)
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@contextmanager
def naming_unwritable(root: Path, what: str = "snapshot") -> Iterator[None]:
    """Translate the block's `OSError`s, except those of the network, into one that names the snapshot at `root`.

    `what` is the directory's name in the message.

    Raises:
        SnapshotUnwritable: the block could not read or write a file.
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
    """Return the error; `why` is shown in one line, without colours, and at most 500 characters of it."""
    plain = " ".join(_ESCAPES.sub("", why).split())
    return SnapshotUnwritable(f"the {what} {root} cannot be written: {plain[:500]}", hint=hint, path=str(root))


def _is_lacking(error: OSError) -> bool:
    """Return whether the file system lacks the feature at all; for hard links, some report that as forbidden."""
    return error.errno in _LACKING or (error.errno == errno.EPERM and error.filename2 is not None)
