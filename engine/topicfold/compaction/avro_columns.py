"""Avro by the thousand: the shapes that nearly all payloads and audit trails have, read a column at a time.

Whatever has another shape (policies, partitions above 8,191, blocks that our writer never makes, damage) is left to
`log.payload` and `log.codec`, record by record; so both always say the same, and only the time differs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from topicfold.compaction.spans import Bytes, Numbers, Spans

_MORE = 0x80
_LONG_BYTES = 10


class Cursor:
    """Reads on in many data at once. `is_regular` falls where one is not of the expected shape."""

    def __init__(self, spans: Spans) -> None:
        self.data: Bytes = spans.data
        self.at = spans.starts.copy()
        self.ends = spans.starts + spans.lengths
        self.is_regular = np.ones(len(spans), dtype=bool)

    def number(self, rows: Numbers) -> Numbers:
        """Read a number of one or two bytes in each of these rows."""
        at = self.at[rows]
        first = self.data[at].astype(np.int64)
        value, is_long = first & 0x7F, first >= _MORE
        if is_long.any():
            second = self.data[at + 1].astype(np.int64)
            value = np.where(is_long, value | (second & 0x7F) << 7, value)
            self.is_regular[rows[is_long & (second >= _MORE)]] = False
        self._move(rows, at + 1 + is_long)
        return (value >> 1) ^ -(value & 1)

    def long(self) -> Numbers:
        """Read a number of any length in every row."""
        value = np.zeros(len(self.at), dtype=np.uint64)
        going = np.arange(len(self.at))
        for place in range(_LONG_BYTES):
            byte = self.data[self.at[going]]
            value[going] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * place)
            self._move(going, self.at[going] + 1)
            going = going[byte >= _MORE]
            if not len(going):
                break
        self.is_regular[going] = False
        return (value >> np.uint64(1)).astype(np.int64) ^ -(value & np.uint64(1)).astype(np.int64)

    def text(self, rows: Numbers) -> tuple[Numbers, Numbers]:
        """Read a text in each of these rows; return where they begin and how long they are."""
        lengths = self.number(rows)
        self.is_regular[rows[lengths < 0]] = False
        lengths = np.maximum(lengths, 0)
        starts = self.at[rows]
        self._move(rows, starts + lengths)
        return starts, lengths

    def nothing(self) -> None:
        """Read a zero in every row: null, or the end of a map or an array."""
        is_zero = self.data[self.at] == 0
        self.is_regular &= is_zero
        self._move(np.arange(len(self.at)), self.at + 1)

    def finish(self) -> None:
        """Have only those regular that were read to their end, exactly."""
        self.is_regular &= self.at == self.ends

    def entries(self, texts: int) -> tuple[Numbers, list[Spans]]:
        """Read a map or an array of `texts` texts an entry; return how many entries, and each text of all of them."""
        everyone = np.arange(len(self.at))
        counts = self.number(everyone)
        self.is_regular &= counts >= 0
        counts = np.where(self.is_regular, counts, 0)
        firsts = np.cumsum(counts) - counts
        total = int(counts.sum())
        starts, lengths = (np.zeros((texts, total), dtype=np.int64) for _ in range(2))
        rows, turn = everyone[counts > 0], 0
        while len(rows):
            for text in range(texts):
                found = self.text(rows)
                starts[text, firsts[rows] + turn], lengths[text, firsts[rows] + turn] = found
            turn += 1
            rows = rows[(counts[rows] > turn) & self.is_regular[rows]]
        closes = everyone[counts > 0]
        self.is_regular[closes[self.data[self.at[closes]] != 0]] = False
        self._move(closes, self.at[closes] + 1)
        # Of a row that turned out irregular half way, the rest was not read.
        return counts, [Spans(self.data, starts[text], lengths[text]) for text in range(texts)]

    def _move(self, rows: Numbers, at: Numbers) -> None:
        """Move on; beyond the end of its datum nothing is regular, and nothing is read further."""
        ends = self.ends[rows]
        beyond = at > ends
        if beyond.any():
            self.is_regular[rows[beyond]] = False
            at = np.minimum(at, ends)
        self.at[rows] = at


@dataclass(frozen=True, slots=True)
class Maps:
    """A map of texts in each row, as it stands; where `is_sorted` is false keys come twice or out of order."""

    counts: Numbers
    column: pa.MapArray
    is_sorted: np.ndarray


@dataclass(frozen=True, slots=True)
class PlainTopics:
    """Payloads of schema 1 without a Kafka name. Rows that are not `is_plain` say nothing."""

    is_plain: np.ndarray
    partitions: Numbers
    properties: pa.MapArray
    labels: pa.MapArray


def read_plain_topics(payloads: Spans) -> PlainTopics:
    """Return what stands in payloads, all of them of schema 1."""
    cursor = Cursor(payloads)
    partitions = cursor.number(np.arange(len(payloads)))
    cursor.is_regular &= partitions >= 0
    cursor.nothing()
    properties, labels = cursor.entries(2), cursor.entries(2)
    cursor.finish()
    columns = [_maps(*properties, cursor.is_regular), _maps(*labels, cursor.is_regular)]
    is_plain = cursor.is_regular.copy()
    for each in columns:
        is_plain &= each.is_sorted
    return PlainTopics(is_plain, partitions, columns[0].column, columns[1].column)


@dataclass(frozen=True, slots=True)
class PlainTrails:
    """Audit parts. Rows that are not `is_plain` say nothing; texts are by operation, `counts` of them in each row."""

    is_plain: np.ndarray
    counts: Numbers
    actors: pa.StringArray
    reasons: pa.StringArray
    request_ids: pa.StringArray
    times: Numbers
    previous_offsets: Numbers


def read_plain_trails(audits: Spans) -> PlainTrails:
    """Return what stands in audit parts."""
    cursor = Cursor(audits)
    counts, texts = cursor.entries(3)
    times, previous = cursor.long(), cursor.long()
    cursor.finish()
    actors, reasons, request_ids = (_strings(each) for each in texts)
    if actors is None or reasons is None or request_ids is None:
        cursor.is_regular[:] = False
        actors = reasons = request_ids = pa.nulls(int(counts.sum()), pa.string())
    return PlainTrails(cursor.is_regular, counts, actors, reasons, request_ids, times, previous)


def _maps(counts: Numbers, texts: list[Spans], is_regular: np.ndarray) -> Maps:
    keys, values = _strings(texts[0]), _strings(texts[1])
    if keys is None or values is None:
        nothing = pa.MapArray.from_arrays(pa.array(np.zeros(len(counts) + 1, np.int32)), [], [])
        return Maps(counts, nothing.cast(pa.map_(pa.string(), pa.string())), np.zeros(len(counts), dtype=bool))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    found = keys.dictionary_encode()
    words = found.dictionary.to_pylist()
    rank = np.empty(len(words), dtype=np.int64)
    rank[sorted(range(len(words)), key=words.__getitem__)] = np.arange(len(words))
    ranks = rank[found.indices.to_numpy(zero_copy_only=False)]
    rises = np.ones(len(ranks), dtype=bool)
    rises[1:] = ranks[1:] > ranks[:-1]
    rises[offsets[:-1][counts > 0]] = True
    is_sorted = np.ones(len(counts), dtype=bool)
    is_sorted[np.repeat(np.arange(len(counts)), counts)[~rises]] = False
    return Maps(counts, pa.MapArray.from_arrays(pa.array(offsets.astype(np.int32)), keys, values), is_sorted)


def _strings(spans: Spans) -> pa.StringArray | None:
    """Return the pieces as texts, None where one of them is not UTF-8."""
    try:
        return spans.cut().cast(pa.string())
    except pa.ArrowInvalid:
        return None
