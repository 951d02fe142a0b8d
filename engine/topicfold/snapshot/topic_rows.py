"""Rows of topics, read from verified files into plain columns.

Texts that repeat stay numbers into lists of their values, from the file to the index: no label is made a string that
another topic bears too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from topicfold.model.events import AggregateKind
from topicfold.model.names import SYSTEM_MARKS, is_system_topic, local_of_key
from topicfold.snapshot.tables import KINDS, TOPICS

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Ids = npt.NDArray[np.uint8]

TOPIC_COLUMNS = (
    "kind", "namespace", "key", "partition", "offset", "gone", "live", "version", "etag_id", "etag_place", "hash",
    "payload_schema", "payload", "labels", "partitions", "kafka_name", "pending", "grants",
)  # fmt: skip
"""The columns that are read of topics."""

REPEATING = ("kind", "namespace", "labels.key_value.key", "labels.key_value.value")


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts that repeat: `codes` are places in `values`."""

    codes: npt.NDArray[np.int32]
    values: list[str]


@dataclass(frozen=True, slots=True)
class TopicRows:
    """Topics in columns. `chosen` are the rows that count, one for each topic, those of a namespace together.

    Of labels, `counts` says how many each row has; keys and values are one row's after another's.
    `is_unreadable`: its payload is not to be read. `is_special`: it has grants or a step in Kafka, which only the
    payload spells out. `kafka_names` is null where the name follows from the topic's own.
    """

    chosen: Numbers
    namespaces: Texts
    partitions: Numbers
    offsets: Numbers
    keys: pa.LargeStringArray
    is_gone: Flags
    is_live: Flags
    is_unreadable: Flags
    is_special: Flags
    versions: Ids
    etag_ids: Ids
    etag_places: Numbers
    hashes: Ids
    payload_schemas: Numbers
    payloads: pa.LargeBinaryArray
    counts: Numbers
    label_keys: Texts
    label_values: Texts
    partition_counts: Numbers
    kafka_names: pa.LargeStringArray

    def __len__(self) -> int:
        return len(self.offsets)


def read_topics(base: Iterable[bytes], tail: Iterable[bytes], partitions: Sequence[int]) -> TopicRows:
    """Return the rows in these files of `topics` and of `topics_tail`; those of topics of `partitions` are chosen.

    Of several rows of a topic the newest counts, and none does if that is gone.
    """
    groups = [group for raw in base for group in _groups(raw)]
    changed = [group for raw in tail for group in _groups(raw)]
    rows = _joined(groups + changed)
    places = np.flatnonzero(np.isin(rows.partitions, partitions))
    if changed:
        places = _newest(rows, places)
    return replace(rows, chosen=places[np.argsort(_small(rows.namespaces.codes[places]), kind="stable")])


def _groups(raw: bytes) -> Iterable[pa.Table]:
    # A dictionary of nested texts can be had of one row group at a time only.
    file = pq.ParquetFile(pa.BufferReader(raw), read_dictionary=list(REPEATING))
    for number in range(file.num_row_groups):
        group = file.read_row_group(number, columns=list(TOPIC_COLUMNS))
        is_topic = pc.equal(group["kind"].cast(pa.string()), KINDS[AggregateKind.TOPIC])
        if pc.all(is_topic).as_py():
            yield group
        elif pc.any(is_topic).as_py():
            yield group.filter(is_topic)


def _joined(groups: Sequence[pa.Table]) -> TopicRows:
    def column(name: str) -> pa.ChunkedArray:
        return pa.chunked_array([chunk for group in groups for chunk in group[name].chunks], TOPICS.field(name).type)

    def numbers(name: str) -> Numbers:
        found: Numbers = pc.fill_null(column(name), 0).to_numpy().astype(np.int64)
        return found

    def flags(name: str) -> Flags:
        found: Flags = column(name).to_numpy()
        return found.astype(bool)

    labels = [chunk for group in groups for chunk in group["labels"].chunks if len(chunk)]
    is_unreadable = _concatenated([chunk.is_null().to_numpy(zero_copy_only=False) for chunk in labels], bool)
    counts = [np.diff(chunk.offsets.to_numpy()) for chunk in labels]
    return TopicRows(
        chosen=np.zeros(0, np.int64),
        namespaces=_texts([chunk for group in groups for chunk in group["namespace"].chunks]),
        partitions=numbers("partition"),
        offsets=numbers("offset"),
        keys=_joined_texts(column("key")),
        is_gone=flags("gone"),
        is_live=flags("live"),
        is_unreadable=is_unreadable,
        is_special=flags("pending") | column("grants").is_valid().to_numpy(),
        versions=ids_of(column("version")),
        etag_ids=ids_of(column("etag_id")),
        etag_places=numbers("etag_place"),
        hashes=ids_of(column("hash")),
        payload_schemas=numbers("payload_schema"),
        payloads=_joined_texts(column("payload")),
        counts=_concatenated(counts, np.int64),
        label_keys=_texts([_entries(chunk, chunk.keys) for chunk in labels]),
        label_values=_texts([_entries(chunk, chunk.items) for chunk in labels]),
        partition_counts=numbers("partitions"),
        kafka_names=_joined_texts(column("kafka_name")),
    )


def ids_of(column: pa.ChunkedArray, width: int = 16) -> Ids:
    """Return a column of bytes, all `width` long and none null, as rows.

    Raises:
        ValueError: one is of another length.
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


def are_system_topics(keys: pa.LargeStringArray) -> Flags:
    """Return which topics are Pulsar's own."""
    is_marked = reduce(pc.or_, [pc.match_substring(keys, mark) for mark in SYSTEM_MARKS])
    found: Flags = is_marked.to_numpy(zero_copy_only=False).copy()
    found[found] = [is_system_topic(local_of_key(key)) for key in keys.filter(is_marked).to_pylist()]
    return found


def _newest(rows: TopicRows, places: Numbers) -> Numbers:
    """Return of the rows of each topic the one with the highest offset, if it is not gone."""
    identity = _identity(rows)[places]
    order = np.lexsort((rows.offsets[places], identity))
    is_last = np.append(identity[order][1:] != identity[order][:-1], True) if len(order) else np.zeros(0, bool)
    chosen = places[order[is_last]]
    found: Numbers = np.sort(chosen[~rows.is_gone[chosen]])
    return found


def _identity(rows: TopicRows) -> Numbers:
    """Return a number for each row that rows of the same topic share, and no others."""
    keys = rows.keys.dictionary_encode()
    codes = keys.indices.to_numpy().astype(np.int64)
    both = pa.array(codes * len(rows.namespaces.values) + rows.namespaces.codes).dictionary_encode()
    found: Numbers = both.indices.to_numpy().astype(np.int64)
    return found


def _joined_texts(column: pa.ChunkedArray) -> pa.Array:
    """Return a column of texts or bytes in one piece, which may be longer than 2 GiB."""
    is_binary = pa.types.is_binary(column.type)
    return column.cast(pa.large_binary() if is_binary else pa.large_string()).combine_chunks()


def _texts(chunks: Sequence[pa.DictionaryArray]) -> Texts:
    if not chunks:
        return Texts(np.zeros(0, np.int32), [])
    unified = pa.chunked_array(chunks).unify_dictionaries()
    codes = _concatenated([chunk.indices.to_numpy() for chunk in unified.chunks], np.int32)
    return Texts(codes, unified.chunk(0).dictionary.to_pylist())


def _entries(labels: pa.MapArray, flat: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return the part of a map's flat keys or values that its rows are about."""
    offsets = labels.offsets
    return flat[offsets[0].as_py() : offsets[-1].as_py()]


def _concatenated(parts: Sequence[Any], of: Any) -> Any:
    return np.concatenate(parts).astype(of, copy=False) if parts else np.zeros(0, of)


def _small(codes: npt.NDArray[np.int32]) -> np.ndarray[Any, Any]:
    """Return `codes` in 16 bits if they fit, which numpy sorts ten times as fast."""
    return codes.astype(np.uint16) if codes.max(initial=0) < 1 << 16 else codes
