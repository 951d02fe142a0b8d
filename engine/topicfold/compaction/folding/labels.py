"""Labels in columns: as read from payloads, and how they differ from one record of a topic to the next.

Keys and values are indices into lists of words: most labels occur many times, and numbers compare fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from topicfold.compaction.folding.avro_columns import Pairs, read_plain_topics
from topicfold.compaction.folding.spans import Flags, Numbers, Spans, codes_of
from topicfold.log.payload import decode_indexed
from topicfold.snapshot.tables import LABELS

_VALUE_BITS = 32
_VALUE = (1 << _VALUE_BITS) - 1


class Words(NamedTuple):
    """The distinct keys and values of some labels."""

    keys: pa.StringArray
    values: pa.StringArray


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of some records: record n has the labels from `offsets[n]` up to `offsets[n + 1]`.

    A label is one number: the index of its key in `words`, and in the lower 32 bits that of its value. Where
    `is_known` is false, the record cannot be read, or there is none.
    """

    offsets: Numbers
    pairs: Numbers
    is_known: Flags
    words: Words

    def __len__(self) -> int:
        return len(self.is_known)

    @property
    def row(self) -> Numbers:
        """The record that each label belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def take(self, places: Numbers) -> Labels:
        """Return the labels of the records at `places`, where −1 stands for no record."""
        is_there = places >= 0
        firsts = self.offsets[places]
        counts = np.where(is_there, self.offsets[places + 1] - firsts, 0)
        offsets = _offsets(counts)
        pairs = self.pairs[np.repeat(firsts - offsets[:-1], counts) + np.arange(offsets[-1])]
        is_known = is_there if self.is_known.all() else is_there & np.append(self.is_known, False)[places]
        return Labels(offsets, pairs, is_known, self.words)

    def slice(self, start: int, end: int) -> Labels:
        """Return the labels of a range of records."""
        first, last = int(self.offsets[start]), int(self.offsets[end])
        offsets = self.offsets[start : end + 1] - first
        return Labels(offsets, self.pairs[first:last], self.is_known[start:end], self.words)

    def column(self) -> pa.MapArray:
        """Return them as a column with dictionaries of texts, like Parquet's; null where they are unknown."""
        ends = pa.array(self.offsets.astype(np.int32))
        if not self.is_known.all():
            ends = pa.array(self.offsets.astype(np.int32), mask=np.append(~self.is_known, False))
        return pa.MapArray.from_arrays(ends, key_column(self.pairs, self.words), value_column(self.pairs, self.words))

    def plain_column(self) -> pa.MapArray:
        """Return them as a column of plain texts, as in the tables; null where they are unknown."""
        return self.column().cast(LABELS)


def key_column(pairs: Numbers, words: Words) -> pa.DictionaryArray:
    """Return the keys of labels."""
    return pa.DictionaryArray.from_arrays(pa.array((pairs >> _VALUE_BITS).astype(np.int32)), words.keys)


def value_column(pairs: Numbers, words: Words) -> pa.DictionaryArray:
    """Return the values of labels."""
    return pa.DictionaryArray.from_arrays(pa.array((pairs & _VALUE).astype(np.int32)), words.values)


def joined_labels(parts: Sequence[Labels]) -> Labels:
    """Return the labels of all records of `parts`, with one common list of words."""
    keys, of_keys = _united([each.words.keys for each in parts])
    values, of_values = _united([each.words.values for each in parts])
    pairs = [
        of_keys[n][each.pairs >> _VALUE_BITS] << _VALUE_BITS | of_values[n][each.pairs & _VALUE]
        for n, each in enumerate(parts)
    ]
    counts = np.concatenate([np.diff(each.offsets) for each in parts])
    is_known = np.concatenate([each.is_known for each in parts])
    return Labels(_offsets(counts), np.concatenate(pairs), is_known, Words(keys, values))


def no_labels(records: int) -> Labels:
    """Return unknown labels for this many missing records."""
    words = Words(pa.array([], pa.string()), pa.array([], pa.string()))
    zeros = np.zeros(records + 1, dtype=np.int64)
    return Labels(zeros, zeros[:0], np.zeros(records, dtype=bool), words)


def labels_of_pairs(maps: Pairs) -> Labels:
    """Return the labels that were read from payloads."""
    pairs = maps.key << _VALUE_BITS | maps.value
    is_known = np.ones(len(maps.counts), dtype=bool)
    return Labels(_offsets(maps.counts), pairs, is_known, Words(maps.keys, maps.values))


def labels_of_column(column: pa.MapArray) -> Labels:
    """Return the labels in a column of the tables."""
    firsts = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    is_known = column.is_valid().to_numpy(zero_copy_only=False)
    counts = np.where(is_known, np.diff(firsts), 0)
    offsets = _offsets(counts)
    places = pa.array(np.repeat(firsts[:-1] - offsets[:-1], counts) + np.arange(offsets[-1]))
    keys, values = (each.take(places).dictionary_encode() for each in (column.keys, column.items))
    pairs = codes_of(keys) << _VALUE_BITS | codes_of(values)
    return Labels(offsets, pairs, is_known, Words(keys.dictionary, values.dictionary))


@dataclass(frozen=True, slots=True)
class TopicColumns:
    """The content of topics' payloads. `others` are the rows whose payloads have to be decoded one by one.

    For these, only `labels` is filled in here; they are unknown where the payload cannot be read.
    """

    labels: Labels
    properties: pa.MapArray
    partitions: Numbers
    others: Numbers


def read_topics(schemas: Numbers, payloads: Spans, is_live: Flags) -> TopicColumns:
    """Return the content of topics' payloads; a deleted topic has none."""
    candidates = np.flatnonzero(is_live & (schemas == 1))
    is_all = len(candidates) == len(payloads)
    plain = read_plain_topics(payloads if is_all else payloads.at(candidates))
    if is_all and plain.is_plain.all():
        labels, properties = labels_of_pairs(plain.labels), plain.properties.column()
        return TopicColumns(labels, properties, plain.partitions, np.zeros(0, np.int64))
    others = is_live.copy()
    others[candidates[plain.is_plain]] = False
    rest = np.flatnonzero(others)
    found = [decode_indexed(int(schemas[row]), payloads[row]) for row in rest.tolist()]
    # Deleted topics take the last row, which is empty.
    places = np.full(len(payloads), len(candidates) + len(rest), dtype=np.int64)
    places[candidates] = np.arange(len(candidates))
    places[rest] = len(candidates) + np.arange(len(rest))
    partitions = np.zeros(len(payloads), dtype=np.int64)
    partitions[candidates] = plain.partitions
    read = labels_of_column(maps([*(each and each.labels for each in found), {}]))
    properties = pa.concat_arrays([plain.properties.column(), maps([{}] * (len(rest) + 1))])
    return TopicColumns(
        joined_labels([labels_of_pairs(plain.labels), read]).take(places),
        properties.take(pa.array(places)),
        partitions,
        rest,
    )


def maps(rows: Iterable[Mapping[str, str] | None]) -> pa.MapArray:
    """Return mappings as a column, with null for None."""
    keys: list[str] = []
    values: list[str] = []
    ends: list[int | None] = []
    for row in rows:
        ends.append(None if row is None else len(keys))
        if row:
            keys.extend(row)
            values.extend(row.values())
    ends.append(len(keys))
    return pa.MapArray.from_arrays(
        pa.array(ends, pa.int32()), pa.array(keys, pa.string()), pa.array(values, pa.string())
    )


class LabelChanges(NamedTuple):
    """Labels that were added or removed; `row` is the index of the pair of records."""

    row: Numbers
    pairs: Numbers
    is_added: Flags


def label_changes(old: Labels, new: Labels) -> LabelChanges:
    """Return how `new` differs from `old`, row by row; unknown labels count as none.

    If both hold labels, they must have the same lists of words.

    Cost: 0.02 µs a label where the keys stay the same, several times that where they do not.
    """
    old_row, new_row = old.row, new.row
    row, pairs = np.concatenate([old_row, new_row]), np.concatenate([old.pairs, new.pairs])
    is_new = np.arange(len(row)) >= len(old_row)
    same_keys = _rows_with_same_keys(old, new, old_row, new_row)
    old_places = np.flatnonzero(same_keys[old_row])
    new_places = np.flatnonzero(same_keys[new_row]) + len(old_row)
    differs = pairs[old_places] != pairs[new_places]
    rest = np.flatnonzero(~same_keys[row])
    moved = rest[_only_once(row[rest], pairs[rest], is_new[rest])]
    places = np.sort(np.concatenate([old_places[differs], new_places[differs], moved]))
    return LabelChanges(row[places], pairs[places], is_new[places])


def _rows_with_same_keys(old: Labels, new: Labels, old_row: Numbers, new_row: Numbers) -> Flags:
    """Return in which rows old and new labels have the same keys, in the same order."""
    same: Flags = np.diff(old.offsets) == np.diff(new.offsets)
    old_places, new_places = same[old_row], same[new_row]
    differs = old.pairs[old_places] >> _VALUE_BITS != new.pairs[new_places] >> _VALUE_BITS
    same[old_row[old_places][differs]] = False
    return same


def _only_once(row: Numbers, pairs: Numbers, is_new: Flags) -> Flags:
    """Return which entries are only among the old labels of their row, or only among the new ones."""
    _, numbers = np.unique(pairs, return_inverse=True)
    entries = row * (numbers.max(initial=0) + 1) + numbers
    before, after = entries[~is_new], entries[is_new]
    once = np.empty(len(entries), dtype=bool)
    once[~is_new] = ~np.isin(before, after, assume_unique=True)
    once[is_new] = ~np.isin(after, before, assume_unique=True)
    return once


def _united(parts: Sequence[pa.StringArray]) -> tuple[pa.StringArray, list[Numbers]]:
    """Return the distinct words of all `parts`, and for each part the indices of its words among them."""
    encoded = pa.concat_arrays([pa.array([], pa.string()), *parts]).dictionary_encode()
    ends = np.cumsum([len(each) for each in parts])
    return encoded.dictionary, np.split(codes_of(encoded), ends[:-1])


def _offsets(counts: Numbers) -> Numbers:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
