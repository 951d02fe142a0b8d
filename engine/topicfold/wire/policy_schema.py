"""JSON schemas of policies, for the OpenAPI document, as the table of policies has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from topicfold.model.policy.table import POLICIES
from topicfold.model.policy.values import (
    MAX_ITEMS,
    MAX_TEXT_LENGTH,
    Choice,
    Decimal,
    Flag,
    Kind,
    ListOf,
    MapOf,
    Member,
    Number,
    Shape,
    Text,
    plain_value,
)


def schema_of(kind: Kind) -> dict[str, Any]:
    """Return the JSON schema of the values of a kind."""
    match kind:
        case Number():
            return {"type": "integer", "format": f"int{kind.bits}"}
        case Decimal():
            return {"type": "number"}
        case Flag():
            return {"type": "boolean"}
        case Text():
            return {"type": "string", "maxLength": MAX_TEXT_LENGTH}
        case Choice():
            return {"type": "string", "enum": list(kind.constants)}
        case ListOf():
            return {"type": "array", "items": schema_of(kind.item), "maxItems": MAX_ITEMS}
        case MapOf():
            value = schema_of(kind.value)
            if kind.keys:
                return {"type": "object", "properties": dict.fromkeys(kind.keys, value), "additionalProperties": False}
            return {"type": "object", "additionalProperties": value, "maxProperties": MAX_ITEMS}
        case Shape():
            return {"type": "object", "properties": dict(pair for each in kind.members for pair in _properties(each))}
        case _:
            assert_never(kind)


def schema_of_all() -> dict[str, Any]:
    """Return the JSON schema of the policies of one scope, by name; those that are not set are left out."""
    properties = {policy.name: schema_of(policy.kind) | {"description": policy.doc} for policy in POLICIES}
    return {"type": ["object", "null"], "properties": properties, "additionalProperties": False}


def patch_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of merge patches of what `schema` describes: null removes a member, none has a default.

    >>> patch_schema({"type": "object", "properties": {"a": {"type": "integer", "default": 0}}})
    {'type': 'object', 'properties': {'a': {'type': ['integer', 'null']}}}
    """
    patch = {name: each for name, each in schema.items() if name not in ("default", "maxProperties")}
    if "properties" in schema:
        patch["properties"] = {name: _or_null(each) for name, each in schema["properties"].items()}
    if schema.get("additionalProperties"):
        patch["additionalProperties"] = _or_null(schema["additionalProperties"])
    return patch


def _or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    patch = patch_schema(schema) | {"type": [schema["type"], "null"]}
    return patch | {"enum": [*schema["enum"], None]} if "enum" in schema else patch


def _properties(member: Member) -> list[tuple[str, dict[str, Any]]]:
    schema = schema_of(member.kind) | {"description": member.doc}
    if member.missing is not None:
        schema["default"] = plain_value(member.missing)
    alias = [(member.alias, schema | {"description": f"The same as {member.name}."})] if member.alias else []
    return [(member.name, schema), *alias]
