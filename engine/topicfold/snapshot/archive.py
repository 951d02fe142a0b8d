"""The archive: every accepted event since the log began, read back from the table `history`.

It answers what the log no longer holds: a topic's versions, and the topics of a namespace as they were at a position.
It reaches from the log's beginning up to the newest commit. The table's Delta log and the commits that are not
published yet tell which files there are. Each file is compared with the hash in its name before anything is read from
it. Files that somebody else wrote while optimizing the table have no such hash: of these only the checksums of pages
are verified, if there are any.

Needs pyarrow. All methods block, and may be called from any thread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from topicfold.errors import SnapshotDamaged
from topicfold.model.events import (
    GENESIS,
    LAST_TIME_MS,
    SUPPORTED_LEVEL,
    AggregateKind,
    Audit,
    AuditTrail,
    Event,
    Kind,
    Operation,
    Verdict,
)
from topicfold.snapshot.commits import Commit, commits_after, readable_commits
from topicfold.snapshot.files.data_files import is_as_named
from topicfold.snapshot.files.delta_files import active_files
from topicfold.snapshot.files.unreadable import naming_shortage
from topicfold.snapshot.loading import require_own
from topicfold.snapshot.rows.topic_rows import Numbers
from topicfold.snapshot.tables import HISTORY, KINDS
from topicfold.state.aggregate import NO_ETAG, Aggregate, Etag

_TABLE = "history"
_FORMAT = pads.ParquetFileFormat(
    default_fragment_scan_options=pads.ParquetFragmentScanOptions(page_checksum_verification=True)
)
_NO_TIME_MS = -1
"""Stands for a time that no calendar holds, as others do that say no time."""
_BATCH_ROWS = 65_536
_FEW_ROWS = 64
MAX_BYTES = 32 * 1024 * 1024
"""The most bytes of records of one aggregate that are read at once."""
_TOPIC_COLUMNS = ["name", "offset", "event_id", "deletes", "payload_schema", "payload", "operations"]


@dataclass(frozen=True, slots=True)
class ArchivedEvent:
    """An accepted event. `trail` is None if who and why could not be read. `is_refused`: a delete of a namespace that
    was not empty.

    The event lacks what readers of histories do not need: flags, namespace id, hashes of bodies, and its audit part.
    """

    offset: int
    event: Event
    trail: AuditTrail | None
    is_refused: bool


@dataclass(frozen=True, slots=True)
class ArchivedNamespace:
    """A namespace that was live. `incarnation` is the id of the put that began this life; `rows` has the last row of
    each of its topics."""

    incarnation: bytes
    rows: pa.Table

    def topics(self) -> Iterator[tuple[str, Aggregate]]:
        """Yield its topics with their full names, deleted ones too. Cost: 10 µs each, made as the iterator advances."""
        for batch in self.rows.to_batches(max_chunksize=_FEW_ROWS):
            for row in batch.to_pylist():
                yield row["name"], _aggregate(row)


class Archive:
    """The history of the log with this `incarnation`, as far as the snapshot at `root` has it.

    Every method that reads the table raises `SnapshotDamaged` or `SnapshotUnreadable` if it cannot.
    """

    def __init__(self, root: Path, incarnation: bytes, partitions: int) -> None:
        self._root = root
        self._incarnation = incarnation
        self._partitions = partitions
        self._rows_of: dict[Path, int] = {}
        self._damage: SnapshotDamaged | None = None

    def require_readable(self) -> None:
        """Check that every file of the table has a footer, and that the last question found no damage.

        Raises:
            WrongSnapshot, LevelUnsupported: the snapshot is of another log, or by a newer version.

        Cost: reads the footers; after a question that found damage, what was not read before.
        """
        newest = self._newest()
        paths, _ = self._files(newest)
        with self._naming_damage():
            for path in paths:
                _footer_of(path)
            if self._damage is not None:
                self._require_whole(paths, newest)

    def ends(self) -> tuple[int, ...]:
        """Return, by partition, the position up to which the archive has every accepted event; empty without a commit.

        Raises:
            WrongSnapshot, LevelUnsupported: the snapshot is of another log, or by a newer version.
        """
        newest = self._newest()
        return () if newest is None else newest.to

    def position_at(self, partition: int, time_ms: int, below: int, behind: int = 0) -> int:
        """Return the position that separates what was written at `time_ms` or before from what was written later.

        Only events below the offset `below` are considered. The position is after the newest early one: 0 if there is
        none, and `below` if all of them are early. Where the clocks of nodes differ, it is the first position with the
        fewest events on the wrong side, so one clock that was far behind does not move it. For events from `below` on,
        `behind` says by how many the early ones outnumber the late ones; if counting these makes `below` the better
        position, it is `below`.

        Cost: reads two columns; the memory needed grows with how often the times of events cross `time_ms`.
        """
        wanted = (pc.field("partition") == partition) & (pc.field("offset") < below) & _says_time()
        runs = [np.zeros((2, 0), np.int64), *(_runs(rows, time_ms) for rows in self._rows(["offset", "time"], wanted))]
        ends, surplus = np.concatenate(runs, axis=1)
        order = np.argsort(ends)
        surplus = np.append(0, np.cumsum(surplus[order]))
        place = surplus.argmax()
        if place == len(ends) > 0 or surplus[place] < surplus[-1] + behind:
            return below
        return int(np.append(0, ends[order] + 1)[place])

    def first_time_ms(self, partition: int) -> int | None:
        """Return when the first event of a partition that states a time was written, in ms; None if there is none."""
        wanted = (pc.field("partition") == partition) & _says_time()
        firsts = []
        for rows in self._rows(["offset", "time"], wanted):
            first = rows.slice(int(rows["offset"].to_numpy().argmin()), 1)
            firsts.append((first["offset"][0].as_py(), first["time"].cast(pa.int64())[0].as_py()))
        return min(firsts)[1] // 1000 if firsts else None

    def namespace_at(self, namespace: str, partition: int, position: int) -> ArchivedNamespace | None:
        """Return a namespace as it was when its partition was folded up to `position`; None if it was not live.

        Cost: O(rows of the namespace up to there), with its topics' records in memory.
        """
        below = (pc.field("partition") == partition) & (pc.field("offset") < position)
        life = self._life(below & _is(AggregateKind.NAMESPACE) & (pc.field("name") == namespace))
        if life is None:
            return None
        since, incarnation = life
        inside = below & (pc.field("offset") > since) & _is(AggregateKind.TOPIC) & (pc.field("namespace") == namespace)
        all_newest, all_changed = _Newest(), _Newest()
        for rows in self._rows(_TOPIC_COLUMNS, inside):
            rows = rows.append_column("place", _last_changes(rows["operations"])).drop_columns(["operations"])
            all_newest.add(rows)
            all_changed.add(rows.filter(pc.field("place") > 0).select(["name", "offset", "event_id", "place"]))
        newest, changed = all_newest.rows(), all_changed.rows()
        if newest.num_columns:
            etags = changed.take(pc.index_in(newest["name"], changed["name"].combine_chunks()))
            newest = newest.drop_columns(["place"]).append_column("etag_id", etags["event_id"])
            newest = newest.append_column("etag_place", etags["place"])
        return ArchivedNamespace(incarnation, newest)

    def events_of(self, kind: AggregateKind, name: str, partition: int, up_to: int, most: int) -> list[ArchivedEvent]:
        """Return the last `most` events of an aggregate up to and including the offset `up_to`, the newest first.

        Returns fewer if their records exceed `MAX_BYTES`, but at least one.
        """
        wanted = (pc.field("partition") == partition) & (pc.field("offset") <= up_to) & _is(kind)
        found = HISTORY.empty_table()
        for rows in self._rows(HISTORY.names, wanted & (pc.field("name") == name)):
            found = _last(pa.concat_tables([found, rows]), most)
        # Rows of earlier versions may state a time that Python's datetime cannot hold.
        found = found.set_column(HISTORY.get_field_index("time"), "time", found["time"].cast(pa.int64()))
        return [_event(kind, row) for row in found.to_pylist()]

    def _life(self, wanted: pc.Expression) -> tuple[int, bytes] | None:
        """Return offset and id of the put that began a namespace's life after these of its events; None if not live."""
        columns = ["offset", "event_id", "deletes", "refused"]
        events = {row["offset"]: row for rows in self._rows(columns, wanted) for row in rows.to_pylist()}
        life: tuple[int, bytes] | None = None
        for offset, row in sorted(events.items()):
            if not row["deletes"]:
                life = life or (offset, row["event_id"])
            elif not row["refused"]:
                life = None
        return life

    def _rows(self, columns: list[str], wanted: pc.Expression) -> Iterator[pa.Table]:
        """Yield rows in batches, in no order; none of commits that were given up, which may still be published."""
        newest = self._newest()
        paths, given_up = self._files(newest)
        if given_up:
            wanted &= ~pc.field("sequence").isin(given_up)
        with self._naming_damage():
            self._require_whole(paths, newest)
            if not paths:
                return
            scanner = pads.dataset([*map(str, paths)], HISTORY, format=_FORMAT).scanner(
                columns, filter=wanted, batch_size=_BATCH_ROWS, use_threads=False
            )
            for batch in scanner.to_batches():
                if len(batch):
                    yield pa.Table.from_batches([batch])

    def _files(self, newest: Commit | None) -> tuple[list[Path], list[int]]:
        """Return the files with the rows up to `newest`, and the numbers of commits whose rows in them do not count."""
        active, published = active_files(self._root, _TABLE)
        waiting = [*self._waiting(newest, published)] if newest else []
        given_up = [number for each in waiting for number in range(each.after + 1, each.sequence)]
        added = (file.path for commit in waiting for file in commit.added if file.table == _TABLE)
        return [self._root / path for path in sorted({*active, *added})], given_up

    @contextmanager
    def _naming_damage(self) -> Iterator[None]:
        """Say that the table is damaged where the block cannot read it, and remember it."""
        try:
            with naming_shortage(self._root / _TABLE):
                yield
        except (pa.ArrowException, OSError) as error:
            reason = f"the table {self._root / _TABLE} cannot be read: {error}"
            self._damage = SnapshotDamaged(reason, sequence=0, path=str(self._root / _TABLE))
            raise self._damage from error

    def _waiting(self, newest: Commit, published: int) -> Iterator[Commit]:
        """Yield the commits up to `newest` that the table, which records up to `published`, may lack.

        Commits without accepted events leave no trace in it, and older ones of them are gone once all tables have them.
        """
        try:
            yield from commits_after(self._root, newest, published)
        except SnapshotDamaged as error:
            if error.values["sequence"] > active_files(self._root, "commits").commit:
                reason = f"the table {self._root / _TABLE} lacks rows behind commit {published}: {error.reason}"
                raise SnapshotDamaged(reason, **error.values) from error

    def _require_whole(self, paths: Collection[Path], newest: Commit | None) -> None:
        """Check that these files match the hashes in their names, and have all rows up to the commit `newest`.

        Each file is hashed only once. Reading a damaged file, Parquet might return other rows or crash the process. If
        an entry of the table's Delta log is lost, its files are too, and only the number of rows reveals that.

        Raises:
            OSError: a file does not match or cannot be read, or rows are missing.
        """
        known, rows = self._rows_of, newest.counts[_TABLE] if newest else 0
        self._rows_of = held = {path: known[path] for path in paths if path in known}
        for path in paths:
            if path not in held:
                held[path] = _rows_in(path)
        if sum(held.values()) < rows:
            raise OSError(f"it has {sum(held.values())} rows, and the commits say {rows}")
        self._damage = None

    def _newest(self) -> Commit | None:
        newest = next(readable_commits(self._root), None)
        if newest is not None:
            require_own(newest, self._incarnation, self._partitions)
        return newest


def _rows_in(path: Path) -> int:
    """Return how many rows a file has, after checking that it matches its name.

    Raises:
        OSError: it does not match, or cannot be read.
    """
    if not is_as_named(path):
        raise OSError(f"{path} is not what was written")
    rows: int = _footer_of(path).num_rows
    return rows


def _footer_of(path: Path) -> pq.FileMetaData:
    """Return what a file says of itself.

    Raises:
        OSError: it is cut short, or cannot be read.
    """
    try:
        return pq.read_metadata(path)
    except pa.ArrowException as error:
        raise OSError(f"{path} is cut short, or no Parquet at all") from error


def _says_time() -> pc.Expression:
    """Return the condition for events that state a time, the same as `AuditTrail.says_time`."""
    first, last = (pa.scalar(each * 1000, pa.int64()).cast(HISTORY.field("time").type) for each in (0, LAST_TIME_MS))
    return (pc.field("time") > first) & (pc.field("time") <= last)


def _last(rows: pa.Table, most: int) -> pa.Table:
    """Return the last of `rows` without repetitions, the newest first: at most `most`, and as `MAX_BYTES` allow."""
    _, firsts = np.unique(-rows["offset"].to_numpy(), return_index=True)
    sizes = np.cumsum(pc.binary_length(rows["payload"]).to_numpy()[firsts])
    count = min(most, max(1, int(np.searchsorted(sizes, MAX_BYTES, side="right"))))
    return rows.take(pa.array(firsts[:count]))


def _runs(rows: pa.Table, time_ms: int) -> Numbers:
    """Return two rows: the offsets where runs of events end that are all early or all late, and the runs' lengths.

    Early means written at `time_ms` or before. The length of a run of late events is negative.
    """
    order = np.argsort(rows["offset"].to_numpy())
    offsets = rows["offset"].to_numpy()[order]
    sides = np.where(rows["time"].cast(pa.int64()).to_numpy()[order] <= time_ms * 1000, 1, -1)
    last = np.flatnonzero(np.append(sides[1:] != sides[:-1], True))
    return np.stack([offsets[last], sides[last] * np.diff(last, prepend=-1)])


def _is(kind: AggregateKind) -> pc.Expression:
    return pc.field("kind") == KINDS[kind]


class _Newest:
    """Collects rows of one partition in batches, and keeps for each name the row with the highest offset.

    Cost: O(rows), however many names there are: waiting rows are only merged once they outnumber those found.
    """

    def __init__(self) -> None:
        self._parts: list[pa.Table] = []
        self._found = self._waiting = 0

    def add(self, rows: pa.Table) -> None:
        """Add rows."""
        self._parts.append(rows)
        self._waiting += rows.num_rows
        if self._waiting > self._found:
            self.rows()

    def rows(self) -> pa.Table:
        """Return the newest rows, each with another offset. A table without columns if no rows were added."""
        if self._parts:
            both = pa.concat_tables(self._parts)
            highest = both.select(["name", "offset"]).group_by("name").aggregate([("offset", "max")])
            found = both.filter(pc.is_in(both["offset"], highest["offset_max"].combine_chunks()))
            self._parts, self._found, self._waiting = [found], found.num_rows, 0
        return self._parts[0] if self._parts else pa.table({})


def _last_changes(operations: pa.ChunkedArray) -> pa.Array:
    """Return for each row the place, from 1, of its last operation that changed the record; 0 for none."""
    rows = operations.combine_chunks()
    verdicts = pc.struct_field(rows.flatten(), "verdict").to_numpy()
    counts = pc.list_value_length(rows).to_numpy()
    starts = np.cumsum(counts) - counts
    places = (np.arange(len(verdicts)) - np.repeat(starts, counts) + 1) * (verdicts == Verdict.CHANGED)
    found = np.zeros(len(counts), np.int64)
    if len(places):
        found[counts > 0] = np.maximum.reduceat(places, starts[counts > 0])
    return pa.array(found)


def _aggregate(row: Mapping[str, Any]) -> Aggregate:
    etag = NO_ETAG if row["etag_id"] is None else Etag(row["etag_id"], row["etag_place"])
    if row["deletes"]:
        return Aggregate(row["event_id"], False, etag, 0, b"", row["offset"])
    return Aggregate(row["event_id"], True, etag, row["payload_schema"], row["payload"], row["offset"])


def _event(kind: AggregateKind, row: Mapping[str, Any]) -> ArchivedEvent:
    event = Event(
        level=SUPPORTED_LEVEL,
        kind=Kind.DELETE if row["deletes"] else Kind.PUT,
        flags=0,
        event_id=row["event_id"],
        aggregate_kind=kind,
        name=row["name"],
        partition_count=0,
        base=row["base"],
        namespace_id=GENESIS,
        operations=tuple(
            Operation(each["id"], each["verdict"], each["by_client"], bytes(8)) for each in row["operations"]
        ),
        payload_schema=row["payload_schema"],
        payload=row["payload"],
        audit=b"",
    )
    return ArchivedEvent(row["offset"], event, _trail(row), row["refused"])


def _trail(row: Mapping[str, Any]) -> AuditTrail | None:
    if row["previous_offset"] is None:
        return None
    audits = tuple(Audit(each["actor"], each["reason"], each["request_id"]) for each in row["operations"])
    time_ms = _NO_TIME_MS if row["time"] is None else row["time"] // 1000
    return AuditTrail(audits, time_ms, row["previous_offset"])
