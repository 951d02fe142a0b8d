"""How many topics have which labels, counted in a snapshot's columns, without an object per topic. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from topicfold.errors import NamespaceNotFound, SnapshotDamaged, WrongSnapshot
from topicfold.model.label_report import LabelCounts
from topicfold.model.namespaces import Namespaces
from topicfold.snapshot.commits import Commit, read_commit, sequences
from topicfold.snapshot.files.data_files import opened
from topicfold.snapshot.intact import naming_damage, require_file
from topicfold.snapshot.rows.topic_rows import TopicRows, are_system_topics, read_topics
from topicfold.snapshot.tables import NAMESPACES

_NAMES = pa.schema([NAMESPACES.field("namespace")])


class NewestCounts(NamedTuple):
    """The `counts` of `commit`, the newest one that could be read; `damaged` says what is wrong with newer ones."""

    commit: Commit
    counts: LabelCounts
    damaged: Sequence[SnapshotDamaged]


def newest_label_counts(root: Path, namespaces: Namespaces | None) -> NewestCounts:
    """Return the counts of the newest commit whose topics are undamaged; for these namespaces, or for all if None.

    Pulsar's own topics are left out, as wherever topics are listed.

    Raises:
        NamespaceNotFound: a namespace that is named does not exist in that commit.
        WrongSnapshot: there is no commit, or a newer version wrote it.
        SnapshotDamaged: all are damaged; says what is wrong with the newest.
        SnapshotUnreadable: its commits cannot be listed or read, or memory, open files or rights do not suffice.

    Cost: 1 µs a topic with five labels.
    """
    damaged: list[SnapshotDamaged] = []
    for sequence in sequences(root):
        try:
            commit = read_commit(root, sequence)
            with naming_damage(root, commit):
                if namespaces is not None:
                    _require_there(root, commit, namespaces.names)
                return NewestCounts(commit, _counts(_rows(root, commit), namespaces), damaged)
        except SnapshotDamaged as error:
            damaged.append(error)
    if damaged:
        raise damaged[0]
    raise WrongSnapshot(f"{root} holds no commit", hint="Name the directory that `topicfold compact` writes to.")


def _require_there(root: Path, commit: Commit, namespaces: Sequence[str]) -> None:
    """Check that all of these namespaces exist in `commit`.

    Raises:
        NamespaceNotFound: one does not.
    """
    files = _files(root, commit, "namespaces")
    found = {name for file in files for name in opened(file, _NAMES).read(_NAMES.names)["namespace"].to_pylist()}
    for name in namespaces:
        if name not in found:
            raise NamespaceNotFound(f"Namespace not found: {name}", name=name)


def _rows(root: Path, commit: Commit) -> TopicRows:
    base, tail = (_files(root, commit, table) for table in ("topics", "topics_tail"))
    return read_topics(base, tail, range(commit.partitions))


def _files(root: Path, commit: Commit, table: str) -> list[memoryview]:
    return [require_file(root, commit.sequence, file) for file in commit.files_of(table)]


def _counts(rows: TopicRows, namespaces: Namespaces | None) -> LabelCounts:
    is_counted = np.zeros(len(rows), dtype=bool)
    is_counted[rows.chosen] = rows.is_live[rows.chosen]
    is_counted &= ~are_system_topics(rows.keys)
    names = rows.namespaces.values
    if namespaces is not None:
        wanted = np.array([name in namespaces for name in names], dtype=bool)
        is_counted &= wanted[rows.namespaces.codes]
    topics = np.bincount(rows.namespaces.codes[is_counted], minlength=len(names))
    kept = np.repeat(is_counted, rows.counts)
    key, value = rows.label_keys.codes[kept].astype(np.int64), rows.label_values.codes[kept]
    namespace = np.repeat(rows.namespaces.codes, rows.counts)[kept].astype(np.int64)
    width = max(len(rows.label_values.values), 1)
    codes, numbers = np.unique(
        (namespace * max(len(rows.label_keys.values), 1) + key) * width + value, return_counts=True
    )
    pairs, value_codes = np.divmod(codes, width)
    places, key_codes = np.divmod(pairs, max(len(rows.label_keys.values), 1))
    bearing = {
        (names[place], rows.label_keys.values[key_code], rows.label_values.values[value_code]): number
        for place, key_code, value_code, number in zip(
            places.tolist(), key_codes.tolist(), value_codes.tolist(), numbers.tolist(), strict=True
        )
    }
    return LabelCounts({names[place]: number for place, number in enumerate(topics.tolist()) if number}, bearing)
