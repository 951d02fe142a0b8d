"""Errors that say that this process has not enough memory or open files: nothing about whatever it was at."""

from __future__ import annotations

import errno

_SHORT_OF = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def shortage_in(error: Exception) -> str:
    """Return what `error` says there is too little of; "" where it is none of these.

    >>> shortage_in(MemoryError()), shortage_in(OSError(errno.EMFILE, "Too many open files")), shortage_in(ValueError())
    ('not enough memory', 'Too many open files', '')
    """
    if isinstance(error, MemoryError):
        return "not enough memory"
    return str(error.strerror) if isinstance(error, OSError) and error.errno in _SHORT_OF else ""
