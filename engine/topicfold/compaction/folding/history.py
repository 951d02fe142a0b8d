"""Rows of `history` and `label_index_diffs`: what accepted events did, who requested it, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topicfold.compaction.folding.avro_columns import read_plain_trails
from topicfold.compaction.folding.labels import Labels, key_column, label_changes, value_column
from topicfold.compaction.folding.operations import Operations
from topicfold.compaction.folding.records import Page
from topicfold.compaction.folding.spans import Flags, Numbers, Spans, binaries
from topicfold.log.codec import decode_audit
from topicfold.model.events import LAST_TIME_MS, Audit, AuditTrail, Kind
from topicfold.snapshot.tables import HISTORY, KINDS, LABEL_INDEX_DIFFS, OPERATION


@dataclass(frozen=True, slots=True)
class Trails:
    """The audit parts of some events: times and previous offsets by event; actors, reasons, request ids by operation.

    Values are null where the part cannot be read or covers another number of operations. `actor` has, by event, who
    requested the last operation that changed the record, or the first operation if none did.
    """

    times: pa.Array
    previous_offsets: pa.Array
    actors: pa.Array
    reasons: pa.Array
    request_ids: pa.Array
    actor: pa.Array


def trails_of(audits: Spans, operations: Operations) -> Trails:
    """Return who requested the operations of events, and why."""
    plain = read_plain_trails(audits)
    wanted = np.diff(np.append(operations.starts, len(operations.event)))
    is_plain = plain.is_plain & (plain.counts == wanted)
    others = np.flatnonzero(~is_plain)
    found = [_trail(audits[row], int(wanted[row])) for row in others.tolist()]
    flat = [each for trail, row in zip(found, others.tolist(), strict=True) for each in _of_each(trail, wanted[row])]
    texts = [plain.actors, plain.reasons, plain.request_ids]
    if len(others):
        # By operation: the place of its texts among those read in columns, followed by the others.
        places = np.empty(len(operations.event), dtype=np.int64)
        starts = np.cumsum(plain.counts) - plain.counts
        in_columns = is_plain[operations.event]
        event, place = operations.event[in_columns], operations.place[in_columns]
        places[in_columns] = starts[event] + place - 1
        places[~in_columns] = len(plain.actors) + np.arange(len(flat))
        of_rest = [pa.array([each and each[n] for each in flat], pa.string()) for n in range(3)]
        texts = [pa.concat_arrays(each).take(pa.array(places)) for each in zip(texts, of_rest, strict=True)]
    times, previous = plain.times, plain.previous_offsets
    for row, trail in zip(others.tolist(), found, strict=True):
        times[row], previous[row] = (trail.time_ms, trail.previous_offset) if trail else (0, 0)
    unknown = np.zeros(len(audits), dtype=bool)
    unknown[others] = [trail is None for trail in found]
    leading = np.where(wanted > 0, operations.starts + np.maximum(operations.last_change, 1) - 1, 0)
    return Trails(
        pa.array(times, mask=unknown),
        pa.array(previous, mask=unknown),
        texts[0],
        texts[1],
        texts[2],
        texts[0].take(pa.array(leading, mask=wanted == 0)),
    )


def history_rows(
    sequence: int, page: Page, rows: Numbers, trails: Trails, operations: Operations, *,
    namespaces: pa.Array, refused: Flags, old_labels: pa.MapArray, new_labels: pa.MapArray,
) -> pa.Table:  # fmt: skip
    """Return the rows of `history` for the accepted events `rows` of a page; texts that repeat are dictionaries."""
    chosen = page if len(rows) == len(page) else page.at(rows)
    starts = np.append(operations.starts, len(operations.event)).astype(np.int32)
    carried = pa.StructArray.from_arrays(
        [
            binaries(operations.ids), pa.array(operations.verdicts, pa.int32()), pa.array(operations.by_client),
            trails.actors, trails.reasons, trails.request_ids,
        ],
        fields=list(OPERATION),
    )  # fmt: skip
    kinds = pa.array(list(KINDS.values()))
    columns = {
        "sequence": pa.array(np.full(len(rows), sequence)),
        "partition": pa.array(chosen.partitions, pa.int32()),
        "offset": pa.array(chosen.offsets),
        "kind": pa.DictionaryArray.from_arrays(pa.array(chosen.aggregate_kinds - 1, pa.int32()), kinds),
        "name": chosen.names,
        "namespace": namespaces,
        "event_id": binaries(chosen.event_ids),
        "base": binaries(chosen.bases),
        "deletes": pa.array(chosen.kinds == Kind.DELETE),
        "refused": pa.array(refused),
        "time": _moments(trails.times),
        "previous_offset": trails.previous_offsets,
        "old_labels": old_labels,
        "new_labels": new_labels,
        "operations": pa.ListArray.from_arrays(pa.array(starts), carried),
        "payload_schema": pa.array(chosen.payload_schemas, pa.int32()),
        "payload": chosen.payloads.cut(),
    }
    return pa.table({each.name: columns[each.name] for each in HISTORY})


def diff_rows(
    sequence: int, partitions: Numbers, offsets: Numbers, namespaces: pa.Array, topics: pa.Array, actors: pa.Array,
    old_labels: Labels, new_labels: Labels,
) -> pa.Table:  # fmt: skip
    """Return the rows of `label_index_diffs` for changes of topics' labels; all arguments have an entry per change."""
    found = label_changes(old_labels, new_labels)
    row = pa.array(found.row)
    words = pa.array(["removed", "added"])
    columns = {
        "sequence": pa.array(np.full(len(found.row), sequence)),
        "partition": pa.array(partitions[found.row], pa.int32()),
        "offset": pa.array(offsets[found.row]),
        "namespace": namespaces.take(row),
        "topic": topics.take(row),
        "key": key_column(found.pairs, old_labels.words),
        "value": value_column(found.pairs, old_labels.words),
        "change": pa.DictionaryArray.from_arrays(pa.array(found.is_added.astype(np.int32)), words),
        "actor": actors.take(row),
    }
    return pa.table({each.name: columns[each.name] for each in LABEL_INDEX_DIFFS})


def _moments(times_ms: pa.Array) -> pa.Array:
    """Return times as a column of the tables has them: null where no calendar holds them, so that any tool reads it."""
    is_held = pc.and_(pc.greater_equal(times_ms, 0), pc.less_equal(times_ms, LAST_TIME_MS))
    held = pc.if_else(is_held, times_ms, pa.scalar(None, pa.int64()))
    return pc.multiply(held, 1000).cast(HISTORY.field("time").type)


def _trail(audit: bytes, operations: int) -> AuditTrail | None:
    trail = decode_audit(audit)
    return trail if trail is not None and len(trail.operations) == operations else None


def _of_each(trail: AuditTrail | None, operations: int) -> Sequence[Audit | None]:
    return [None] * operations if trail is None else trail.operations
