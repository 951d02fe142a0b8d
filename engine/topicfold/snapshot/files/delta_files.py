"""Which files make up a Delta table now, according to its log: JSON entries, and checkpoints in Parquet.

The growing tables outlive the commits that wrote them, and their files are merged, so only their Delta logs know what
they consist of.

Source: Delta's protocol, "Action Reconciliation" and "Checkpoints" (classic, of one part or several).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from topicfold.errors import SnapshotDamaged
from topicfold.snapshot.files.unreadable import naming_shortage
from topicfold.text.json_text import read_json

_LOG = "_delta_log"
_ENTRY = re.compile(r"(\d{20})\.json")
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
                    commit = int(noted["version"])
            paths = sorted(f"{table}/{unquote(path)}" for path in active)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"the log of the table {root / table} cannot be read: {error}"
        raise SnapshotDamaged(reason, sequence=0, path=str(directory)) from error
    return TableFiles(paths, commit)


def _actions(directory: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the actions on the table in order, from the newest checkpoint on; none if there is no such directory.

    Who deletes rows by a deletion vector adds and removes the same file in one version. So files are removed first,
    and what a checkpoint says of removed ones, which may be the same, is not read.

    Checkpoints are searched for: the file that names the newest one is only a hint, and may be missing or wrong. Names
    are looked at as text: a job that commits each minute leaves 40,000 entries, for which `glob` takes half a second.

    Raises:
        ValueError: an entry is missing.
    """
    names = sorted(os.listdir(directory)) if directory.exists() else []
    version, parts = _newest_checkpoint(names)
    for name in parts:
        yield from pq.ParquetFile(directory / name).read(columns=["add.path", "txn"]).to_pylist()
    for name in names:
        if (entry := _ENTRY.fullmatch(name)) and int(entry[1]) > version:
            version += 1
            if int(entry[1]) != version:
                raise ValueError(f"entry {version} is missing")
            lines = (directory / name).read_text().splitlines()
            yield from sorted(map(read_json, lines), key=lambda action: "remove" not in action)


def _newest_checkpoint(names: Sequence[str]) -> tuple[int, list[str]]:
    """Return the version of the newest complete checkpoint, and its parts; -1 and an empty list if there is none."""
    parts: dict[tuple[int, int], list[str]] = {}
    for each in names:
        if name := _CHECKPOINT.fullmatch(each):
            parts.setdefault((int(name[1]), int(name[2] or 1)), []).append(each)
    whole = [(version, found) for (version, number), found in parts.items() if len(found) == number]
    return max(whole, default=(-1, []))
