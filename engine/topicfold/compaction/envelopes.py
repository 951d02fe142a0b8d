"""Envelopes by the thousand: what `log.codec` takes apart one by one, a column at a time.

Must say the same of every record, garbage too: `tests/compaction/test_envelopes.py` holds one against the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import google_crc32c
import numpy as np
import pyarrow as pa

from topicfold.compaction.spans import Bytes, Numbers, Spans, spans_of
from topicfold.compaction.texts import texts_of
from topicfold.log.codec import MAGIC, decode_operations
from topicfold.model.events import Event

_HEAD = 77
"""Bytes before the name: magic, checksum and the fixed fields."""
_OPERATION = 25
_LEVEL, _KIND, _FLAGS, _EVENT_ID, _AGGREGATE, _BASE, _NAMESPACE_ID, _SCHEMA, _NAME, _OPERATIONS, _PAYLOAD, _AUDIT = (
    8, 10, 11, 12, 28, 31, 47, 63, 65, 67, 69, 73,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Envelopes:
    """Records taken apart; ids are rows of 16 bytes."""

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

    def event(self, row: int) -> Event:
        """Return one record as the engine has it."""
        return Event(
            int(self.levels[row]), int(self.kinds[row]), int(self.flags[row]), self.event_ids[row].tobytes(),
            int(self.aggregate_kinds[row]), self.names[row].as_py(), 0, self.bases[row].tobytes(),
            self.namespace_ids[row].tobytes(), decode_operations(self.operations[row]),
            int(self.payload_schemas[row]), self.payloads[row], self.audits[row],
        )  # fmt: skip


def take_apart(values: pa.BinaryArray) -> tuple[Numbers, Envelopes]:
    """Return the places in `values` of what is no garbage, and its envelopes.

    Cost: about 1 µs a record, half of it the checksum.

    Raises:
        TooLarge: they have more than 2 GB.
    """
    count = len(values)
    _, ends_buffer, data_buffer = values.buffers()
    bounds = np.frombuffer(ends_buffer, dtype=np.int32, count=values.offset + count + 1)[values.offset :].astype(
        np.int64
    )
    raw = np.frombuffer(data_buffer, dtype=np.uint8) if data_buffer is not None else np.zeros(0, np.uint8)
    starts, lengths = bounds[:-1], np.diff(bounds)
    rows = np.flatnonzero(lengths >= _HEAD)
    pieces = spans_of(raw, starts[rows], lengths[rows])
    head = pieces.windows(_HEAD)
    ends = starts[rows] + lengths[rows]
    names_at = starts[rows] + _HEAD
    operations_at = names_at + _number(head, _NAME, 2)
    payloads_at = operations_at + _number(head, _OPERATIONS, 2) * _OPERATION
    audits_at = payloads_at + _number(head, _PAYLOAD, 4)
    good = (head[:, :4] == np.frombuffer(MAGIC, np.uint8)).all(axis=1)
    good &= audits_at + _number(head, _AUDIT, 4) == ends
    check, content, sums = google_crc32c.value, raw.tobytes(), _number(head, 4, 4).tolist()
    froms, tos = (starts[rows] + 8).tolist(), ends.tolist()
    for row in np.flatnonzero(good).tolist():
        if check(content[froms[row] : tos[row]]) != sums[row]:
            good[row] = False
    names, is_text = texts_of(Spans(pieces.data, names_at, operations_at - names_at).at(good).cut())
    if not is_text.all():
        names = names.filter(pa.array(is_text))
        good[np.flatnonzero(good)[~is_text]] = False
    head, cuts = head[good], [each[good] for each in (operations_at, payloads_at, audits_at, ends)]
    return rows[good], Envelopes(
        _number(head, _LEVEL, 2),
        _number(head, _KIND, 1),
        _number(head, _FLAGS, 1),
        _number(head, _AGGREGATE, 1),
        head[:, _EVENT_ID : _EVENT_ID + 16],
        head[:, _BASE : _BASE + 16],
        head[:, _NAMESPACE_ID : _NAMESPACE_ID + 16],
        _number(head, _SCHEMA, 2),
        names,
        *(Spans(pieces.data, cuts[part], cuts[part + 1] - cuts[part]) for part in range(3)),
    )


def _number(head: Bytes, at: int, width: int) -> Numbers:
    """Return the big-endian numbers of `width` bytes at one place of every head."""
    total = np.zeros(len(head), dtype=np.int64)
    for place in range(at, at + width):
        total = (total << 8) | head[:, place]
    return total
