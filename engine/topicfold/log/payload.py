"""Payloads: encodes records as Avro, and decodes them.

A record is written with the lowest schema number that can express it: so one without policies and grants stays small,
and nodes that do not know policies can still read it. Maps are written in the order of their keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, TypeGuard

from topicfold.log.avro import read, schema_called, write
from topicfold.model.events import PAYLOAD_SCHEMA, AggregateKind
from topicfold.model.made import made
from topicfold.model.policy.resolve import Policies
from topicfold.model.policy.table import BY_NAME
from topicfold.model.policy.values import frozen_value, is_whole, plain_value
from topicfold.model.records import (
    EMPTY,
    MAX_PARTITIONS,
    NO_GRANTS,
    Grants,
    NamespaceRecord,
    Pending,
    Record,
    Step,
    TenantRecord,
    TopicRecord,
    frozen,
)
from topicfold.state.indexed import Indexed

MAX_PAYLOAD_BYTES = 256 * 1024

LABELS_SCHEMA = 1
"""The schema of topics that have no policies, no grants, and no step left to do in Kafka."""

_RECALLED_BYTES = 1_024
_STEPS = frozenset(Step)


def payload_schema_of(record: Record) -> int:
    """Return the number of the schema with which `encode_record` writes `record`."""
    match record:
        case TopicRecord():
            has_policies = record.local is not None or record.global_ is not None
            return 2 if has_policies or record.grants or record.pending else LABELS_SCHEMA
        case NamespaceRecord():
            return 2 if record.policies or record.grants else 1
        case TenantRecord():
            return 2 if record.grants else 1


def encode_record(record: Record) -> bytes:
    """Return the payload for `record`, written with the schema that `payload_schema_of` returns."""
    number = payload_schema_of(record)
    match record:
        case TopicRecord():
            local: dict[str, Any] = {"customLabels": dict(sorted(record.labels.items()))}
            fields: dict[str, Any] = {
                "partitions": record.partitions,
                "kafkaName": record.kafka_name,
                "properties": dict(sorted(record.properties.items())),
                "local": local,
            }
            if number > 1:
                local["policies"] = _plain(record.local)
                fields["global"] = _plain(record.global_)
                pending = record.pending
                fields["pending"] = pending and {"step": pending.step.value, "kafkaId": pending.kafka_id}
            kind = AggregateKind.TOPIC
        case NamespaceRecord():
            fields = {"properties": dict(sorted(record.properties.items())), "policies": _plain(record.policies)}
            kind = AggregateKind.NAMESPACE
        case TenantRecord():
            fields = {"adminRoles": list(record.admin_roles), "allowedClusters": list(record.allowed_clusters)}
            kind = AggregateKind.TENANT
    fields["grants"] = {role: list(actions) for role, actions in sorted(record.grants.items())}
    return write(_schema(kind, number), fields)


def decode_topic(schema: int, payload: bytes) -> TopicRecord | None:
    """Return the topic in `payload`, or None if it or a policy of it cannot be read, or it has a newer schema."""
    fields = _fields(AggregateKind.TOPIC, schema, payload)
    if not _is_topic(fields):
        return None
    local, global_ = _policies(fields["local"].get("policies")), _policies(fields.get("global"))
    if not (_are_whole(local) and _are_whole(global_)):
        return None
    return TopicRecord(
        fields["partitions"],
        fields["kafkaName"],
        frozen(fields["properties"]),
        frozen(fields["local"]["customLabels"]),
        local,
        global_,
        _grants(fields),
        _pending(fields),
    )


def recall_topic(schema: int, payload: bytes) -> TopicRecord | None:
    """Return the same as `decode_topic`, with a cache of the last small ones, for topics that are read again."""
    return (_recalled_topic if len(payload) <= _RECALLED_BYTES else decode_topic)(schema, payload)


@lru_cache(maxsize=64)
def decode_indexed(schema: int, payload: bytes) -> Indexed | None:
    """Return the parts of the topic in `payload` that the fold indexes, or None if it cannot be read.

    Policies are no such part, so a topic whose policies are not whole is found by its labels.
    Caches the last few: a writer decodes what it has just handed to the log, while the log is busy with it.
    """
    fields = _fields(AggregateKind.TOPIC, schema, payload)
    if not _is_topic(fields):
        return None
    pending = fields.get("pending")
    step = None if pending is None else Step(pending["step"])
    local = fields["local"]["customLabels"]
    return made(Indexed, (local, fields["partitions"], fields["kafkaName"], step, _grants(fields)))


@lru_cache(maxsize=1024)
def decode_namespace(schema: int, payload: bytes) -> NamespaceRecord | None:
    """Return the namespace in `payload`, or None if it cannot be read or has a newer schema.

    Caches the last ones, because every request about a topic looks at its namespace.
    """
    fields = _fields(AggregateKind.NAMESPACE, schema, payload)
    if fields is None:
        return None
    policies = _policies(fields.get("policies")) or EMPTY
    return NamespaceRecord(frozen(fields["properties"]), policies, _grants(fields)) if _are_whole(policies) else None


@lru_cache(maxsize=1024)
def decode_tenant(schema: int, payload: bytes) -> TenantRecord | None:
    """Return the tenant in `payload`, or None if it cannot be read or has a newer schema."""
    fields = _fields(AggregateKind.TENANT, schema, payload)
    if fields is None:
        return None
    return TenantRecord(tuple(fields["adminRoles"]), tuple(fields["allowedClusters"]), _grants(fields))


def decode_record(kind: AggregateKind, schema: int, payload: bytes) -> Record | None:
    """Return the record of any kind in `payload`, or None if it cannot be read or has a newer schema."""
    match kind:
        case AggregateKind.TOPIC:
            return decode_topic(schema, payload)
        case AggregateKind.NAMESPACE:
            return decode_namespace(schema, payload)
        case AggregateKind.TENANT:
            return decode_tenant(schema, payload)
        case AggregateKind.NONE:
            return None


_recalled_topic = lru_cache(maxsize=1024)(decode_topic)


def _is_topic(fields: dict[str, Any] | None) -> TypeGuard[dict[str, Any]]:
    """Return whether the fields are those of a valid topic."""
    if fields is None or not 0 <= fields["partitions"] <= MAX_PARTITIONS:
        return False
    pending = fields.get("pending")
    return pending is None or pending["step"] in _STEPS


def _pending(fields: Mapping[str, Any]) -> Pending | None:
    found = fields.get("pending")
    return None if found is None else Pending(Step(found["step"]), found["kafkaId"])


def _plain(policies: Policies | None) -> Any:
    return None if policies is None else plain_value(dict(sorted(policies.items())))


def _policies(fields: Mapping[str, Any] | None) -> Policies | None:
    policies: Policies | None = None if fields is None else frozen_value(fields)
    return policies


def _are_whole(policies: Policies | None) -> bool:
    """Return whether each policy has all that its kind has, for a retention of which half was taken deletes data.

    Nor may a number be too large: the Avro library reads more than 32 bits for an `int`, and does not write them.
    """
    return all(is_whole(BY_NAME[name].kind, value) for name, value in (policies or EMPTY).items())


def _grants(fields: Mapping[str, Any]) -> Grants:
    found = fields.get("grants")
    if not found:
        return NO_GRANTS
    return MappingProxyType({role: tuple(actions) for role, actions in sorted(found.items())})


def _fields(kind: AggregateKind, schema: int, payload: bytes) -> dict[str, Any] | None:
    return read(_schema(kind, schema), payload) if 1 <= schema <= PAYLOAD_SCHEMA else None


@cache
def _schema(kind: AggregateKind, number: int) -> Any:
    return schema_called(f"{kind.name.lower()}-{number}")
