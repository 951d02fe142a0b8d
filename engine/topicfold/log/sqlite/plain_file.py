"""The plain file of a SQLite log: creates it, readable by its owner only, and recognises it again."""

from __future__ import annotations

import os
from pathlib import Path

from topicfold.errors import BadSetting, WrongLog

NEWEST = "-wal"
"""The suffix of the write-ahead log, where SQLite keeps the newest commits while anybody has the file open."""


def file_identity(found: os.stat_result) -> tuple[int, int]:
    """Return what distinguishes a file from any that replaces it."""
    return found.st_dev, found.st_ino


def newest_beside(target: Path) -> Path | None:
    """Return the write-ahead log beside a file, which SQLite takes for its newest commits; None if absent or empty.

    Raises:
        OSError: its status cannot be read.
    """
    newest = target.with_name(target.name + NEWEST)
    return newest if newest.exists() and newest.stat().st_size else None


def file_made(path: Path) -> Path:
    """Return the real path of the file. If it does not exist, it is created: empty, and readable by its owner only.

    An existing file is not opened here, because closing it would drop the locks of another handle in this process.

    Raises:
        BadSetting: it is not a plain file, has several names or one that is not UTF-8, cannot be created, or may not be
            read and written; or its directory may not be written.
        WrongLog: it is gone, but its write-ahead log is there: beside an empty file SQLite would delete that.
    """
    try:
        target = path.parent.resolve(strict=True) / path.name
        if target.is_symlink() or (target.exists() and not target.is_file()):
            what = "a link" if target.is_symlink() else "not a plain file"
            raise BadSetting(f"{path} is {what}", hint="Name the file itself: its write-ahead log is beside it.")
        if not _is_utf_8(target):
            raise BadSetting(f"{str(target)!a} is not UTF-8", hint="SQLite opens no other names: rename it.")
        if target.exists() and target.stat().st_nlink > 1:
            raise BadSetting(
                f"{path} has another name too, as a hard link",
                hint="Each name has a write-ahead log of its own, so changes would be lost: remove one of the names.",
            )
        if not target.exists():
            _require_new(target, path)
            flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_WRONLY
            descriptor = os.open(target, flags, 0o600)
            try:
                # The owner's rights, whatever the umask left of them.
                os.fchmod(descriptor, 0o600)
            finally:
                os.close(descriptor)
    except FileExistsError:
        pass
    except OSError as error:
        hint = "Name a file in a directory that exists and is yours."
        raise BadSetting(f"{path} cannot be created: {error.strerror}", hint=hint) from error
    if not os.access(target, os.R_OK | os.W_OK):
        raise BadSetting(f"{path} cannot be read and written", hint="Change its owner or its mode.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        # SQLite creates its write-ahead log beside the file.
        raise BadSetting(f"the directory of {path} is not writable", hint="Change its owner or its mode.")
    return target


def _is_utf_8(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _require_new(target: Path, path: Path) -> None:
    """Check that no write-ahead log is left of a former file at `target`.

    Raises:
        WrongLog: there is one.
    """
    newest = newest_beside(target)
    # Another process may be creating both at this moment, but then the file is there first.
    if newest is not None and not target.exists():
        raise WrongLog(
            f"{path} is gone, but {newest.name}, which has its newest changes, is there",
            hint=f"Put the file back beside it. To start a new, empty log, remove {newest.name}.",
        )
