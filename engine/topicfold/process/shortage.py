"""Errors that say that this process has not enough memory, open files or threads: nothing about what it was at."""

from __future__ import annotations

import errno

_NO_THREAD = "can't start new thread"
"""What Python says where the system refuses one, as a container's limit of processes does."""
_SHORT_OF = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def shortage_in(error: Exception) -> str:
    """Return what `error` says there is too little of; "" where it is none of these.

    >>> shortage_in(MemoryError()), shortage_in(OSError(errno.EMFILE, "Too many open files")), shortage_in(ValueError())
    ('not enough memory', 'Too many open files', '')
    """
    if isinstance(error, MemoryError):
        return "not enough memory"
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        return "it may have no more threads"
    return str(error.strerror) if isinstance(error, OSError) and error.errno in _SHORT_OF else ""
