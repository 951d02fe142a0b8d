"""Batches folded without Spark: records dealt to slices here, and what the tables then say."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from topicfold.compaction.batch import Base, Batch, Run, fold_batch
from topicfold.compaction.folded import empty_folded
from topicfold.compaction.folding.prior import all_rows
from topicfold.compaction.folding.records import RECORDS
from topicfold.compaction.folding.routing import ROUTES
from topicfold.compaction.folding.slices import fold_slice
from topicfold.compaction.plan import Plan, SliceResult
from topicfold.log.codec import encode_event
from topicfold.log.port import LogIdentity
from topicfold.model.events import HASH_NAME, AggregateKind, Event, Kind
from topicfold.snapshot.commits import Commit, DataFile, put_commit
from topicfold.snapshot.files.data_files import read_rows
from topicfold.state.fold import PartitionState

GARBAGE = b"garbage"
Index = Counter[tuple[str, str, str, str]]
"""Namespace, key, value and topic of each label, once."""


class Placed(NamedTuple):
    """One record of a log."""

    partition: int
    offset: int
    value: bytes


def placed(partition: int, log: Sequence[Event | None], first: int = 0) -> list[Placed]:
    """Return the records of one partition's `log`."""
    return [
        Placed(partition, first + n, GARBAGE if event is None else encode_event(event)) for n, event in enumerate(log)
    ]


def slice_of(route: int, slices: int) -> int:
    """Return the slice of a route, as Spark reckons it."""
    return route * slices // ROUTES


def route_of_value(value: bytes) -> int:
    """Return the route that a record's bytes ask for."""
    return zlib.crc32(value[77 : 77 + int.from_bytes(value[65:67], "big")])


def is_for_all(value: bytes) -> bool:
    """Return whether a record's bytes look like what decides over topics."""
    kind, aggregate = value[10:11], value[28:29]
    is_act = kind in (bytes([Kind.PUT]), bytes([Kind.DELETE]))
    return kind == bytes([Kind.LEVEL]) or (
        is_act and aggregate in (bytes([AggregateKind.TENANT]), bytes([AggregateKind.NAMESPACE]))
    )


def dealt(records: Sequence[Placed], slices: int) -> list[pa.RecordBatch]:
    """Return what each slice is given."""
    rows: list[list[tuple[int, int, bytes, bool]]] = [[] for _ in range(slices)]
    for record in _in_runs(records):
        mine = slice_of(route_of_value(record.value), slices)
        for number in range(slices) if is_for_all(record.value) else (mine,):
            rows[number].append((*record, number == mine))
    names = RECORDS.names
    return [pa.RecordBatch.from_pylist([dict(zip(names, row, strict=True)) for row in each], RECORDS) for each in rows]


def _in_runs(records: Sequence[Placed], length: int = 5) -> list[Placed]:
    """Return records as Spark's shuffle may bring them: in order within runs."""
    firsts = range(0, len(records), length)
    return [record for first in reversed(firsts) for record in records[first : first + length]]


def _parted(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """Return a slice's records in two batches: one behind the other, or each with every second record."""
    if len(batch) % 2:
        return [batch.slice(0, 3), batch.slice(3)]
    return [batch.take(pa.array(range(first, len(batch), 2), pa.int64())) for first in (0, 1)]


def run_here(records: Sequence[Placed]) -> Run:
    """Return what folds `records` in this process; results travel as they do from executors."""

    def run(plan: Plan) -> list[SliceResult]:
        results = []
        for number, batch in enumerate(dealt(records, plan.slices)):
            result = fold_slice(plan, number, _parted(batch))
            results.append(SliceResult.of(result.facts(), result.owners, result.operations, result.passed))
        return results

    return run


class Tables:
    """A snapshot that grows by batches."""

    def __init__(self, root: Path, partitions: int, incarnation: bytes = bytes(16)) -> None:
        self.root = root
        self.identity = LogIdentity(incarnation, partitions, HASH_NAME)
        self.base = Base(None, empty_folded(partitions))
        self.commits: list[Commit] = []

    def take(self, records: Sequence[Placed], slices: int = 2) -> Batch | None:
        """Fold and commit a batch; None if it held nothing new."""
        batch = fold_batch(self.root, self.identity, self.base, slices, run_here(records))
        if batch is not None:
            commit = put_commit(self.root, batch.commit)
            assert commit is not None
            self.commits.append(commit)
            self.base = Base(commit, batch.folded, commit.sequence + 1)
        return batch

    @property
    def commit(self) -> Commit:
        """The newest one."""
        return self.commits[-1]

    def topics(self) -> dict[str, dict[str, object]]:
        """Return the newest row of every topic, by its name."""
        rows = all_rows(self.root, self.commit.files, (0, ROUTES)).to_pylist()
        return {row["name"]: row for row in rows}

    def index(self) -> Index:
        """Return (namespace, key, value, topic) as the index of the newest base and the diffs behind it have it."""
        found: Index = Counter()
        for row in read_rows(self.root, self.commit.files, "label_index").to_pylist():
            found.update((row["namespace"], row["key"], row["value"], topic) for topic in row["topics"])
        return _sum([row for row in self.diffs() if row["sequence"] > self.commit.base_sequence], found)

    def summed(self) -> Index:
        """Return the same as all diffs summed up have it."""
        return _sum(self.diffs(), Counter())

    def diffs(self) -> list[dict[str, object]]:
        """Return the rows of `label_index_diffs`, in the order of the log."""
        rows = read_rows(self.root, self._added("label_index_diffs"), "label_index_diffs").to_pylist()
        return sorted(rows, key=lambda row: (row["partition"], row["offset"], row["change"] == "added"))

    def history(self) -> list[dict[str, object]]:
        """Return the rows of `history`, in the order of the log."""
        rows = read_rows(self.root, self._added("history"), "history").to_pylist()
        return sorted(rows, key=lambda row: (row["partition"], row["offset"]))

    def _added(self, table: str) -> list[DataFile]:
        return [each for commit in self.commits for each in commit.added if each.table == table]


def _sum(rows: list[dict[str, object]], before: Index) -> Index:
    """Return the index after `rows` of `label_index_diffs`, which must be in the order of the log."""
    found = Counter(before)
    for row in rows:
        found[row["namespace"], row["key"], row["value"], row["topic"]] += 1 if row["change"] == "added" else -1
    assert set(found.values()) <= {0, 1}, "a label was added twice, or removed where it was not"
    return +found


def index_of(state: PartitionState) -> Index:
    """Return (namespace, key, value, topic) as the engine has it."""
    return Counter(
        (namespace, key, value, table.keys[number])
        for namespace, table in state.topics.items()
        for number in table
        for key, value in table.labels(number).items()
    )
