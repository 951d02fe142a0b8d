"""Files that are not whole yet: they get a name of their own first, and their place once they are.

A process that is killed between leaves one behind. Nobody reads it, and `compaction.vacuum` removes it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"\..+\.[0-9a-f]{16}")


def unfinished(path: Path) -> Path:
    """Return where what shall be at `path` is written first: in the same directory, under a name nobody else uses."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")


def left_unfinished(directory: Path) -> Iterator[Path]:
    """Yield the files of a directory that have such names, be they left behind or just being written."""
    return (path for path in directory.glob(".*") if _NAME.fullmatch(path.name))
