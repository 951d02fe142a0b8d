"""The tables of a snapshot: their columns, as Arrow schemas. `schemas/tables.md` says what each column means.

They are Delta tables, so each is a directory of Parquet files. They have only types that Delta, Trino, DuckDB and
pandas all know. They are frozen like the log's formats: columns may be added, but none may change its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from topicfold.model.events import AggregateKind

LABELS = pa.map_(pa.string(), pa.string())
GRANTS = pa.map_(pa.string(), pa.list_(pa.string()))

KINDS: Mapping[int, str] = {
    AggregateKind.TENANT: "tenant",
    AggregateKind.NAMESPACE: "namespace",
    AggregateKind.TOPIC: "topic",
}
"""The values of the column `kind`, by kind of aggregate."""

TOPICS = pa.schema(
    {
        "kind": pa.string(),
        "route": pa.int64(),
        "name": pa.string(),
        "namespace": pa.string(),
        "key": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "gone": pa.bool_(),
        "live": pa.bool_(),
        "version": pa.binary(),
        "etag_id": pa.binary(),
        "etag_place": pa.int32(),
        "incarnation": pa.binary(),
        "hash": pa.binary(),
        "payload_schema": pa.int32(),
        "payload": pa.binary(),
        "labels": LABELS,
        "partitions": pa.int32(),
        "kafka_name": pa.string(),
        "pending": pa.bool_(),
        "grants": GRANTS,
        "properties": LABELS,
        "policies": pa.string(),
    }
)
"""`topics` and `topics_tail`. A file holds topics sorted by `namespace` and `route`, or tenants and namespaces."""

NAMESPACES = pa.schema(
    {
        "partition": pa.int32(),
        "namespace": pa.string(),
        "incarnation": pa.binary(),
        "live_topics": pa.int64(),
        "topics": pa.int64(),
        "digest_sum": pa.binary(),
    }
)

LABEL_INDEX = pa.schema(
    {"namespace": pa.string(), "key": pa.string(), "value": pa.string(), "topics": pa.list_(pa.string())}
)

LABEL_INDEX_DIFFS = pa.schema(
    {
        "sequence": pa.int64(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "namespace": pa.string(),
        "topic": pa.string(),
        "key": pa.string(),
        "value": pa.string(),
        "change": pa.string(),
        "actor": pa.string(),
    }
)

OPERATION = pa.struct(
    {
        "id": pa.binary(),
        "verdict": pa.int32(),
        "by_client": pa.bool_(),
        "actor": pa.string(),
        "reason": pa.string(),
        "request_id": pa.string(),
    }
)

HISTORY = pa.schema(
    {
        "sequence": pa.int64(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "kind": pa.string(),
        "name": pa.string(),
        "namespace": pa.string(),
        "event_id": pa.binary(),
        "base": pa.binary(),
        "deletes": pa.bool_(),
        "refused": pa.bool_(),
        "time": pa.timestamp("us", "UTC"),
        "previous_offset": pa.int64(),
        "old_labels": LABELS,
        "new_labels": LABELS,
        "operations": pa.list_(OPERATION),
        "payload_schema": pa.int32(),
        "payload": pa.binary(),
    }
)

RINGS = pa.schema(
    {
        "partition": pa.int32(),
        "ring": pa.string(),
        "number": pa.int64(),
        "operation": pa.binary(),
        "verdict": pa.int32(),
        "etag_id": pa.binary(),
        "etag_place": pa.int32(),
        "body_hash": pa.binary(),
    }
)

COMMITS = pa.schema(
    {
        "sequence": pa.int64(),
        "time": pa.timestamp("us", "UTC"),
        "incarnation": pa.string(),
        "predecessor": pa.string(),
        "sha256": pa.string(),
        "from": pa.list_(pa.int64()),
        "to": pa.list_(pa.int64()),
        "levels": pa.list_(pa.int32()),
        "digests": pa.list_(pa.string()),
        "counts": pa.map_(pa.string(), pa.int64()),
        "versions": pa.map_(pa.string(), pa.int64()),
    }
)

SCHEMAS: Mapping[str, pa.Schema] = {
    "topics": TOPICS,
    "topics_tail": TOPICS,
    "namespaces": NAMESPACES,
    "label_index": LABEL_INDEX,
    "label_index_diffs": LABEL_INDEX_DIFFS,
    "history": HISTORY,
    "rings": RINGS,
    "commits": COMMITS,
}

STATE_TABLES = ("topics", "topics_tail", "namespaces", "label_index", "rings")
"""Tables of the current state: a commit names all of their files."""

GROWING_TABLES = ("label_index_diffs", "history")
"""Tables of the past: a commit names only the files that it adds."""
