"""Records that cannot be read: the errors that stand for their content. They never count as empty."""

from __future__ import annotations

from topicfold.errors import NewerSchema, Undecodable
from topicfold.model.events import PAYLOAD_SCHEMA, AggregateKind

_NAMED = {AggregateKind.TENANT: "tenant ", AggregateKind.NAMESPACE: "namespace "}
_HINTS = {
    AggregateKind.TENANT: "Replace its whole record with POST /admin/v2/tenants/...",
    AggregateKind.NAMESPACE: "Upgrade this node if others read it. If none does, the namespace can only be deleted.",
}


def unreadable(kind: AggregateKind, name: str, schema: int) -> NewerSchema | Undecodable:
    """Return the error for a record of payload schema `schema` that cannot be read: it is a newer node's, or damaged.

    What a newer node wrote is sound, and nobody is told to replace or delete it.
    """
    if schema > PAYLOAD_SCHEMA:
        return newer_schema(name, schema)
    reason = f"the record of {_NAMED.get(kind, '')}{name} cannot be read"
    return Undecodable(reason, name=name, hint=_HINTS.get(kind))


def newer_schema(name: str, schema: int) -> NewerSchema:
    """Return the error for a record that a newer node wrote."""
    return NewerSchema(f"{name} was written with payload schema {schema}, this node knows {PAYLOAD_SCHEMA}")
