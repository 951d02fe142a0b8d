"""Rows of topics, read from verified files into plain columns.

Texts that repeat stay indices into lists of distinct values, from the file to the index: no string is created more than
once for a label that several topics have.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from topicfold.model.events import PAYLOAD_SCHEMA, AggregateKind
from topicfold.model.names import local_of_key
from topicfold.model.system_topics import SYSTEM_MARKS, is_system_topic
from topicfold.snapshot.files.data_files import opened
from topicfold.snapshot.tables import KINDS, TOPICS

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Ids = npt.NDArray[np.uint8]

PACKED = np.dtype([("version", "V16"), ("etag_id", "V16"), ("etag_place", "<u2"), ("payload_schema", "<u2"),
                   ("offset", "<i8"), ("hash", "V16")])  # fmt: skip
"""`ROW` as a numpy type."""

TOPIC_COLUMNS = (
    "kind", "namespace", "key", "partition", "offset", "gone", "live", "version", "etag_id", "etag_place", "hash",
    "payload_schema", "payload", "labels", "partitions", "kafka_name", "pending", "grants",
)  # fmt: skip
"""The columns that are read for topics."""

_READ = pa.schema([TOPICS.field(name) for name in TOPIC_COLUMNS])

_PAYLOAD = TOPICS.get_field_index("payload")
"""No field before it is nested, so its column in Parquet has the same number."""

REPEATING = ("kind", "namespace", "labels.key_value.key", "labels.key_value.value")


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts that repeat: `codes` are indices into `values`."""

    codes: npt.NDArray[np.int32]
    values: list[str]


@dataclass(frozen=True, slots=True)
class TopicRows:
    """Topics in columns. `chosen` are the rows that count, one for each topic, grouped by namespace.

    - `packed`: the fixed-size data that tables keep for every topic.
    - `payloads`, `payload_ends`: row n's payload is in `payloads` from `payload_ends[n]` to `payload_ends[n + 1]`.
    - `counts`: the number of labels of each row; `label_keys` and `label_values` have the labels row after row.
    - `is_special`: the payload has to be decoded, because it has grants or a pending step in Kafka, or because the job,
      as an older or newer version, may have read it differently.
    - `kafka_names`: null where the name in Kafka follows from the topic's own.
    """

    chosen: Numbers
    namespaces: Texts
    partitions: npt.NDArray[np.int32]
    packed: np.ndarray[Any, Any]
    keys: pa.LargeStringArray
    is_gone: Flags
    is_live: Flags
    is_special: Flags
    payloads: memoryview
    payload_ends: Numbers
    counts: Numbers
    label_keys: Texts
    label_values: Texts
    partition_counts: npt.NDArray[np.int32]
    kafka_names: pa.LargeStringArray

    def __len__(self) -> int:
        return len(self.packed)


def read_topics(base: Iterable[memoryview], tail: Iterable[memoryview], partitions: Sequence[int]) -> TopicRows:
    """Return the rows in these files of `topics` and `topics_tail`. Rows in `partitions` are chosen.

    If a topic has several rows, the newest counts; if that is gone, none does.
    """
    files = [[_File.of(raw) for raw in files] for files in (base, tail)]
    whole = [file for each in files for file in each]
    gathered = _Gathered(sum(file.metadata.num_rows for file in whole), sum(file.payload_bytes() for file in whole))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        of_base, of_all = (gathered.add(_groups(each, pool)) for each in files)
        rows = gathered.rows(pool)
    places = np.flatnonzero(np.isin(rows.partitions, partitions))
    if of_all > of_base:
        offsets = rows.packed["offset"][places]
        places = places[newest_of(_identity(rows)[places], offsets, rows.is_gone[places])]
    return replace(rows, chosen=places[np.argsort(_small(rows.namespaces.codes[places]), kind="stable")])


@dataclass(frozen=True, slots=True)
class _File:
    content: pa.Buffer
    metadata: pq.FileMetaData

    @classmethod
    def of(cls, raw: memoryview) -> _File:
        content = pa.py_buffer(raw)
        return cls(content, opened(content, _READ).metadata)

    def payload_bytes(self) -> int:
        """Return the size of all payloads in bytes, or a little more."""
        groups = map(self.metadata.row_group, range(self.metadata.num_row_groups))
        return sum(group.column(_PAYLOAD).total_uncompressed_size for group in groups)

    def group(self, number: int) -> pa.Table:
        """Return a row group. Only for a single one can nested texts be read as dictionaries."""
        reader = pq.ParquetFile(pa.BufferReader(self.content), metadata=self.metadata, read_dictionary=list(REPEATING))
        return reader.read_row_group(number, columns=list(TOPIC_COLUMNS), use_threads=False)


def _groups(files: Iterable[_File], pool: Executor) -> Iterator[pa.Table]:
    """Yield the rows of topics in `files`, a row group at a time.

    Groups are read in parallel, which takes a third of the time of reading each group's columns in parallel.
    """
    for file in files:
        for group in pool.map(file.group, range(file.metadata.num_row_groups)):
            is_topic = pc.equal(group["kind"].cast(pa.string()), KINDS[AggregateKind.TOPIC])
            if pc.all(is_topic).as_py():
                yield group
            elif pc.any(is_topic).as_py():
                yield group.filter(is_topic)


class _Gathered:
    """Rows collected from groups. Of a group only the texts are kept, so that the next ones reuse its memory.

    The system spent a quarter to a half of a load's processor time on memory that had not been used before.
    """

    def __init__(self, most: int, payload_bytes: int) -> None:
        """Allocate space for up to `most` rows, and for payloads of about `payload_bytes`."""
        self._length = 0
        self._packed = np.empty(most, PACKED)
        self._partitions, self._partition_counts = np.empty(most, np.int32), np.empty(most, np.int32)
        self._counts = np.empty(most, np.int64)
        self._flags = {name: np.empty(most, bool) for name in ("gone", "live", "special")}
        self._payloads, self._payload_ends = np.empty(payload_bytes, np.uint8), np.zeros(most + 1, np.int64)
        self._texts: dict[str, list[pa.Array]] = {name: [] for name in ("namespace", "key", "kafka_name")}
        self._label_keys: list[pa.DictionaryArray] = []
        self._label_values: list[pa.DictionaryArray] = []

    def add(self, groups: Iterable[pa.Table]) -> int:
        """Add the rows of `groups`; return the number of rows so far."""
        for group in groups:
            part = slice(self._length, self._length + len(group))
            packed = self._packed[part]
            for name in ("version", "etag_id", "hash"):
                packed[name] = ids_of(group[name]).view("V16").reshape(-1)
            for name in ("etag_place", "payload_schema", "offset"):
                packed[name] = _numbers(group[name])
            self._partitions[part] = _numbers(group["partition"])
            self._partition_counts[part] = _numbers(group["partitions"])
            for name in ("gone", "live"):
                self._flags[name][part] = group[name].to_numpy()
            is_read_here = group["labels"].is_null().to_numpy() | (packed["payload_schema"] > PAYLOAD_SCHEMA)
            has_more = group["pending"].to_numpy() | group["grants"].is_valid().to_numpy()
            self._flags["special"][part] = has_more | is_read_here
            self._add_payloads(group["payload"])
            labels = [each for each in group["labels"].chunks if len(each)]
            self._counts[part] = np.concatenate([np.diff(each.offsets.to_numpy()) for each in labels])
            for each in labels:
                self._label_keys.append(_entries(each, each.keys))
                self._label_values.append(_entries(each, each.items))
            for name, chunks in self._texts.items():
                chunks += group[name].chunks
            self._length = part.stop
        return self._length

    def rows(self, pool: Executor) -> TopicRows:
        """Return all rows; none is chosen. The labels' values, the largest part, are joined in `pool`."""
        flags = {f"is_{name}": each[: self._length] for name, each in self._flags.items()}
        label_values = pool.submit(_texts, self._label_values)
        return TopicRows(
            chosen=np.zeros(0, np.int64),
            namespaces=_texts(self._texts["namespace"]),
            partitions=self._partitions[: self._length],
            packed=self._packed[: self._length],
            keys=_joined_texts(self._column("key")),
            payloads=self._payloads.data,
            payload_ends=self._payload_ends[: self._length + 1],
            counts=self._counts[: self._length],
            label_keys=_texts(self._label_keys),
            partition_counts=self._partition_counts[: self._length],
            kafka_names=_joined_texts(self._column("kafka_name")),
            label_values=label_values.result(),
            **flags,
        )

    def _add_payloads(self, column: pa.ChunkedArray) -> None:
        at = self._length
        for chunk in column.chunks:
            _, ends, content = chunk.buffers()
            bounds = np.frombuffer(ends, np.int32, len(chunk) + 1, chunk.offset * 4)
            start = int(self._payload_ends[at])
            end = start + int(bounds[-1] - bounds[0])
            if end > len(self._payloads):
                self._payloads = np.append(self._payloads[:start], np.empty(end, np.uint8))
            self._payloads[start:end] = np.frombuffer(content, np.uint8)[bounds[0] : bounds[-1]]
            self._payload_ends[at + 1 : at + 1 + len(chunk)] = bounds[1:] + (start - int(bounds[0]))
            at += len(chunk)

    def _column(self, name: str) -> pa.ChunkedArray:
        return pa.chunked_array(self._texts[name], TOPICS.field(name).type)


def _numbers(column: pa.ChunkedArray) -> npt.NDArray[np.integer[Any]]:
    found: npt.NDArray[np.integer[Any]] = pc.fill_null(column, 0).to_numpy()
    return found


def ids_of(column: pa.ChunkedArray, width: int = 16) -> Ids:
    """Return a column of bytes, all `width` long and none null, as rows.

    Raises:
        ValueError: one has another length.
    """
    parts = []
    for chunk in column.chunks:
        if len(chunk):
            ends = np.frombuffer(chunk.buffers()[1], np.int32, len(chunk) + 1, chunk.offset * 4)
            if (np.diff(ends) != width).any():
                raise ValueError(f"an id is not {width} bytes long")
            parts.append(np.frombuffer(chunk.buffers()[2], np.uint8, len(chunk) * width, int(ends[0])))
    found: Ids = _concatenated(parts, np.uint8).reshape(-1, width)
    return found


def newest_of(identity: Numbers, offsets: Numbers, is_gone: Flags) -> Numbers:
    """Return the places of the rows that count, rising: of each identity the highest offset, unless that is gone."""
    order = np.lexsort((offsets, identity))
    is_last = np.append(identity[order][1:] != identity[order][:-1], True)[: len(order)]
    chosen = order[is_last]
    found: Numbers = np.sort(chosen[~is_gone[chosen]])
    return found


def are_system_topics(keys: pa.LargeStringArray) -> Flags:
    """Return which topics are Pulsar's own."""
    is_marked = reduce(pc.or_, [pc.match_substring(keys, mark) for mark in SYSTEM_MARKS])
    found: Flags = is_marked.to_numpy(zero_copy_only=False).copy()
    found[found] = [is_system_topic(local_of_key(key)) for key in keys.filter(is_marked).to_pylist()]
    return found


def _identity(rows: TopicRows) -> Numbers:
    """Return a number for each row, the same for rows of the same topic and for no others."""
    keys = rows.keys.dictionary_encode()
    codes = keys.indices.to_numpy().astype(np.int64)
    both = pa.array(codes * len(rows.namespaces.values) + rows.namespaces.codes).dictionary_encode()
    found: Numbers = both.indices.to_numpy().astype(np.int64)
    return found


def _joined_texts(column: pa.ChunkedArray) -> pa.Array:
    """Return a column of texts as one array, which may have more than 2 GiB."""
    return column.cast(pa.large_string()).combine_chunks()


def _texts(chunks: Sequence[pa.DictionaryArray]) -> Texts:
    if not chunks:
        return Texts(np.zeros(0, np.int32), [])
    unified = pa.chunked_array(chunks).unify_dictionaries()
    codes = _concatenated([chunk.indices.to_numpy() for chunk in unified.chunks], np.int32)
    return Texts(codes, unified.chunk(0).dictionary.to_pylist())


def _entries(labels: pa.MapArray, flat: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return the part of a map's flat keys or values that belongs to its rows."""
    offsets = labels.offsets
    return flat[offsets[0].as_py() : offsets[-1].as_py()]


def _concatenated(parts: Sequence[Any], of: Any) -> Any:
    return np.concatenate(parts).astype(of, copy=False) if parts else np.zeros(0, of)


def _small(codes: npt.NDArray[np.int32]) -> np.ndarray[Any, Any]:
    """Return `codes` in 16 bits if they fit, which numpy sorts ten times as fast."""
    return codes.astype(np.uint16) if codes.max(initial=0) < 1 << 16 else codes
