"""The scratch directory that Spark runs in on this machine, so that none of its own files end up in the user's.

It is removed at the end of its job. If a job is killed, the next one removes it. Each job holds a lock of the
operating system in its directory, which ends with the process however that ends. So a directory whose lock nobody
holds belonged to a job that is dead, though its JVM may still be ending. A directory without a lock file is left alone:
its owner is unknown, or its file system has no locks.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from topicfold.errors import BadSetting

_PREFIX = "topicfold-spark-"
_LOCK = "lock"


def own_scratch() -> Path:
    """Return a new directory, which is removed when this process ends; remove those that dead processes left.

    Raises:
        BadSetting: there is no directory for temporary files.
    """
    try:
        _remove_dead()
        path = Path(tempfile.mkdtemp(prefix=_PREFIX))
    except OSError as error:
        raise BadSetting(
            f"Spark has nowhere to keep files of its own: {error.strerror}",
            hint="Name a directory that can be written to in TMPDIR.",
        ) from None
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    unfinished = path / f"{_LOCK}.new"
    with suppress(OSError):
        # Locked before it becomes visible under its name, and held as long as the process lasts.
        fcntl.flock(os.open(unfinished, os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX)
        unfinished.rename(path / _LOCK)
    return path


def _remove_dead() -> None:
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if path.lstat().st_uid == os.geteuid():
                _remove_if_dead(path)


def _remove_if_dead(path: Path) -> None:
    """Remove a directory whose lock nobody holds.

    Raises:
        OSError: there is no lock, or somebody holds it.
    """
    lock = os.open(path / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
