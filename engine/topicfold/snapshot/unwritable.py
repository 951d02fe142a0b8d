"""What an operating system's refusal to write below a snapshot's directory is to its users."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topicfold.errors import SnapshotUnwritable

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@contextmanager
def naming_unwritable(root: Path) -> Iterator[None]:
    """Name the snapshot at `root` where the block cannot read or write its files.

    Raises:
        SnapshotUnwritable: it cannot.
    """
    try:
        yield
    except ConnectionError:
        raise
    except OSError as error:
        what = error.strerror or str(error)
        raise unwritable(root, f"{error.filename}: {what}" if error.strerror and error.filename else what) from error


def unwritable(root: Path, what: str) -> SnapshotUnwritable:
    """Return the error where a text says `what` went wrong; its colours and line ends are left out."""
    plain = " ".join(_ESCAPES.sub("", what).split())
    return SnapshotUnwritable(f"the snapshot {root} cannot be written: {plain[:500]}", path=str(root))
