"""Merges small files of the tables that only grow: each batch adds files, and every reader has to open all of them.

Files of like size are merged, many at a time. So a row is written again only a few times, and a table has some files of
each size, plus large ones: their number depends on how much was written, not on how often.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from topicfold.compaction.delta.tables import opened, sync_entry, write_version
from topicfold.snapshot.commits import DataFile
from topicfold.snapshot.files.data_files import is_as_named, write_rows
from topicfold.snapshot.tables import SCHEMAS

MANY = 32
"""How many files are merged into one, and from how many of like size on."""
_LARGE_BYTES = 4 * 1024 * 1024
"""Larger files stay: merging costs more memory and time than opening them."""
_MOST_GROUPS = 32
"""How many groups are merged at once, so that a table of very many files does not hold up the job for long."""
_SIZE_BITS = 3
"""Sizes are alike if their logarithms to base 8, rounded down, are the same."""
_MOST_BYTES = 256 * 1024 * 1024
"""How much memory the rows of a merged file may need, unless two files' already need more."""


def merge_small_files(root: Path, table: str) -> None:
    """Merge small files of `table` where many are of like size. It has the same rows then, in another version.

    A file that is damaged, missing or unreadable stays as it is, because what is wrong with it could not be found out
    once its rows were written again. If somebody else writes the table meanwhile, nothing changes.

    Raises:
        SnapshotDamaged: the table's Delta log cannot be read.

    Cost: reads and writes at most `MANY` * `_MOST_GROUPS` files.
    """
    delta = opened(root, table)
    gone: list[str] = []
    merged: list[DataFile] = []
    for group in _groups(delta):
        parts = _parts(root / table, group)
        if len(parts) > 1:
            gone += parts
            merged.append(write_rows(root, table, "merged", pa.concat_tables(parts.values())))
    if merged and write_version(delta, root / table, merged, gone, int(time.time() * 1000), None):
        sync_entry(root / table, delta.version() + 1)


def _groups(delta: DeltaTable) -> Sequence[Sequence[str]]:
    """Return the names of files to merge with each other, the oldest first."""
    columns = ["modification_time", "path", "size_bytes"]
    files = (
        pa.table(delta.get_add_actions(flatten=True)).select(columns).sort_by([(name, "ascending") for name in columns])
    )
    alike: defaultdict[int, list[str]] = defaultdict(list)
    for file in files.to_pylist():
        if file["size_bytes"] < _LARGE_BYTES:
            alike[file["size_bytes"].bit_length() // _SIZE_BITS].append(file["path"])
    groups = (names[first : first + MANY] for names in alike.values() for first in range(0, len(names), MANY))
    return [each for each in groups if len(each) == MANY][:_MOST_GROUPS]


def _parts(path: Path, names: Sequence[str]) -> dict[str, pa.Table]:
    """Return the rows of these files, by name, without those that are not whole; of so many as fit in memory."""
    found: dict[str, pa.Table] = {}
    room = _MOST_BYTES
    for name in names:
        rows = _rows(path / name, path.name)
        if rows is not None:
            found[name] = rows
            room -= rows.nbytes
        if room < 0 and len(found) > 1:
            break
    return found


def _rows(path: Path, table: str) -> pa.Table | None:
    try:
        if is_as_named(path):
            return pq.read_table(path, schema=SCHEMAS[table], page_checksum_verification=True)
    except (pa.ArrowException, OSError):
        pass
    return None
