"""Which files make up a Delta table now, according to its log: JSON entries, and checkpoints in Parquet.

The growing tables outlive the commits that wrote them, and their files are merged, so only their Delta logs know what
they consist of.

Source: Delta's protocol, "Action Reconciliation" and "Checkpoints" (classic, of one part or several).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from topicfold.errors import SnapshotDamaged
from topicfold.json_text import read_json
from topicfold.snapshot.shortage import naming_shortage

_LOG = "_delta_log"
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.\d{10}\.(\d{10}))?\.parquet")

APPLICATION = "topicfold"
"""Our application id in Delta's transactions, whose version is the number of a commit."""


class TableFiles(NamedTuple):
    """What a table consists of: the paths of its files relative to the snapshot's directory, sorted.

    `commit` is the number of the newest commit that the table has recorded, 0 for none: it has the rows of that one and
    of all before, whatever files they are in by now.
    """

    paths: list[str]
    commit: int


def active_files(root: Path, table: str) -> TableFiles:
    """Return what a table consists of; nothing if there is no such table.

    Raises:
        SnapshotDamaged: its log cannot be read.
        SnapshotUnreadable: memory, open files or rights do not suffice.
    """
    directory = root / table / _LOG
    active: dict[str, None] = {}
    commit = 0
    try:
        with naming_shortage(directory):
            for action in _actions(directory):
                if added := action.get("add"):
                    active[added["path"]] = None
                elif removed := action.get("remove"):
                    active.pop(removed["path"], None)
                elif (noted := action.get("txn")) and noted["appId"] == APPLICATION:
                    commit = noted["version"]
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        reason = f"the log of the table {root / table} cannot be read: {error}"
        raise SnapshotDamaged(reason, sequence=0, path=str(directory)) from error
    return TableFiles(sorted(f"{table}/{unquote(path)}" for path in active), commit)


def _actions(directory: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the actions on the table in order, from the newest checkpoint on.

    Checkpoints are searched for: the file that names the newest one is only a hint, and may be missing or wrong.

    Raises:
        ValueError: an entry is missing.
    """
    version, parts = _newest_checkpoint(directory)
    for path in parts:
        yield from pq.ParquetFile(path).read(columns=["add.path", "remove.path", "txn"]).to_pylist()
    for path in sorted(directory.glob("*.json")):
        if path.stem.isdecimal() and int(path.stem) > version:
            version += 1
            if int(path.stem) != version:
                raise ValueError(f"entry {version} is missing")
            yield from map(read_json, path.read_text().splitlines())


def _newest_checkpoint(directory: Path) -> tuple[int, list[Path]]:
    """Return the version of the newest complete checkpoint, and its parts; -1 and an empty list if there is none."""
    parts: dict[tuple[int, int], list[Path]] = {}
    for path in sorted(directory.glob("*.checkpoint*.parquet")):
        if name := _CHECKPOINT.fullmatch(path.name):
            parts.setdefault((int(name[1]), int(name[2] or 1)), []).append(path)
    whole = [(version, paths) for (version, number), paths in parts.items() if len(paths) == number]
    return max(whole, default=(-1, []))
