"""SQLite's errors as ours."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import apsw

from topicfold.errors import LogUnavailable, TopicfoldError, WrongLog
from topicfold.log.port import LogFull

_SEEMS_DAMAGED = (
    "Restart this node first: a disk that failed to read for a moment looks the same, and then nothing is lost. "
    "If it is still damaged, restore it from a copy."
)
"""SQLite itself does not distinguish these: a read that fails with EIO is also reported as `SQLITE_CORRUPT`."""

_UNOPENED = "See whether the disk that it is on can be read: the system's own log may say more."


def translated(error: apsw.Error, path: Path, connection: apsw.Connection | None = None) -> TopicfoldError:
    """Return our own error for one of SQLite's; for an I/O error, `connection` has the system's error number."""
    match error:
        case apsw.NotADBError():
            return WrongLog(f"{path} is not a SQLite database", hint="Name another file.")
        case apsw.CorruptError():
            return WrongLog(f"{path} is damaged: {error}", hint=_SEEMS_DAMAGED)
        case apsw.FullError():
            return LogFull(f"the disk of {path} is full", hint=_room(path))
        case apsw.BusyError() | apsw.LockedError():
            return LogUnavailable(f"{path} is locked by another process")
        case apsw.CantOpenError():
            return LogUnavailable(f"{path}: {error}", hint=_UNOPENED)
        case apsw.IOError() if connection is not None and (number := connection.system_errno):
            hint = _room(path) if number == errno.ENOSPC else None
            return LogUnavailable(f"{path}: {error}: {os.strerror(number)}", hint=hint)
        case _:
            return LogUnavailable(f"{path}: {error}")


def _room(path: Path) -> str:
    """Return what to do about a full disk: who asks the doctor elsewhere is told of the place nowhere else."""
    return f"Make room on the disk of {path}, then try again."
