"""Avro in bulk: payloads and audit trails of the common shapes, read a column at a time.

Anything of another shape (policies, partitions above 8,191, blocks that our writer never makes, damage) is left to
`log.payload` and `log.codec`, record by record. Both ways give the same result; only the speed differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from topicfold.compaction.folding.spans import Bytes, Flags, Numbers, Spans, different
from topicfold.compaction.folding.texts import texts_of

_MORE = 0x80
_LONG_BYTES = 10


class Cursor:
    """Reads many Avro values in parallel, one per row. `is_regular` turns false where one has an unexpected shape."""

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
        """Keep a row regular only if it was read exactly to its end."""
        self.is_regular &= self.at == self.ends

    def entries(self, texts: int) -> tuple[Numbers, list[Spans]]:
        """Read a map or an array whose entries consist of `texts` texts each.

        Returns how many entries each row has; and, for each of the `texts` places, that text of all entries.
        """
        counts, firsts, total = self._counts()
        starts, lengths = (np.zeros((texts, total), dtype=np.int64) for _ in range(2))
        for turn, rows in self._turns(counts):
            for text in range(texts):
                found = self.text(rows)
                starts[text, firsts[rows] + turn], lengths[text, firsts[rows] + turn] = found
        return counts, [Spans(self.data, starts[text], lengths[text]) for text in range(texts)]

    def pairs(self) -> tuple[Numbers, Spans]:
        """Read a map of texts; return how many entries each row has, and all entries as raw bytes.

        The bytes of an entry are its key and value, each with its length before it.
        """
        counts, firsts, total = self._counts()
        starts, lengths = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
        for turn, rows in self._turns(counts):
            places, since = firsts[rows] + turn, self.at[rows]
            self.text(rows)
            self.text(rows)
            starts[places], lengths[places] = since, self.at[rows] - since
        return counts, Spans(self.data, starts, lengths)

    def _counts(self) -> tuple[Numbers, Numbers, int]:
        """Read how many entries follow in each row; return the counts, where each row's entries begin, and the total.

        A count above the number of bytes left counts as 0, and its row as irregular: no memory is allocated for it.
        """
        counts = self.number(np.arange(len(self.at)))
        self.is_regular &= (counts >= 0) & (counts <= self.ends - self.at)
        counts = np.where(self.is_regular, counts, 0)
        return counts, np.cumsum(counts) - counts, int(counts.sum())

    def _turns(self, counts: Numbers) -> Iterator[tuple[int, Numbers]]:
        """Yield the rows that have a first entry, a second one, and so on; then read what closes the entries.

        The rest of a row that turns out to be irregular is not read.
        """
        has_some = np.flatnonzero(counts > 0)
        rows, turn = has_some, 0
        while len(rows):
            yield turn, rows
            turn += 1
            rows = rows[(counts[rows] > turn) & self.is_regular[rows]]
        self.is_regular[has_some[self.data[self.at[has_some]] != 0]] = False
        self._move(has_some, self.at[has_some] + 1)

    def _move(self, rows: Numbers, at: Numbers) -> None:
        """Move these rows on to `at`; a row that would pass its end becomes irregular and stays at the end."""
        ends = self.ends[rows]
        beyond = at > ends
        if beyond.any():
            self.is_regular[rows[beyond]] = False
            at = np.minimum(at, ends)
        self.at[rows] = at


@dataclass(frozen=True, slots=True)
class Pairs:
    """A map of texts in each row: how many entries it has, and for each entry the indices of its key and value.

    Where `is_plain` is false, keys are repeated or out of order, or some bytes are not UTF-8.
    """

    counts: Numbers
    key: Numbers
    value: Numbers
    keys: pa.StringArray
    values: pa.StringArray
    is_plain: Flags

    def column(self) -> pa.MapArray:
        """Return the maps as a column."""
        ends = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int32)
        keys, values = self.keys.take(pa.array(self.key)), self.values.take(pa.array(self.value))
        return pa.MapArray.from_arrays(pa.array(ends), keys, values)


@dataclass(frozen=True, slots=True)
class PlainTopics:
    """Payloads of schema 1 without a Kafka name. Rows where `is_plain` is false have no meaning."""

    is_plain: Flags
    partitions: Numbers
    properties: Pairs
    labels: Pairs


def read_plain_topics(payloads: Spans) -> PlainTopics:
    """Return the content of payloads that all have schema 1."""
    cursor = Cursor(payloads)
    partitions = cursor.number(np.arange(len(payloads)))
    cursor.is_regular &= partitions >= 0
    cursor.nothing()
    read = cursor.pairs(), cursor.pairs()
    cursor.finish()
    properties, labels = (_pairs(counts, entries) for counts, entries in read)
    is_plain = cursor.is_regular & properties.is_plain & labels.is_plain
    return PlainTopics(is_plain, partitions, properties, labels)


@dataclass(frozen=True, slots=True)
class PlainTrails:
    """Audit parts. Rows where `is_plain` is false have no meaning. Texts are by operation, `counts` of them a row."""

    is_plain: Flags
    counts: Numbers
    actors: pa.StringArray
    reasons: pa.StringArray
    request_ids: pa.StringArray
    times: Numbers
    previous_offsets: Numbers


def read_plain_trails(audits: Spans) -> PlainTrails:
    """Return the content of audit parts."""
    cursor = Cursor(audits)
    counts, texts = cursor.entries(3)
    times, previous = cursor.long(), cursor.long()
    cursor.finish()
    actors, reasons, request_ids = (_strings(each) for each in texts)
    if actors is None or reasons is None or request_ids is None:
        cursor.is_regular[:] = False
        actors = reasons = request_ids = pa.nulls(int(counts.sum()), pa.string())
    return PlainTrails(cursor.is_regular, counts, actors, reasons, request_ids, times, previous)


def _pairs(counts: Numbers, entries: Spans) -> Pairs:
    """Return the maps with these entries. Entries repeat, so each distinct one is examined once."""
    entry, found = different(entries)
    cursor = Cursor(found)
    everyone = np.arange(len(found))
    texts = [Spans(found.data, *cursor.text(everyone)).cut() for _ in range(2)]
    (keys, keys_are_text), (values, values_are_text) = (texts_of(each) for each in texts)
    key, value = (each.dictionary_encode() for each in (keys, values))
    words = key.dictionary.to_pylist()
    rank = np.empty(len(words), dtype=np.int64)
    rank[sorted(range(len(words)), key=words.__getitem__)] = np.arange(len(words))
    of_key, of_value = (each.indices.to_numpy(zero_copy_only=False).astype(np.int64) for each in (key, value))
    ranks = rank[of_key][entry]
    is_good = (keys_are_text & values_are_text)[entry]
    firsts = np.zeros(len(entry), dtype=bool)
    firsts[(np.cumsum(counts) - counts)[counts > 0]] = True
    is_good[1:] &= (ranks[1:] > ranks[:-1]) | firsts[1:]
    is_plain = np.ones(len(counts), dtype=bool)
    is_plain[np.repeat(np.arange(len(counts)), counts)[~is_good]] = False
    return Pairs(counts, of_key[entry], of_value[entry], key.dictionary, value.dictionary, is_plain)


def _strings(spans: Spans) -> pa.StringArray | None:
    """Return the pieces as texts, or None if any of them is not UTF-8."""
    try:
        return spans.cut().cast(pa.string())
    except pa.ArrowInvalid:
        return None
