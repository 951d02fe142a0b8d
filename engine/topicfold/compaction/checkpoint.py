"""Where Spark keeps what it has planned, one place for each job that runs.

Nothing hangs on what lies there: where a job begins is in the newest commit, and so each begins with an empty place.
An older plan might go on from commits that were given up or removed, or name records that were trimmed. But Spark stops
a query where another one uses the same place, so each job locks its own: a lock of the operating system, which goes
with the process however that ends.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path


@contextmanager
def own_checkpoint(root: Path, name: str) -> Iterator[Path]:
    """Yield the first of `name`, `name-2`, `name-3`… under `root` that no other job has, emptied, and keep it."""
    root.mkdir(parents=True, exist_ok=True)
    paths = (root / (name if number == 1 else f"{name}-{number}") for number in count(1))
    path, descriptor = next((path, lock) for path in paths if (lock := _locked(path)) is not None)
    try:
        if path.exists():
            shutil.rmtree(path)
        yield path
    finally:
        os.close(descriptor)


def _locked(path: Path) -> int | None:
    """Return the lock of a checkpoint, held; None while another job holds it."""
    descriptor = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
