"""The Avro schema of payloads, as the table of policies has it.

What nodes read with lies in `schemas/`, one file for each number ever used, and never changes; this says what the
newest of them must be, and a test compares. A policy that is added or altered needs a new number.
"""

from __future__ import annotations

from typing import Any, assert_never

from topicfold.model.policy.table import POLICIES
from topicfold.model.policy.values import Choice, Decimal, Flag, Kind, ListOf, MapOf, Number, Shape, Text


def policies_schema(namespace: str) -> dict[str, Any]:
    """Return the record `Policies`: a field for each policy, null where it is not set. Shapes are named once."""
    named: set[str] = set()
    return {
        "type": "record",
        "name": "Policies",
        "namespace": namespace,
        "doc": "Policies by name; null if not set.",
        "fields": [_field(policy.name, policy.kind, policy.doc, named) for policy in POLICIES],
    }


def _field(name: str, kind: Kind, doc: str, named: set[str]) -> dict[str, Any]:
    return {"name": name, "type": ["null", _type(kind, named)], "default": None, "doc": doc}


def _type(kind: Kind, named: set[str]) -> Any:
    match kind:
        case Number():
            return "int" if kind.bits == 32 else "long"
        case Decimal():
            return "double"
        case Flag():
            return "boolean"
        case Text() | Choice():
            return "string"
        case ListOf():
            return {"type": "array", "items": "string"}
        case MapOf():
            return {"type": "map", "values": _type(kind.value, named)}
        case Shape():
            if kind.name in named:
                return kind.name
            named.add(kind.name)
            return {
                "type": "record",
                "name": kind.name,
                "doc": f"Pulsar's {kind.name}.",
                "fields": [_field(member.name, member.kind, member.doc, named) for member in kind.members],
            }
        case _:
            assert_never(kind)
