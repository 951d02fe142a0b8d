"""The topics that a batch changed, as they are at its end: rows of `topics`, and their hashes, also summed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topicfold.compaction.folding.lives import Candidates
from topicfold.compaction.folding.owners import OwnerFold
from topicfold.compaction.folding.records import Records
from topicfold.compaction.folding.routing import route_of
from topicfold.compaction.folding.rows import Row, topic_rows
from topicfold.compaction.folding.spans import Bytes, Numbers, binaries
from topicfold.compaction.folding.topic_fold import TopicFold
from topicfold.model.events import AggregateKind
from topicfold.snapshot.rows.topic_rows import ids_of
from topicfold.snapshot.tables import GRANTS, KINDS, LABELS, TOPICS
from topicfold.state.aggregate import Aggregate, Etag

_NO_NUMBERS = np.zeros(0, np.int64)
_HEAD_BYTES = 56
"""What `state.aggregate.hash_of` hashes before name and payload."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Topics with an accepted event in the life that their namespace has at the batch's end.

    `events` are the numbers, in the fold, of the last such event of each topic; `rows` has the resulting rows, in the
    same order.
    """

    events: Numbers
    rows: pa.Table

    @property
    def hashes(self) -> Bytes:
        """The topics' hashes."""
        return ids_of(self.rows["hash"])


def changed_topics(
    records: Records, fold: TopicFold, candidates: Candidates, folds: Sequence[OwnerFold], is_final: np.ndarray
) -> Changed:
    """Return the changed topics; `is_final` says which events are in their namespace's last life of the batch."""
    events = np.flatnonzero(fold.is_last & is_final)
    is_other = np.zeros(len(fold.row), dtype=bool)
    for page in fold.pages:
        is_other[page.first + page.topics.others] = True
    plain, others = events[~is_other[events]], events[is_other[events]]
    incarnations = [
        folds[partition].namespaces[name].incarnation
        for partition, name in zip(candidates.partitions, candidates.namespaces, strict=True)
    ]
    one_by_one = [_row(records, fold, candidates, event, incarnations) for event in others.tolist()]
    rows = pa.concat_tables([_plain_rows(records, fold, candidates, plain, incarnations), topic_rows(one_by_one)])
    return Changed(np.concatenate([plain, others]), rows)


def sums_of(hashes: Bytes, owners: Numbers) -> dict[int, int]:
    """Return for each owner the sum of its hashes."""
    order = np.argsort(owners, kind="stable")
    lanes = np.ascontiguousarray(hashes[order]).view(">u4").reshape(-1, 4).astype(np.uint64)
    owners = owners[order]
    starts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1])) if len(owners) else owners
    sums = np.add.reduceat(lanes, starts, axis=0) if len(starts) else lanes
    return {
        owner: sum(lane << shift for lane, shift in zip(each, (96, 64, 32, 0), strict=True))
        for owner, each in zip(owners[starts].tolist(), sums.tolist(), strict=True)
    }


def _plain_rows(
    records: Records, fold: TopicFold, candidates: Candidates, events: Numbers, incarnations: Sequence[bytes]
) -> pa.Table:
    """Return the rows of topics that are deleted, or whose payload was read in columns."""
    row, owner = fold.row[events], fold.namespace[events]
    is_live = fold.is_put[events]
    names = candidates.names.take(pa.array(fold.name[events]))
    schemas = np.where(is_live, records.payload_schemas[row], 0)
    payloads = records.payloads_at(row)
    if not is_live.all():
        payloads = pc.if_else(pa.array(is_live), payloads, b"")
    versions, (etag_ids, etag_places) = records.event_ids[row], fold.etags(events)
    raw_names = names.cast(pa.binary()).to_pylist()
    hashes = _hashes(is_live, schemas, versions, etag_ids, etag_places, raw_names, payloads.to_pylist())
    count = len(events)
    partitions = np.concatenate([_NO_NUMBERS, *(each.topics.partitions for each in fold.pages)])
    properties = pa.concat_arrays([pa.array([], LABELS), *(each.topics.properties for each in fold.pages)])
    of_owner = pa.array(owner)
    columns = {
        "kind": pa.array([KINDS[AggregateKind.TOPIC]], pa.string()).take(pa.array(np.zeros(count, np.int8))),
        "route": pa.array(list(map(route_of, raw_names)), pa.int64()),
        "name": names,
        "namespace": pa.array(candidates.namespaces, pa.string()).take(of_owner),
        "key": candidates.keys.take(pa.array(fold.name[events])),
        "partition": pa.array(records.partitions[row], pa.int32()),
        "offset": pa.array(records.offsets[row]),
        "gone": pa.array(np.zeros(count, dtype=bool)),
        "live": pa.array(is_live),
        "version": binaries(versions),
        "etag_id": binaries(etag_ids),
        "etag_place": pa.array(etag_places, pa.int32()),
        "incarnation": pa.array(incarnations, pa.binary()).take(of_owner),
        "hash": binaries(hashes),
        "payload_schema": pa.array(schemas, pa.int32()),
        "payload": payloads,
        "labels": fold.labels.take(events).plain_column(),
        "partitions": pa.array(partitions[events], pa.int32(), mask=~is_live),
        "kafka_name": pa.nulls(count, pa.string()),
        "pending": pa.array(np.zeros(count, dtype=bool)),
        "grants": pa.nulls(count, GRANTS),
        "properties": properties.take(pa.array(events, mask=~is_live)),
        "policies": pa.nulls(count, pa.string()),
    }
    return pa.table([columns[each.name] for each in TOPICS], schema=TOPICS)


def _hashes(
    is_live: np.ndarray, schemas: Numbers, versions: Bytes, etag_ids: Bytes, etag_places: Numbers,
    names: Sequence[bytes], payloads: Sequence[bytes],
) -> Bytes:  # fmt: skip
    """Return the topics' hashes, the same as `state.aggregate.hash_of`."""
    count = len(names)
    heads = np.zeros((count, _HEAD_BYTES), dtype=np.uint8)
    heads[:, 0] = AggregateKind.TOPIC
    heads[:, 1] = is_live
    lengths = np.array([len(each) for each in names], dtype=np.int64)
    for at, numbers in ((2, schemas), (4, etag_places), (54, lengths)):
        heads[:, at : at + 2] = numbers.astype(">u2").view(np.uint8).reshape(-1, 2)
    heads[:, 6:22] = versions
    heads[:, 22:38] = etag_ids
    raw, blake2b = heads.tobytes(), hashlib.blake2b
    digests = [
        blake2b(raw[number * _HEAD_BYTES : (number + 1) * _HEAD_BYTES] + name + payload, digest_size=16).digest()
        for number, (name, payload) in enumerate(zip(names, payloads, strict=True))
    ]
    return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 16)


def _row(records: Records, fold: TopicFold, candidates: Candidates, event: int, incarnations: Sequence[bytes]) -> Row:
    """Return the row of a live topic whose payload has to be read by itself."""
    row, name, owner = int(fold.row[event]), int(fold.name[event]), int(fold.namespace[event])
    (etag_id,), (etag_place,) = fold.etags(np.array([event]))
    aggregate = Aggregate(
        records.event_ids[row].tobytes(),
        True,
        Etag(etag_id.tobytes(), int(etag_place)),
        int(records.payload_schemas[row]),
        records.payload(row),
        int(records.offsets[row]),
        incarnations[owner],
    )
    partition, namespace = candidates.partitions[owner], candidates.namespaces[owner]
    full, key = candidates.names[name].as_py(), candidates.keys[name].as_py()
    return Row(AggregateKind.TOPIC, full, namespace, key, partition, aggregate)
