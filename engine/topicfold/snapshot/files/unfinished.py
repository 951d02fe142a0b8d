"""Unfinished files: they are written under a unique name first, and moved to their place when complete.

A process that is killed in between leaves one behind. Nobody reads it, and `compaction.delta.vacuum` removes it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"\..+\.[0-9a-f]{16}")


def unfinished(path: Path) -> Path:
    """Return the path to write to first for a file that is to be at `path`: unique, in the same directory."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")


def left_unfinished(directory: Path) -> Iterator[Path]:
    """Yield the files of a directory that have such names, whether left behind or just being written."""
    return (path for path in directory.glob(".*") if _NAME.fullmatch(path.name))
