"""What a slice must know about its topics before a batch: rows of `topics` and `topics_tail`, by name.

A topic may have several rows; the one with the highest offset counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topicfold.compaction.folding.spans import Bytes, Flags, Numbers
from topicfold.model.events import AggregateKind
from topicfold.snapshot.commits import DataFile
from topicfold.snapshot.files.data_files import read_rows
from topicfold.snapshot.rows.topic_rows import ids_of, newest_of
from topicfold.snapshot.tables import KINDS, TOPICS

COMPARED = ["name", "namespace", "key", "partition", "offset", "gone", "live", "version", "etag_id", "etag_place",
            "incarnation", "hash", "labels"]  # fmt: skip
"""The columns of a topic's row that a fold reads."""


def rows_of(
    root: Path,
    files: Sequence[DataFile],
    routes: tuple[int, int],
    names: pa.StringArray,
    namespaces: Sequence[str],
) -> pa.Table:
    """Return the newest row, with the columns `COMPARED`, of each topic that has one of `names` or is in `namespaces`.

    Only topics in this range of routes, and none that is gone. Cost: reads these columns of the range.
    """
    if not len(names) and not namespaces:
        return pa.schema([TOPICS.field(name) for name in COMPARED]).empty_table()
    return newest(_read(root, files, COMPARED, _filters(routes, names, namespaces)))


def all_rows(root: Path, files: Sequence[DataFile], routes: tuple[int, int]) -> pa.Table:
    """Return the newest row of every topic in this range of routes, none that is gone."""
    return newest(_read(root, files, None, _in_range(routes)))


def newest_events(root: Path, files: Sequence[DataFile]) -> dict[int, tuple[int, bytes]]:
    """Return, by partition, offset and id of the last event that left a row which is not gone."""
    rows = _read(root, files, ["partition", "offset", "version"], ~pc.field("gone"))
    last = rows.group_by("partition").aggregate([("offset", "max")])
    found = last.join(rows, ["partition", "offset_max"], ["partition", "offset"], "inner").to_pylist()
    return {row["partition"]: (row["offset_max"], row["version"]) for row in found}


def owner_rows(root: Path, files: Sequence[DataFile]) -> pa.Table:
    """Return the newest row of every tenant and namespace."""
    return newest(_read(root, files, None, pc.field("kind") != KINDS[AggregateKind.TOPIC]))


def newest(rows: pa.Table) -> pa.Table:
    """Return, for each name and kind, the row with the highest offset, unless it is gone."""
    name = pc.dictionary_encode(rows["name"].combine_chunks()).indices.to_numpy(zero_copy_only=False)
    if "kind" in rows.column_names:
        kind = pc.dictionary_encode(rows["kind"].combine_chunks()).indices.to_numpy(zero_copy_only=False)
        name = name.astype(np.int64) * (kind.max(initial=0) + 1) + kind
    chosen = newest_of(name, rows["offset"].to_numpy(), rows["gone"].to_numpy())
    return rows if len(chosen) == len(rows) else rows.take(pa.array(chosen))


def places_of(rows: pa.Table, names: pa.StringArray) -> Numbers:
    """Return for each name the index of its row in `rows`, −1 if there is none."""
    found = pc.index_in(names, value_set=rows["name"].combine_chunks())
    places: Numbers = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return places


def ids_at(rows: pa.Table, column: str, places: Numbers) -> Bytes:
    """Return the sixteen bytes in this column of each of these rows, zeros where the place is −1."""
    return np.concatenate([ids_of(rows[column]), np.zeros((1, 16), np.uint8)])[places]


def numbers_at(rows: pa.Table, column: str, places: Numbers) -> Numbers:
    """Return the number in this column of each of these rows, 0 where the place is −1."""
    return np.append(rows[column].to_numpy().astype(np.int64), 0)[places]


def flags_at(rows: pa.Table, column: str, places: Numbers) -> Flags:
    """Return the flag in this column of each of these rows, false where the place is −1."""
    return np.append(rows[column].to_numpy(), False)[places]


def _read(root: Path, files: Sequence[DataFile], columns: Sequence[str] | None, only: pc.Expression) -> pa.Table:
    """Return the rows of `topics`, and then those of `topics_tail`."""
    return pa.concat_tables([read_rows(root, files, table, columns, only) for table in ("topics", "topics_tail")])


def _filters(routes: tuple[int, int], names: pa.StringArray, namespaces: Sequence[str]) -> pc.Expression:
    wanted = pc.field("name").isin(names)
    if namespaces:
        wanted |= pc.field("namespace").isin(list(namespaces))
    return _in_range(routes) & wanted


def _in_range(routes: tuple[int, int]) -> pc.Expression:
    is_topic = pc.field("kind") == KINDS[AggregateKind.TOPIC]
    return is_topic & (pc.field("route") >= routes[0]) & (pc.field("route") < routes[1])
