"""Envelopes in bulk: parses a column at a time what `log.codec` parses one by one.

Both must give the same result for every record, garbage included:
`tests/compaction/folding/test_envelopes.py` compares them.
"""

from __future__ import annotations

from dataclasses import dataclass

import google_crc32c
import numpy as np
import pyarrow as pa

from topicfold.compaction.folding.spans import Bytes, Numbers, Spans, spans_of_column
from topicfold.compaction.folding.texts import texts_of
from topicfold.log.codec import MAGIC, decode_operations
from topicfold.model.events import Event

_HEAD = np.dtype(
    [
        ("magic", f"S{len(MAGIC)}"), ("checksum", ">u4"), ("level", ">u2"), ("kind", "u1"), ("flags", "u1"),
        ("event_id", "u1", 16), ("aggregate", "u1"), ("partitions", ">u2"), ("base", "u1", 16),
        ("namespace_id", "u1", 16), ("schema", ">u2"), ("name", ">u2"), ("operations", ">u2"), ("payload", ">u4"),
        ("audit", ">u4"),
    ]
)  # fmt: skip
"""What comes before the name. The last four are lengths; that of `operations` counts pieces of `OPERATION_BYTES`."""
_CHECKED = 8
"""Where the checksummed part begins: with `level`."""
OPERATION_BYTES = 25


@dataclass(frozen=True, slots=True)
class Envelopes:
    """Parsed records, in columns; ids are rows of 16 bytes."""

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
        """Return one record as an `Event`."""
        return Event(
            int(self.levels[row]), int(self.kinds[row]), int(self.flags[row]), self.event_ids[row].tobytes(),
            int(self.aggregate_kinds[row]), self.names[row].as_py(), 0, self.bases[row].tobytes(),
            self.namespace_ids[row].tobytes(), decode_operations(self.operations[row]),
            int(self.payload_schemas[row]), self.payloads[row], self.audits[row],
        )  # fmt: skip


def take_apart(values: pa.BinaryArray) -> tuple[Numbers, Envelopes]:
    """Return the places of those `values` that are not garbage, and their envelopes.

    Cost: about 1 µs a record, half of it for the checksum.

    Raises:
        TooLarge: the values have more than 2 GB in all.
    """
    whole = spans_of_column(values)
    rows = np.flatnonzero(whole.lengths >= _HEAD.itemsize)
    pieces = whole.at(rows)
    head = pieces.windows(_HEAD.itemsize).view(_HEAD)[:, 0]
    ends = pieces.starts + pieces.lengths
    names_at = pieces.starts + _HEAD.itemsize
    operations_at = names_at + head["name"]
    payloads_at = operations_at + head["operations"].astype(np.int64) * OPERATION_BYTES
    audits_at = payloads_at + head["payload"]
    check, content = google_crc32c.value, pieces.data.tobytes()
    froms, tos = (pieces.starts + _CHECKED).tolist(), ends.tolist()
    sums = np.array([check(content[first:end]) for first, end in zip(froms, tos, strict=True)], dtype=np.uint32)
    good = (head["magic"] == MAGIC) & (audits_at + head["audit"] == ends) & (sums == head["checksum"])
    names, is_text = texts_of(Spans(pieces.data, names_at, operations_at - names_at).at(good).cut())
    if not is_text.all():
        names = names.filter(pa.array(is_text))
        good[np.flatnonzero(good)[~is_text]] = False
    head, cuts = head[good], [each[good] for each in (operations_at, payloads_at, audits_at, ends)]
    return rows[good], Envelopes(
        head["level"].astype(np.int64),
        head["kind"].astype(np.int64),
        head["flags"].astype(np.int64),
        head["aggregate"].astype(np.int64),
        head["event_id"],
        head["base"],
        head["namespace_id"],
        head["schema"].astype(np.int64),
        names,
        *(Spans(pieces.data, cuts[part], cuts[part + 1] - cuts[part]) for part in range(3)),
    )
