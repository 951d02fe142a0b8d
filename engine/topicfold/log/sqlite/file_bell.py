"""A bell that rings when a file is written, by whichever process: who waits for it need not look in between.

Only Linux has such a thing, and gives each user only so many.
"""

from __future__ import annotations

import errno
import os
import select
from contextlib import suppress
from pathlib import Path

_IN_MODIFY = 0x2
_READ_BYTES = 4096


class FileBell:
    """A bell for one thread, which waits with `is_rung`. Others may wake it with `wake`. Close it.

    Source: inotify(7).
    """

    def __init__(self, path: Path) -> None:
        """Begin to listen for writes to `path`.

        Raises:
            OSError: the system has no such bell, or none left.
        """
        self._writes = _listening(path)
        try:
            self._calls = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        except OSError:
            os.close(self._writes)
            raise
        self._either = select.poll()
        for each in (self._writes, self._calls):
            self._either.register(each, select.POLLIN)

    def is_rung(self, seconds: float) -> bool:
        """Wait until the file is written or `wake` is called, so long at most; return whether it was written.

        A write that came before counts, unless it was told of. It may not be committed yet.
        """
        rung = [each for each, _ in self._either.poll(seconds * 1000)]
        for each in rung:
            os.read(each, _READ_BYTES)
        return self._writes in rung

    def wake(self) -> None:
        """End the wait, or the next one where nobody waits."""
        os.eventfd_write(self._calls, 1)

    def close(self) -> None:
        """Stop listening."""
        os.close(self._writes)
        os.close(self._calls)


def file_bell(path: Path) -> FileBell | None:
    """Return a bell for `path`; None where the system has none, or none left."""
    with suppress(OSError):
        return FileBell(path)
    return None


def _listening(path: Path) -> int:
    """Return the descriptor of an inotify instance that tells of writes to `path`.

    Raises:
        OSError: there is none.
    """
    try:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        begin, add = libc.inotify_init1, libc.inotify_add_watch
    except (ImportError, AttributeError) as error:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from error
    descriptor: int = begin(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if add(descriptor, os.fsencode(path), _IN_MODIFY) < 0:
        os.close(descriptor)
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return descriptor
