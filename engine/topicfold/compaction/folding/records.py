"""The records of one slice of a batch: parsed, in columns, in the order of the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from topicfold.compaction.folding.envelopes import Envelopes, take_apart
from topicfold.compaction.folding.spans import Bytes, Flags, Numbers, Spans, joined_spans, spans_of
from topicfold.errors import LogGap
from topicfold.model.events import Event
from topicfold.text.counting import counted

_OFFSET_BITS = 44
_PAGE_ROWS = 20_000
"""The intermediate data of this many records fits into a processor's cache."""
_PAGE_BYTES = 1 << 26
_FEW_RUNS = 8

RECORDS = pa.schema({"partition": pa.int32(), "offset": pa.int64(), "value": pa.binary(), "is_own": pa.bool_()})
"""What a slice is given. `is_own`: this slice answers for the record; otherwise it is a copy of another slice's."""


class Seen(NamedTuple):
    """How many records of one partition, garbage included, a slice answers for, and their first and last offset."""

    records: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Page(Envelopes):
    """Records that arrived together and are not garbage, sorted by partition and offset."""

    partitions: Numbers
    offsets: Numbers
    is_own: Flags

    def __len__(self) -> int:
        return len(self.offsets)

    def at(self, rows: Numbers) -> Page:
        """Return only these rows."""
        spans = (each.at(rows) for each in (self.operations, self.payloads, self.audits))
        return _page([getattr(self, name)[rows] for name in _ARRAYS], self.names.take(pa.array(rows)), spans)


class Records:
    """Consecutive pages. The columns that verdicts need are also here, concatenated over all pages.

    `firsts` has the place of each page's first record, followed by the number of all records.
    """

    def __init__(self, pages: Sequence[Page]) -> None:
        self.pages = pages
        self.firsts: Numbers = np.cumsum([0, *(len(each) for each in pages)])
        whole = {name: np.concatenate([getattr(_NONE, name), *(getattr(each, name) for each in pages)])
                 for name in _SHARED}  # fmt: skip
        self.partitions: Numbers = whole["partitions"]
        self.offsets: Numbers = whole["offsets"]
        self.is_own: Flags = whole["is_own"]
        self.levels: Numbers = whole["levels"]
        self.kinds: Numbers = whole["kinds"]
        self.aggregate_kinds: Numbers = whole["aggregate_kinds"]
        self.event_ids: Bytes = whole["event_ids"]
        self.bases: Bytes = whole["bases"]
        self.namespace_ids: Bytes = whole["namespace_ids"]
        self.payload_schemas: Numbers = whole["payload_schemas"]
        self.names: pa.ChunkedArray = pa.chunked_array([each.names for each in pages], pa.string())

    def __len__(self) -> int:
        return len(self.offsets)

    def by_page(self, rows: Numbers) -> Iterator[tuple[Page, Numbers]]:
        """Yield every page, with the places in it of those of `rows` that it holds; `rows` must rise."""
        ends = np.searchsorted(rows, self.firsts)
        for number, page in enumerate(self.pages):
            yield page, rows[ends[number] : ends[number + 1]] - self.firsts[number]

    def at(self, rows: Numbers) -> Page:
        """Return only these rows, which must rise."""
        return _joined([page.at(places) for page, places in self.by_page(rows) if len(places)])

    def event(self, row: int) -> Event:
        """Return one record as an `Event`."""
        page, place = self._found(row)
        return page.event(place)

    def payload(self, row: int) -> bytes:
        """Return the payload of one record."""
        page, place = self._found(row)
        return page.payloads[place]

    def payloads_at(self, rows: Numbers) -> pa.BinaryArray:
        """Return the payloads of `rows`, which must rise."""
        cut = [page.payloads.at(places).cut() for page, places in self.by_page(rows) if len(places)]
        return pa.concat_arrays([pa.array([], pa.binary()), *cut])

    def _found(self, row: int) -> tuple[Page, int]:
        number = int(np.searchsorted(self.firsts, row, side="right")) - 1
        return self.pages[number], row - int(self.firsts[number])


def read_records(batches: Iterable[pa.RecordBatch], start: Sequence[int]) -> tuple[Records, dict[int, Seen]]:
    """Return the records of `batches` at or above `start`, the positions by partition; and what each partition had.

    Batches have the columns `RECORDS`, in whichever of Arrow's layouts Spark was set to deliver
    (`spark.sql.execution.arrow.useLargeVarTypes`), and of any size (`maxRecordsPerBatch`). Rows below `start` were
    folded before. Rows may be in any order, but it is fastest if they come in long runs in the log's order, as Spark's
    shuffle delivers them.
    """
    floors = np.asarray(start, dtype=np.int64)
    runs: list[Page] = []
    places: list[npt.NDArray[np.int64]] = []
    for batch in _joined_batches(each.cast(RECORDS) for each in batches):
        partitions = batch.column("partition").to_numpy().astype(np.int64)
        offsets = batch.column("offset").to_numpy()
        own = batch.column("is_own").to_numpy(zero_copy_only=False)
        fresh = offsets >= floors[partitions]
        seen = fresh & own
        places.append(np.stack([partitions[seen], offsets[seen]]))
        rows, found = take_apart(batch.column("value"))
        columns = {each.name: getattr(found, each.name) for each in fields(found)}
        page = Page(**columns, partitions=partitions[rows], offsets=offsets[rows], is_own=own[rows])
        runs += _runs(page if fresh.all() else page.at(np.flatnonzero(fresh[rows])))
    seen_places = np.concatenate(places, axis=1) if places else np.zeros((2, 0), np.int64)
    return Records(_in_order(runs)), _seen(seen_places)


def _joined_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows, with small batches combined: each batch costs as much as 2,000 records."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        rows, size = rows + len(batch), size + batch.nbytes
        if waiting and (rows > _PAGE_ROWS or size > _PAGE_BYTES):
            yield _as_one(waiting)
            waiting, rows, size = [], len(batch), batch.nbytes
        waiting.append(batch)
    if waiting:
        yield _as_one(waiting)


def _as_one(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return `batches` as one; a single one, which may have 2 GB, is not copied."""
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _runs(page: Page) -> list[Page]:
    """Return the sorted runs that a page consists of, each of one partition; or the page sorted, if they are many.

    A run of several partitions might overlap with other pages' records, so that all records would have to be sorted.
    """
    places = log_places(page.partitions, page.offsets)
    breaks = np.flatnonzero((places[1:] < places[:-1]) | (page.partitions[1:] != page.partitions[:-1])) + 1
    if not len(breaks):
        return [page] if len(page) else []
    if len(breaks) > _FEW_RUNS:
        return [page.at(np.argsort(places, kind="stable"))]
    bounds = [0, *breaks.tolist(), len(page)]
    return [page.at(np.arange(first, last)) for first, last in pairwise(bounds)]


def _in_order(runs: Sequence[Page]) -> list[Page]:
    """Return the same records as pages in the order of the log."""
    by_first = sorted(runs, key=lambda run: (run.partitions[0], run.offsets[0]))
    if not any((a.partitions[-1], a.offsets[-1]) > (b.partitions[0], b.offsets[0]) for a, b in pairwise(by_first)):
        return by_first
    whole = _joined(runs)
    order = np.argsort(log_places(whole.partitions, whole.offsets), kind="stable")
    return [whole.at(order[first : first + _PAGE_ROWS]) for first in range(0, len(order), _PAGE_ROWS)]


def log_places(partitions: Numbers, offsets: Numbers) -> Numbers:
    """Return numbers that sort like partition and offset."""
    return (partitions << _OFFSET_BITS) + offsets


def require_whole(seen: Sequence[Mapping[int, Seen]], start: Sequence[int]) -> list[int]:
    """Return the positions after a batch, by partition, given what each slice has seen of it.

    Raises:
        LogGap: no slice has seen an offset between `start` and the batch's end.
    """
    to = list(start)
    for partition, first in enumerate(start):
        found = [each[partition] for each in seen if partition in each]
        if not found:
            continue
        count, least = sum(each.records for each in found), min(each.first for each in found)
        end = max(each.last for each in found) + 1
        if least != first or count != end - first:
            raise LogGap(
                f"partition {partition}: the snapshot ends before offset {first}, the batch holds "
                f"{counted(count, 'record')} from offset {least} to {end - 1}",
                hint="Run it again: it continues from the newest commit. If that fails too, somebody trimmed or "
                "compacted the topic, or wrote transactions to it: restore the log.",
                partition=partition,
                expected=first,
                found=least,
            )
        to[partition] = end
    return to


def _seen(places: npt.NDArray[np.int64]) -> dict[int, Seen]:
    found = {}
    for partition in np.unique(places[0]).tolist():
        offsets = places[1][places[0] == partition]
        found[partition] = Seen(len(offsets), int(offsets.min()), int(offsets.max()))
    return found


def _joined(parts: Sequence[Page]) -> Page:
    """Return the records of `parts` as one page."""
    if not parts:
        return _NONE
    arrays = (np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS)
    names = pa.concat_arrays([part.names for part in parts])
    spans = [[getattr(part, name) for part in parts] for name in ("operations", "payloads", "audits")]
    return _page(arrays, names, (joined_spans(each) for each in spans))


def _page(arrays: Iterable[Any], names: pa.StringArray, spans: Iterable[Spans]) -> Page:
    operations, payloads, audits = spans
    columns = dict(zip(_ARRAYS, arrays, strict=True))
    return Page(**columns, names=names, operations=operations, payloads=payloads, audits=audits)


_ARRAYS = ("partitions", "offsets", "is_own", "levels", "kinds", "flags", "aggregate_kinds", "event_ids", "bases",
           "namespace_ids", "payload_schemas")  # fmt: skip
_SHARED = tuple(name for name in _ARRAYS if name != "flags")
_NO_NUMBERS, _NO_IDS = np.zeros(0, np.int64), np.zeros((0, 16), np.uint8)
_NO_SPANS = spans_of(np.zeros(0, np.uint8), _NO_NUMBERS, _NO_NUMBERS)
_NONE = _page(
    [_NO_NUMBERS, _NO_NUMBERS, np.zeros(0, bool), *[_NO_NUMBERS] * 4, *[_NO_IDS] * 3, _NO_NUMBERS],
    pa.array([], pa.string()),
    [_NO_SPANS] * 3,
)
