"""Spark's checkpoint: the directory where it keeps its plans, one for each running job.

Nothing depends on its content. The newest commit says where a job starts, so each job starts with an empty directory;
an older plan might continue from commits that were given up or removed, or name records that were trimmed. But Spark
stops a query if another one uses the same directory. So each job locks its own, with a lock of the operating system,
which ends with the process however that ends.
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
    """Yield the first of `name`, `name-2`, `name-3`… under `root` that no other job holds, emptied and locked."""
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
    """Lock a checkpoint and return the lock's descriptor, or None if another job holds it."""
    descriptor = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
