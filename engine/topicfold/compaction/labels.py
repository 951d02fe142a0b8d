"""Labels in columns: of payloads, and how they differ from one record of a topic to the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from topicfold.compaction.avro_columns import read_plain_topics
from topicfold.compaction.spans import Numbers, Spans
from topicfold.log.payload import decode_indexed

Flags = npt.NDArray[np.bool_]


class LabelChanges(NamedTuple):
    """Labels that were added or removed: `row` says at which pair of records."""

    row: Numbers
    keys: pa.StringArray
    values: pa.StringArray
    is_added: Flags


@dataclass(frozen=True, slots=True)
class TopicColumns:
    """What stands in payloads of topics. `others` are the rows whose payload has to be read one by one.

    Of these only `labels` is filled here: null where the payload cannot be read.
    """

    labels: pa.MapArray
    properties: pa.MapArray
    partitions: Numbers
    others: Numbers


def read_topics(schemas: Numbers, payloads: Spans, is_live: Flags) -> TopicColumns:
    """Return what stands in payloads of topics; a dead one has nothing."""
    candidates = np.flatnonzero(is_live & (schemas == 1))
    plain = read_plain_topics(payloads.at(candidates))
    others = is_live.copy()
    others[candidates[plain.is_plain]] = False
    rest = np.flatnonzero(others)
    found = [decode_indexed(int(schemas[row]), payloads[row]) for row in rest.tolist()]
    read = maps([each and each.labels for each in found])
    # Dead topics take the last row, which is empty.
    places = np.full(len(payloads), len(candidates) + len(rest), dtype=np.int64)
    places[candidates] = np.arange(len(candidates))
    places[rest] = len(candidates) + np.arange(len(rest))
    partitions = np.zeros(len(payloads), dtype=np.int64)
    partitions[candidates] = plain.partitions
    nothing = maps([{}])
    return TopicColumns(
        pa.concat_arrays([plain.labels, read, nothing]).take(pa.array(places)),
        pa.concat_arrays([plain.properties, maps([{}] * len(rest)), nothing]).take(pa.array(places)),
        partitions,
        rest,
    )


def maps(rows: Iterable[Mapping[str, str] | None]) -> pa.MapArray:
    """Return mappings as a column, null for None."""
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


def label_changes(old: pa.MapArray, new: pa.MapArray) -> LabelChanges:
    """Return what differs between `old` and `new`, row by row; null counts as no labels.

    Cost: 0.1 µs a label where the keys stay the same, several times that where they do not.
    """
    old_row, old_keys, old_values = _entries(old)
    new_row, new_keys, new_values = _entries(new)
    keys, values = pa.concat_arrays([old_keys, new_keys]), pa.concat_arrays([old_values, new_values])
    row = np.concatenate([old_row, new_row])
    is_new = np.arange(len(row)) >= len(old_row)
    key_codes, value_codes = _codes(keys), _codes(values)
    same_keys = _rows_with_same_keys(len(old), old_row, new_row, key_codes)
    old_places, new_places = np.flatnonzero(same_keys[row] & ~is_new), np.flatnonzero(same_keys[row] & is_new)
    differs = value_codes[old_places] != value_codes[new_places]
    rest = np.flatnonzero(~same_keys[row])
    moved = rest[_only_once(row[rest], key_codes[rest], value_codes[rest], is_new[rest])]
    places = np.sort(np.concatenate([old_places[differs], new_places[differs], moved]))
    return LabelChanges(row[places], keys.take(pa.array(places)), values.take(pa.array(places)), is_new[places])


def _rows_with_same_keys(count: int, old_row: Numbers, new_row: Numbers, codes: Numbers) -> Flags:
    """Return in which rows old and new labels have the same keys, in the same order."""
    old_counts, new_counts = np.bincount(old_row, minlength=count), np.bincount(new_row, minlength=count)
    same: Flags = old_counts == new_counts
    old_codes, new_codes = codes[: len(old_row)][same[old_row]], codes[len(old_row) :][same[new_row]]
    same[old_row[same[old_row]][old_codes != new_codes]] = False
    return same


def _only_once(row: Numbers, keys: Numbers, values: Numbers, is_new: Flags) -> Flags:
    """Return which entries stand only among the old labels of their row, or only among the new ones."""
    _, pairs = np.unique(keys * (values.max(initial=0) + 1) + values, return_inverse=True)
    entries = row * (pairs.max(initial=0) + 1) + pairs
    before, after = entries[~is_new], entries[is_new]
    once = np.empty(len(entries), dtype=bool)
    once[~is_new] = ~np.isin(before, after, assume_unique=True)
    once[is_new] = ~np.isin(after, before, assume_unique=True)
    return once


def _entries(labels: pa.MapArray) -> tuple[Numbers, pa.StringArray, pa.StringArray]:
    """Return the row, key and value of every label."""
    offsets = labels.offsets.to_numpy().astype(np.int64)
    lengths = np.where(labels.is_valid().to_numpy(zero_copy_only=False), np.diff(offsets), 0)
    row = np.repeat(np.arange(len(labels)), lengths)
    within = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    places = pa.array(offsets[:-1][row] + within)
    return row, labels.keys.take(places), labels.items.take(places)


def _codes(texts: pa.StringArray) -> Numbers:
    codes: Numbers = texts.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes
