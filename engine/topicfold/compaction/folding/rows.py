"""Rows of `topics`: an aggregate's record, decoded from its payload, beside the header data that verdicts read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from topicfold.compaction.folding.labels import maps
from topicfold.compaction.folding.routing import route_of
from topicfold.log.payload import decode_record
from topicfold.model.events import GENESIS, AggregateKind
from topicfold.model.policy.resolve import Policies
from topicfold.model.policy.values import plain_value
from topicfold.model.records import NamespaceRecord, Record, TenantRecord, TopicRecord
from topicfold.snapshot.tables import GRANTS, KINDS, TOPICS
from topicfold.state.aggregate import Aggregate, hash_of


class Row(NamedTuple):
    """One aggregate after a batch. `key` is a topic's key in its namespace, else empty."""

    kind: int
    name: str
    namespace: str
    key: str
    partition: int
    aggregate: Aggregate
    is_gone: bool = False

    @property
    def hash(self) -> int:
        """What it adds to digests. For a topic that leaves out the incarnation, which is its namespace's."""
        of = self.aggregate._replace(incarnation=GENESIS) if self.kind == AggregateKind.TOPIC else self.aggregate
        return hash_of(self.kind, self.name, of)


def topic_rows(rows: Sequence[Row]) -> pa.Table:
    """Return `rows` as rows of the table `topics`, in the same order."""
    records = [_decoded(row) for row in rows]
    aggregates = [row.aggregate for row in rows]
    columns: dict[str, Any] = {
        "kind": [KINDS[row.kind] for row in rows],
        "route": [route_of(row.name.encode()) for row in rows],
        "name": [row.name for row in rows],
        "namespace": [row.namespace for row in rows],
        "key": [row.key for row in rows],
        "partition": [row.partition for row in rows],
        "offset": [each.offset for each in aggregates],
        "gone": [row.is_gone for row in rows],
        "live": [each.is_live for each in aggregates],
        "version": [each.version for each in aggregates],
        "etag_id": [each.etag.event_id for each in aggregates],
        "etag_place": [each.etag.place for each in aggregates],
        "incarnation": [each.incarnation for each in aggregates],
        "hash": [row.hash.to_bytes(16, "big") for row in rows],
        "payload_schema": [each.payload_schema for each in aggregates],
        "payload": [each.payload for each in aggregates],
        "labels": maps([_labels(row, record) for row, record in zip(rows, records, strict=True)]),
        "partitions": [record.partitions if isinstance(record, TopicRecord) else None for record in records],
        "kafka_name": [record.kafka_name if isinstance(record, TopicRecord) else None for record in records],
        "pending": [isinstance(record, TopicRecord) and record.pending is not None for record in records],
        "grants": pa.array([_grants(record) for record in records], GRANTS),
        "properties": maps([_properties(record) for record in records]),
        "policies": [_policies(record) for record in records],
    }
    return pa.table([pa.array(columns[each.name], each.type) if isinstance(columns[each.name], list)
                     else columns[each.name] for each in TOPICS], schema=TOPICS)  # fmt: skip


def _decoded(row: Row) -> Record | None:
    each = row.aggregate
    return decode_record(AggregateKind(row.kind), each.payload_schema, each.payload) if each.is_live else None


def _labels(row: Row, record: Record | None) -> Mapping[str, str] | None:
    if isinstance(record, TopicRecord):
        return record.labels
    return None if row.aggregate.is_live and row.kind == AggregateKind.TOPIC else {}


def _grants(record: Record | None) -> list[tuple[str, list[str]]] | None:
    return [(role, list(actions)) for role, actions in record.grants.items()] if record and record.grants else None


def _properties(record: Record | None) -> Mapping[str, str] | None:
    return None if record is None or isinstance(record, TenantRecord) else record.properties


def _policies(record: Record | None) -> str | None:
    scopes: dict[str, Policies | None] = {}
    if isinstance(record, TopicRecord):
        scopes = {"local": record.local, "global": record.global_}
    elif isinstance(record, NamespaceRecord):
        scopes = {"local": record.policies or None}
    plain = {scope: plain_value(dict(sorted(each.items()))) for scope, each in scopes.items() if each is not None}
    return json.dumps(plain, sort_keys=True) if plain else None
