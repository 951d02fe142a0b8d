"""Pages that are free, given back to the system: the C library keeps those between blocks in use."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress


def _trim_of_libc() -> Callable[[int], object] | None:
    """Return what has the C library give back whole pages; only glibc has it, and not every Python can call it."""
    with suppress(ImportError, AttributeError):
        import ctypes

        trim: Callable[[int], object] = ctypes.CDLL(None).malloc_trim
        return trim
    return None


_trim = _trim_of_libc()
"""Looked for at once: what is imported after a crowd stays for good amid what that has left."""


def give_back_pages() -> None:
    """Give back the C library's free pages, as far as it can. Cost: milliseconds, in which other threads go on."""
    if _trim is not None:
        _trim(0)
