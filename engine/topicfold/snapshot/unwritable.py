"""What an operating system's refusal to write below a snapshot's directory is to its users."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topicfold.errors import SnapshotUnwritable

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@contextmanager
def naming_unwritable(root: Path, what: str = "snapshot") -> Iterator[None]:
    """Name the snapshot at `root`, or `what` it is, where the block cannot read or write its files.

    Raises:
        SnapshotUnwritable: it cannot.
    """
    try:
        yield
    except (ConnectionError, TimeoutError):
        raise
    except OSError as error:
        place = f"{error.filename}: " if error.strerror and error.filename else ""
        raise unwritable(root, place + (error.strerror or str(error)), what) from error


def unwritable(root: Path, why: str, what: str = "snapshot") -> SnapshotUnwritable:
    """Return the error where a text says `why`; its colours and line ends are left out."""
    plain = " ".join(_ESCAPES.sub("", why).split())
    return SnapshotUnwritable(f"the {what} {root} cannot be written: {plain[:500]}", path=str(root))
