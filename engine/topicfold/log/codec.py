"""The bytes of the log: the frozen binary envelope, and the Avro inside it.

Envelope, big-endian:

    magic "TFE1" · CRC-32C of everything after it
    level u16 · kind u8 · flags u8 · event id 16 · aggregate kind u8 · partition count u16 · base 16 · namespace id 16
    payload schema u16 · name length u16 · operations u16 · payload length u32 · audit length u32
    name (UTF-8) · operations (id 16, verdict u8 with bit 7 = client's key, body hash 8) · payload · audit

Everything that a verdict or a digest reads is delimited by these lengths alone, including the payload's bytes: Avro
libraries disagree about damaged bytes, so no verdict depends on one. The payload (`payload`) and the audit trail are
Avro (`schemas/`), decoded only when needed.
"""

from __future__ import annotations

import struct

import google_crc32c

from topicfold.log.avro import read, schema_called, write
from topicfold.model.events import Audit, AuditTrail, Event, Operation
from topicfold.model.made import made

MAGIC = b"TFE1"
MAX_EVENT_BYTES = 512 * 1024

_PREFIX = struct.Struct(">4sI")
_FIXED = struct.Struct(">HBB16sBH16s16sHHHII")
_OPERATION = struct.Struct(">16sB8s")
_BY_CLIENT = 0x80
_MIN_BYTES = _PREFIX.size + _FIXED.size


def encode_event(event: Event) -> bytes:
    """Return the record's value for `event`.

    Raises:
        ValueError: a field does not fit its place, which is a defect of the caller.
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
    """Return the event in a record's value, or None if it is garbage (by its magic, CRC, length or name).

    Every node, of any version, must return the same for the same bytes. Cost: O(bytes).
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
    operations = decode_operations(rest[name_end:operations_end])
    payload, audit = rest[operations_end:payload_end], rest[payload_end:]
    return made(
        Event,
        (
            level, kind, flags, event_id, aggregate_kind, name, partition_count, base, namespace_id, operations,
            payload_schema, payload, audit,
        ),
    )  # fmt: skip


def decode_operations(raw: bytes) -> tuple[Operation, ...]:
    """Return the operations, given their part of an envelope."""
    return tuple(
        [
            made(Operation, (op_id, verdict & 0x7F, verdict >= _BY_CLIENT, body_hash))
            for op_id, verdict, body_hash in _OPERATION.iter_unpack(raw)
        ]
    )


def encode_audit(trail: AuditTrail) -> bytes:
    """Return the audit part of an event."""
    return write(
        schema_called("audit-1"),
        {
            "operations": [{"actor": a.actor, "reason": a.reason, "requestId": a.request_id} for a in trail.operations],
            "timeMs": trail.time_ms,
            "previousOffset": trail.previous_offset,
        },
    )


def decode_audit(audit: bytes) -> AuditTrail | None:
    """Return who made the changes, why and when, or None if this cannot be read."""
    fields = read(schema_called("audit-1"), audit)
    if fields is None:
        return None
    return AuditTrail(
        tuple(Audit(o["actor"], o["reason"], o["requestId"]) for o in fields["operations"]),
        fields["timeMs"],
        fields["previousOffset"],
    )
