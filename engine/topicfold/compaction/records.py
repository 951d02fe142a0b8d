"""The records of one slice of a batch: taken apart, in columns, in the order of the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from topicfold.compaction.envelopes import take_apart
from topicfold.compaction.spans import Bytes, Numbers, Spans, spans_of
from topicfold.errors import LogGap
from topicfold.log.codec import decode_operations
from topicfold.model.events import Event

Flags = npt.NDArray[np.bool_]

RECORDS = pa.schema({"partition": pa.int32(), "offset": pa.int64(), "value": pa.binary(), "is_own": pa.bool_()})
"""What a slice is given. `is_own`: this slice answers for the record; others were given a copy."""


class Seen(NamedTuple):
    """Of one partition: how many records, garbage too, a slice answers for, and the first and last of their offsets."""

    records: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Records:
    """Records that are no garbage, sorted by partition and offset; ids are rows of 16 bytes."""

    partitions: Numbers
    offsets: Numbers
    is_own: Flags
    levels: Numbers
    kinds: Numbers
    flags: Numbers
    aggregate_kinds: Numbers
    event_ids: Bytes
    bases: Bytes
    namespace_ids: Bytes
    payload_schemas: Numbers
    names: pa.StringArray
    operations: Spans
    payloads: Spans
    audits: Spans

    def __len__(self) -> int:
        return len(self.offsets)

    def at(self, rows: Numbers) -> Records:
        """Return only these rows."""
        spans = (each.at(rows) for each in (self.operations, self.payloads, self.audits))
        return _records([getattr(self, name)[rows] for name in _ARRAYS], self.names.take(pa.array(rows)), spans)

    def event(self, row: int) -> Event:
        """Return one record as the engine has it."""
        return Event(
            int(self.levels[row]), int(self.kinds[row]), int(self.flags[row]), self.event_ids[row].tobytes(),
            int(self.aggregate_kinds[row]), self.names[row].as_py(), 0, self.bases[row].tobytes(),
            self.namespace_ids[row].tobytes(), decode_operations(self.operations[row]),
            int(self.payload_schemas[row]), self.payloads[row], self.audits[row],
        )  # fmt: skip


def read_records(batches: Iterable[pa.RecordBatch], start: Sequence[int]) -> tuple[Records, dict[int, Seen]]:
    """Return the records of `batches` at or above `start`, which is by partition; and what was seen of each partition.

    Batches have the columns `RECORDS`, in any order of rows; rows below `start` are folded already.
    """
    floors = np.asarray(start, dtype=np.int64)
    parts: list[Records] = []
    places: list[npt.NDArray[np.int64]] = []
    for batch in batches:
        partitions = batch.column("partition").to_numpy().astype(np.int64)
        offsets = batch.column("offset").to_numpy()
        own = batch.column("is_own").to_numpy(zero_copy_only=False)
        fresh = offsets >= floors[partitions]
        seen = fresh & own
        places.append(np.stack([partitions[seen], offsets[seen]]))
        found = take_apart(batch.column("value"))
        rows = found.rows
        part = Records(
            partitions[rows], offsets[rows], own[rows], found.levels, found.kinds, found.flags, found.aggregate_kinds,
            found.event_ids, found.bases, found.namespace_ids, found.payload_schemas, found.names, found.operations,
            found.payloads, found.audits,
        )  # fmt: skip
        parts.append(part if fresh.all() else part.at(np.flatnonzero(fresh[rows])))
    records = _joined(parts) if parts else _joined([_NONE])
    order = np.lexsort((records.offsets, records.partitions))
    return records.at(order), _seen(np.concatenate(places, axis=1) if places else np.zeros((2, 0), np.int64))


def require_whole(seen: Sequence[Mapping[int, Seen]], start: Sequence[int]) -> list[int]:
    """Return the positions after a batch, by partition, given what each slice has seen of it.

    Raises:
        LogGap: an offset between `start` and the batch's end was seen by nobody.
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
                f"partition {partition}: the snapshot ends before offset {first}, the batch holds {count} records "
                f"from offset {least} to {end - 1}",
                hint="If the log was not trimmed beyond the snapshot, delete the job's checkpoint and run it again.",
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


def _joined(parts: Sequence[Records]) -> Records:
    arrays = (np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS)
    names = pa.concat_arrays([part.names for part in parts])
    spans = [[getattr(part, name) for part in parts] for name in ("operations", "payloads", "audits")]
    # All three are pieces of the same buffers.
    data = spans_of(np.concatenate([part.operations.data for part in parts]), _NO_NUMBERS, _NO_NUMBERS).data
    shifts = np.cumsum([0, *(len(part.operations.data) for part in parts)])
    pieces = (
        Spans(
            data,
            np.concatenate([each.starts + shift for each, shift in zip(of, shifts[:-1], strict=True)]),
            np.concatenate([each.lengths for each in of]),
        )
        for of in spans
    )
    return _records(arrays, names, pieces)


def _records(arrays: Iterable[Any], names: pa.StringArray, spans: Iterable[Spans]) -> Records:
    operations, payloads, audits = spans
    columns = dict(zip(_ARRAYS, arrays, strict=True))
    return Records(**columns, names=names, operations=operations, payloads=payloads, audits=audits)


_ARRAYS = ("partitions", "offsets", "is_own", "levels", "kinds", "flags", "aggregate_kinds", "event_ids", "bases",
           "namespace_ids", "payload_schemas")  # fmt: skip
_NO_NUMBERS, _NO_IDS = np.zeros(0, np.int64), np.zeros((0, 16), np.uint8)
_NO_SPANS = spans_of(np.zeros(0, np.uint8), _NO_NUMBERS, _NO_NUMBERS)
_NONE = _records(
    [_NO_NUMBERS, _NO_NUMBERS, np.zeros(0, bool), *[_NO_NUMBERS] * 4, *[_NO_IDS] * 3, _NO_NUMBERS],
    pa.array([], pa.string()),
    [_NO_SPANS] * 3,
)
