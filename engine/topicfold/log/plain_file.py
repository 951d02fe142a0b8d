"""The plain file beneath a SQLite log: made private where there is none, and known again."""

from __future__ import annotations

import os
from pathlib import Path

from topicfold.errors import BadSetting, WrongLog

NEWEST = "-wal"
"""The end of the name of what SQLite keeps beside a file, with the newest commits in it, while anybody has it open."""


def file_identity(found: os.stat_result) -> tuple[int, int]:
    """Return what tells a file from any that takes its place."""
    return found.st_dev, found.st_ino


def newest_beside(target: Path) -> Path | None:
    """Return what lies beside a file and is taken for its newest commits, None where nothing is.

    Raises:
        OSError: it cannot be asked.
    """
    newest = target.with_name(target.name + NEWEST)
    return newest if newest.exists() and newest.stat().st_size else None


def file_made(path: Path) -> Path:
    """Return the real path of the file, made empty and private where it did not exist.

    An existing file is not opened here: closing it would drop the locks of another handle in this process.

    Raises:
        BadSetting: it is not a plain file, has several names, cannot be made, or may not be read and written; or its
            directory may not.
        WrongLog: it is gone, and its newest commits are there: an empty file would have SQLite delete them.
    """
    try:
        target = path.parent.resolve(strict=True) / path.name
        if target.is_symlink() or (target.exists() and not target.is_file()):
            what = "a link" if target.is_symlink() else "not a plain file"
            raise BadSetting(f"{path} is {what}", hint="Name the file itself: its write-ahead log lies beside it.")
        if target.exists() and target.stat().st_nlink > 1:
            raise BadSetting(
                f"{path} has another name, too, as a hard link",
                hint="Each name has a write-ahead log of its own, and changes would be lost: remove one of them.",
            )
        if not target.exists():
            _require_new(target, path)
            flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_WRONLY
            descriptor = os.open(target, flags, 0o600)
            try:
                # Its owner's, whatever the umask leaves of that.
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
        # SQLite makes its write-ahead log beside the file.
        raise BadSetting(f"the directory of {path} is not writable", hint="Change its owner or its mode.")
    return target


def _require_new(target: Path, path: Path) -> None:
    """Return if nothing is left of a file at `target` that was there.

    Raises:
        WrongLog: its newest commits are.
    """
    newest = newest_beside(target)
    # Whoever makes the file at this moment has such commits soon, too, and the file before.
    if newest is not None and not target.exists():
        raise WrongLog(
            f"{path} is gone, and {newest.name}, which has its newest changes, is there",
            hint=f"Put the file back beside it. To start a new, empty log, remove {newest.name}.",
        )
