"""Files that are whole and on the disk once this says so, whatever a power failure leaves of others."""

from __future__ import annotations

import os
from pathlib import Path

from topicfold.snapshot.files.unfinished import unfinished

_PIECE_BYTES = 65_536
"""How much to write per call. While Linux copies a piece, nobody else gets the processor: writing a whole file of some
megabytes in one call made an engine on the same machine wait for 5 ms.
"""


def put_if_absent(path: Path, content: bytes) -> bool:
    """Put a file with this content at `path`, atomically and durably; return False if there is one already.

    A hard link decides between processes and, if the file system behaves as POSIX says, between machines.
    """
    made = unfinished(path)
    write_durably(made, content)
    try:
        os.link(made, path)
    except FileExistsError:
        return False
    finally:
        made.unlink()
    sync_directory(path.parent)
    return True


def replace_durably(path: Path, content: bytes) -> None:
    """Put a file with this content at `path`, atomically and durably, in the place of one that is there."""
    made = unfinished(path)
    write_durably(made, content)
    try:
        os.replace(made, path)
    finally:
        made.unlink(missing_ok=True)
    sync_directory(path.parent)


def write_durably(path: Path, content: bytes | memoryview) -> None:
    """Write a new file, readable by its owner only, and sync it to disk; if that fails, leave no file."""
    flags, left = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, memoryview(content)
    with os.fdopen(os.open(path, flags, 0o600), "wb", buffering=0) as out:
        try:
            while left:
                left = left[out.write(left[:_PIECE_BYTES]) :]
            os.fsync(out.fileno())
        except OSError:
            path.unlink()
            raise


def sync_directory(path: Path) -> None:
    """Have the names in a directory on the disk when this returns."""
    _sync(path, os.O_DIRECTORY)


def sync_file(path: Path) -> None:
    """Have what somebody else wrote to a file on the disk when this returns."""
    _sync(path, os.O_NOFOLLOW)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, os.O_RDONLY | flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
