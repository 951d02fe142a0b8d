"""Bytes of the log: the frozen binary envelope, and the Avro inside it.

Envelope, big-endian:

    magic "TFE1" · CRC-32C of all that follows
    level u16 · kind u8 · flags u8 · event id 16 · aggregate kind u8 · partition count u16 · base 16 · namespace id 16
    payload schema u16 · name length u16 · operations u16 · payload length u32 · audit length u32
    name (UTF-8) · operations (id 16, verdict u8 with bit 7 = client's key, body hash 8) · payload · audit

Everything a verdict or a digest reads is cut out by these lengths alone, the payload's bytes too: Avro libraries
disagree about damaged bytes, so none of them has a say. The payload and the audit trail are Avro
(`schemas/`), decoded when somebody looks.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import fastavro
import google_crc32c

from topicfold.model.events import AggregateKind, Audit, AuditTrail, Event, Operation
from topicfold.model.records import MAX_PARTITIONS, NamespaceRecord, Record, TenantRecord, TopicRecord, frozen
from topicfold.state.topic_table import Indexed

MAGIC = b"TFE1"
PAYLOAD_SCHEMA = 1
"""The schema that this version writes payloads with; it reads this one and all before it."""

MAX_PAYLOAD_BYTES = 256 * 1024
MAX_EVENT_BYTES = 512 * 1024

_PREFIX = struct.Struct(">4sI")
_FIXED = struct.Struct(">HBB16sBH16s16sHHHII")
_OPERATION = struct.Struct(">16sB8s")
_BY_CLIENT = 0x80
_MIN_BYTES = _PREFIX.size + _FIXED.size


def encode_event(event: Event) -> bytes:
    """Return the record's value for `event`.

    Raises:
        ValueError: a field does not fit its place; a defect of the caller.
    """
    name = event.name.encode()
    try:
        rest = b"".join(
            (
                _FIXED.pack(
                    event.level,
                    event.kind,
                    event.flags,
                    event.event_id,
                    event.aggregate_kind,
                    event.partition_count,
                    event.base,
                    event.namespace_id,
                    event.payload_schema,
                    len(name),
                    len(event.operations),
                    len(event.payload),
                    len(event.audit),
                ),
                name,
                *(
                    _OPERATION.pack(op.id, op.verdict | (_BY_CLIENT if op.by_client else 0), op.body_hash)
                    for op in event.operations
                ),
                event.payload,
                event.audit,
            )
        )
    except struct.error as error:
        raise ValueError(f"event cannot be encoded: {error}") from error
    return _PREFIX.pack(MAGIC, google_crc32c.value(rest)) + rest


def decode_event(value: bytes) -> Event | None:
    """Return the event in a record's value, or None where it is garbage (magic, CRC, length or name).

    Every node must answer the same for the same bytes, for ever. Cost: O(bytes).
    """
    if len(value) < _MIN_BYTES or value[:4] != MAGIC:
        return None
    rest = value[8:]
    if google_crc32c.value(rest) != int.from_bytes(value[4:8], "big"):
        return None
    (
        level,
        kind,
        flags,
        event_id,
        aggregate_kind,
        partition_count,
        base,
        namespace_id,
        payload_schema,
        name_length,
        operation_count,
        payload_length,
        audit_length,
    ) = _FIXED.unpack_from(rest)
    name_end = _FIXED.size + name_length
    operations_end = name_end + operation_count * _OPERATION.size
    payload_end = operations_end + payload_length
    if payload_end + audit_length != len(rest):
        return None
    try:
        name = rest[_FIXED.size : name_end].decode()
    except UnicodeDecodeError:
        return None
    return Event(
        level,
        kind,
        flags,
        event_id,
        aggregate_kind,
        name,
        partition_count,
        base,
        namespace_id,
        tuple(
            Operation(op_id, verdict & 0x7F, verdict >= _BY_CLIENT, body_hash)
            for op_id, verdict, body_hash in _OPERATION.iter_unpack(rest[name_end:operations_end])
        ),
        payload_schema,
        rest[operations_end:payload_end],
        rest[payload_end:],
    )


def encode_record(record: Record) -> bytes:
    """Return the payload that states `record`, written with `PAYLOAD_SCHEMA`; maps in the order of their keys."""
    match record:
        case TopicRecord():
            fields: Mapping[str, Any] = {
                "partitions": record.partitions,
                "kafkaName": record.kafka_name,
                "properties": dict(sorted(record.properties.items())),
                "local": {"customLabels": dict(sorted(record.labels.items()))},
            }
            kind = AggregateKind.TOPIC
        case NamespaceRecord():
            fields = {"properties": dict(sorted(record.properties.items()))}
            kind = AggregateKind.NAMESPACE
        case TenantRecord():
            fields = {"adminRoles": list(record.admin_roles), "allowedClusters": list(record.allowed_clusters)}
            kind = AggregateKind.TENANT
    return _write(_payload_schema(kind, PAYLOAD_SCHEMA), fields)


def decode_topic(schema: int, payload: bytes) -> TopicRecord | None:
    """Return the topic in `payload`, or None where it cannot be read or is of a newer schema."""
    fields = _fields(AggregateKind.TOPIC, schema, payload)
    if fields is None or not 0 <= fields["partitions"] <= MAX_PARTITIONS:
        return None
    return TopicRecord(
        fields["partitions"],
        fields["kafkaName"],
        frozen(fields["properties"]),
        frozen(fields["local"]["customLabels"]),
    )


@lru_cache(maxsize=64)
def decode_indexed(schema: int, payload: bytes) -> Indexed | None:
    """Return what the fold indexes of the topic in `payload`, or None where `decode_topic` would.

    Remembers the last few: a writer decodes what it has just handed to the log, while the log is busy with it.
    """
    fields = _fields(AggregateKind.TOPIC, schema, payload)
    if fields is None or not 0 <= fields["partitions"] <= MAX_PARTITIONS:
        return None
    return Indexed(fields["local"]["customLabels"], fields["partitions"])


def decode_namespace(schema: int, payload: bytes) -> NamespaceRecord | None:
    """Return the namespace in `payload`, or None where it cannot be read or is of a newer schema."""
    fields = _fields(AggregateKind.NAMESPACE, schema, payload)
    return None if fields is None else NamespaceRecord(frozen(fields["properties"]))


def decode_tenant(schema: int, payload: bytes) -> TenantRecord | None:
    """Return the tenant in `payload`, or None where it cannot be read or is of a newer schema."""
    fields = _fields(AggregateKind.TENANT, schema, payload)
    return None if fields is None else TenantRecord(tuple(fields["adminRoles"]), tuple(fields["allowedClusters"]))


def encode_audit(trail: AuditTrail) -> bytes:
    """Return the audit part of an event."""
    return _write(
        _schema("audit-1"),
        {
            "operations": [{"actor": a.actor, "reason": a.reason, "requestId": a.request_id} for a in trail.operations],
            "timeMs": trail.time_ms,
            "previousOffset": trail.previous_offset,
        },
    )


def decode_audit(audit: bytes) -> AuditTrail | None:
    """Return who and why, or None where it cannot be read."""
    fields = _read(_schema("audit-1"), audit)
    if fields is None:
        return None
    return AuditTrail(
        tuple(Audit(o["actor"], o["reason"], o["requestId"]) for o in fields["operations"]),
        fields["timeMs"],
        fields["previousOffset"],
    )


def schema_directory() -> Path:
    """Return where the Avro schemas lie: inside the installed package, or at the root of a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "schemas"
    return inside if inside.is_dir() else package.parents[1] / "schemas"


def _fields(kind: AggregateKind, schema: int, payload: bytes) -> dict[str, Any] | None:
    if not 1 <= schema <= PAYLOAD_SCHEMA:
        return None
    return _read(_payload_schema(kind, schema), payload)


@cache
def _payload_schema(kind: AggregateKind, number: int) -> Any:
    return _schema(f"{kind.name.lower()}-{number}")


@cache
def _schema(name: str) -> Any:
    return fastavro.parse_schema(json.loads((schema_directory() / f"{name}.avsc").read_text()))


def _write(schema: Any, fields: Mapping[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, fields)
    return out.getvalue()


def _read(schema: Any, payload: bytes) -> dict[str, Any] | None:
    """Return the fields if `payload` is exactly one datum of `schema`, else None, whatever the bytes are."""
    stream = io.BytesIO(payload)
    try:
        fields = fastavro.schemaless_reader(stream, schema, None)
    except Exception:  # noqa: BLE001 -- damaged bytes make fastavro raise anything; the payload counts as unreadable
        return None
    return fields if isinstance(fields, dict) and stream.tell() == len(payload) else None
