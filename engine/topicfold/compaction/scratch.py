"""The directory that Spark runs in on this machine, and keeps all files of its own in: they must not be in ours.

It goes with its job. A job that is killed leaves it, and the next one removes it. Each holds a lock of the operating
system in its own, which goes with the process however that ends; so what bears a lock that nobody holds is a dead
job's, though its Java may still be about to end. One without a lock is left alone: nobody knows whose it is, or there
are no locks where it lies.
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
    """Return a new directory, gone with this process; remove those that dead ones left.

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
        # Held as long as the process lasts, from before anybody can see it.
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
        OSError: it has none, or somebody holds it.
    """
    lock = os.open(path / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
