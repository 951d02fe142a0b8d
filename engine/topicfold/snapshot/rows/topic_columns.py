"""Converts rows of topics to the columns of topic tables: builds postings by sorting, never topic by topic."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from topicfold.model.finding.pattern import MAX_SEGMENTS
from topicfold.snapshot.rows.groups import grouped, ranked
from topicfold.snapshot.rows.topic_rows import PACKED, Flags, Numbers, TopicRows, are_system_topics
from topicfold.state.columns import ROW, Columns
from topicfold.state.indexes.label_index import LabelIndex
from topicfold.state.indexes.postings import Postings
from topicfold.state.pieces import Pieces
from topicfold.state.topic_table import FOREIGN


class Owned(NamedTuple):
    """The topics of one namespace."""

    partition: int
    namespace: str
    columns: Columns


def columns_of(rows: TopicRows, separator: str) -> Iterator[Owned]:
    """Yield the chosen topics of each namespace.

    Cost: 1 µs a topic with five labels.
    """
    assert PACKED.itemsize == ROW.size  # noqa: S101 -- otherwise nothing that is built here could be read
    if not len(rows.chosen):
        return
    places = _places_of(rows)
    with ThreadPoolExecutor(2) as pool:
        # Sorting labels hardly needs the interpreter, while creating objects needs nothing else.
        sorting = pool.submit(_Labels, rows, places, pool)
        names = _Names(rows, places, separator)
        in_order = _InOrder(rows)
        starts = places.starts.tolist()
        parts = [slice(*each) for each in pairwise([*starts, len(rows.chosen)])]
        made = [in_order.columns(part) for part in parts]
        labels = sorting.result()
    for place, part in enumerate(parts):
        columns = Columns(
            **made[place],
            non_persistent=_bitmap(names.is_foreign[rows.chosen[part]]),
            labels=labels.of_chosen.part(part),
            label_index=labels.index(place),
            by_length=names.by_length(place),
            places=names.places(place),
        )
        first = rows.chosen[part.start]
        yield Owned(int(rows.partitions[first]), rows.namespaces.values[rows.namespaces.codes[first]], columns)


def newest_row(columns: Columns) -> tuple[int, bytes]:
    """Return offset and version of the topic that changed last; there must be a topic. Cost: 10 ns a topic."""
    rows = np.frombuffer(columns.rows, PACKED)
    newest = rows[int(rows["offset"].argmax())]
    return int(newest["offset"]), newest["version"].tobytes()


class _InOrder:
    """The parts of `Columns` that are taken straight from the rows: for all chosen rows, in their order."""

    def __init__(self, rows: TopicRows) -> None:
        chosen = rows.chosen
        self._keys = _objects(rows.keys, chosen)
        self._payloads = _pieces(rows.payloads, rows.payload_ends, chosen)
        self._chosen, self._packed = chosen, rows.packed
        self._is_live = rows.is_live[chosen]
        self._is_system = are_system_topics(rows.keys)[chosen]
        self._is_special = rows.is_special[chosen]
        self._partition_counts = rows.partition_counts[chosen]
        self._named = np.flatnonzero(rows.kafka_names.is_valid().to_numpy(zero_copy_only=False)[chosen])
        self._kafka_names = _objects(rows.kafka_names, chosen[self._named])

    def columns(self, part: slice) -> dict[str, Any]:
        """Return these parts for the topics at these places."""
        named = slice(*np.searchsorted(self._named, (part.start, part.stop)).tolist())
        numbers = (self._named[named] - part.start).tolist()
        packed = bytearray((part.stop - part.start) * PACKED.itemsize)
        rows = np.frombuffer(packed, PACKED)
        # Take them straight into their final place: allocating memory for all topics at once costs more than the take.
        # No number is out of bounds; mode "clip" keeps numpy from checking that by way of a copy.
        self._packed.take(self._chosen[part], out=rows, mode="clip")
        keys = self._keys[part].tolist()
        return {
            "keys": keys,
            "numbers": dict(zip(keys, range(len(keys)), strict=True)),
            "rows": packed,
            "payloads": self._payloads.part(part),
            "live": _bitmap(self._is_live[part]),
            "system": _bitmap(self._is_system[part]),
            "partitions": _found(self._partition_counts[part], self._partition_counts[part] > 0),
            "kafka_names": dict(zip(numbers, self._kafka_names[named].tolist(), strict=True)),
            "decoded": np.flatnonzero(self._is_special[part]).tolist(),
            "digest_sum": _sum(rows["hash"]),
        }


class _Places(NamedTuple):
    """Where each row's topic will be: `of` is the place of its namespace among all, −1 for rows that do not count.

    `numbers` are the topics' numbers in their namespaces; `starts` is where each namespace begins among the chosen
    rows.
    """

    of: Numbers
    numbers: npt.NDArray[np.uint32]
    starts: Numbers


def _places_of(rows: TopicRows) -> _Places:
    codes = rows.namespaces.codes[rows.chosen]
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])) if len(codes) else np.zeros(0, np.int64)
    lengths = np.diff(np.append(starts, len(codes)))
    of, numbers = np.full(len(rows), -1), np.zeros(len(rows), np.uint32)
    of[rows.chosen] = np.repeat(np.arange(len(starts)), lengths)
    numbers[rows.chosen] = np.arange(len(codes)) - np.repeat(starts, lengths)
    return _Places(of, numbers, starts)


class _Labels:
    """The label indexes of all namespaces, which are numbered in the order of the chosen rows.

    `of_chosen` has, for each chosen topic, the numbers of its pairs of key and value.
    """

    def __init__(self, rows: TopicRows, places: _Places, pool: Executor) -> None:
        """Sort labels; in parallel, in `pool`, the topics of each key."""
        self._keys, self._values = rows.label_keys.values, rows.label_values.values
        width, values = self._width = max(len(self._keys), 1), max(len(self._values), 1)
        counts, key, value = rows.counts, rows.label_keys.codes, rows.label_values.codes
        if len(rows.chosen) < len(rows):
            kept = np.repeat(places.of >= 0, counts)
            counts, key, value = np.where(places.of >= 0, counts, 0), key[kept], value[kept]
        # 32 bits where they suffice: half the memory to go through.
        of = places.of.astype(np.int32 if len(places.starts) * width * values < 1 << 31 else np.int64)
        key = key + np.repeat(of * width, counts)
        topics = np.repeat(places.numbers, counts)
        self._by_key = pool.submit(lambda: grouped(*ranked(key), topics))
        pair, codes = ranked(key * values + value)
        self._pairs = grouped(pair, codes, topics)
        firsts = np.append(np.searchsorted(codes, np.arange(len(places.starts)) * (width * values)), 0)
        own = (pair - np.repeat(firsts.astype(pair.dtype)[places.of], counts)).astype(np.uint32, copy=False)
        ends = np.append(0, np.cumsum(counts * own.itemsize))
        self.of_chosen = _pieces(own.view(np.uint8).data, ends, rows.chosen)

    def index(self, place: int) -> LabelIndex:
        """Return the index of the namespace at `place`."""
        width, values = self._width
        pairs, having = self._pairs.between(place * width * values, (place + 1) * width * values)
        key, value = np.divmod(pairs - place * width * values, values)
        texts = zip(_texts(self._keys, key), _texts(self._values, value), strict=True)
        keys, with_any = self._by_key.result().between(place * width, (place + 1) * width)
        unions = zip(_texts(self._keys, keys - place * width), map(Postings.of, with_any), strict=True)
        return LabelIndex.of(list(texts), list(map(Postings.of, having)), dict(unions))


class _Names:
    """The content of the name indexes of all namespaces: live topics by number of segments, and by segment."""

    def __init__(self, rows: TopicRows, places: _Places, separator: str) -> None:
        of, numbers, is_live = places.of, places.numbers, rows.is_live & (places.of >= 0)
        self.is_foreign: Flags = pc.starts_with(rows.keys, FOREIGN).to_numpy(zero_copy_only=False)
        local = pc.replace_substring(rows.keys, FOREIGN, "") if self.is_foreign.any() else rows.keys
        parted = pc.match_substring(local, separator).to_numpy(zero_copy_only=False) & is_live
        split = pc.split_pattern(local.filter(pa.array(parted)), separator)
        segments, counts = split.flatten(), np.diff(split.offsets.to_numpy())
        topic = np.repeat(np.flatnonzero(parted), counts)
        position = np.arange(len(topic)) - np.repeat(np.cumsum(counts) - counts, counts)
        is_empty = pc.equal(segments, "").to_numpy(zero_copy_only=False)
        is_out = np.zeros(len(rows), dtype=bool)
        is_out[topic[is_empty]] = True
        lengths = np.ones(len(rows), dtype=np.int64)
        lengths[np.flatnonzero(parted)] = counts
        found = np.flatnonzero(is_live & ~is_out)
        self._longest = int(lengths.max(initial=1)) + 1
        by_length, kinds = ranked(of[found] * self._longest + lengths[found])
        self._by_length = grouped(by_length, kinds, numbers[found])
        texts = segments.dictionary_encode()
        self._texts = texts.dictionary.to_pylist()
        kept = ~is_out[topic] & (position < MAX_SEGMENTS)
        code = texts.indices.to_numpy(zero_copy_only=False).astype(np.int64)[kept]
        self._width = max(len(self._texts), 1)
        of_place = (of[topic[kept]] * MAX_SEGMENTS + position[kept]) * self._width + code
        self._places = grouped(*ranked(of_place), numbers[topic[kept]])

    def by_length(self, place: int) -> dict[int, array[int]]:
        """Return the topics of the namespace at `place` by their number of segments."""
        lengths, found = self._by_length.between(place * self._longest, (place + 1) * self._longest)
        return dict(zip((lengths - place * self._longest).tolist(), found, strict=True))

    def places(self, place: int) -> Iterator[tuple[tuple[int, str], array[int]]]:
        """Return the topics of the namespace at `place` by position and segment."""
        width = self._width * MAX_SEGMENTS
        codes, found = self._places.between(place * width, (place + 1) * width)
        position, text = np.divmod(codes - place * width, self._width)
        return zip(zip(position.tolist(), _texts(self._texts, text), strict=True), found, strict=True)


def _sum(hashes: np.ndarray[Any, Any]) -> int:
    """Return the sum of hashes modulo 2^128."""
    # Each of the four words by itself: summing all four at once takes twice as long.
    words = hashes.getfield((">u4", 4))
    return sum(int(words[:, place].sum(dtype=np.uint64)) << 96 - 32 * place for place in range(4)) % (1 << 128)


def _pieces(content: memoryview, ends: Numbers, chosen: Numbers) -> Pieces:
    """Return the pieces of the chosen rows; row n has the bytes from `ends[n]` to `ends[n + 1]`."""
    return Pieces(content, ends[chosen].data, ends[chosen + 1].data)


def _objects(texts: pa.Array, chosen: Numbers) -> npt.NDArray[np.object_]:
    """Return the chosen texts as Python strings, which then follow each other in memory too."""
    found: npt.NDArray[np.object_] = texts.take(pa.array(chosen)).to_numpy(zero_copy_only=False)
    return found


def _texts(texts: Sequence[str], places: Numbers) -> Iterator[str]:
    return map(texts.__getitem__, places.tolist())


def _bitmap(flags: Flags) -> BitMap:
    if flags.all():
        return BitMap(range(len(flags)))
    numbers = array("I")
    numbers.frombytes(np.flatnonzero(flags).astype(np.uint32).tobytes())
    return BitMap(numbers)


def _found(values: Any, chosen: Flags) -> dict[int, Any]:
    places = np.flatnonzero(chosen)
    return dict(zip(places.tolist(), values[places].tolist(), strict=True))
