"""JSON schemas of policies, for the OpenAPI document, as the table of policies has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from topicfold.model.policy.description import Policy
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
    """Return the JSON schema of the values of a kind; an object's title is what Pulsar calls it."""
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
            return {"type": "string", "title": kind.name, "enum": list(kind.constants)}
        case ListOf():
            return {"type": "array", "items": schema_of(kind.item), "maxItems": MAX_ITEMS}
        case MapOf():
            value = schema_of(kind.value)
            if kind.keys:
                properties = dict.fromkeys(kind.keys, value)
                name = {"title": f"{kind.value.name}Map"} if isinstance(kind.value, Shape) else {}
                return {"type": "object", **name, "properties": properties, "additionalProperties": False}
            return {"type": "object", "additionalProperties": value, "maxProperties": MAX_ITEMS}
        case Shape():
            properties = dict(pair for each in kind.members for pair in _properties(each))
            return {"type": "object", "title": kind.name, "properties": properties}
        case _:
            assert_never(kind)


def schema_of_all(policies: Iterable[Policy] = POLICIES, title: str = "ScopePolicies") -> dict[str, Any]:
    """Return the JSON schema of the policies of one level, by name; those that are not set are left out."""
    properties = {policy.name: schema_of(policy.kind) | {"description": policy.doc} for policy in policies}
    return {"type": ["object", "null"], "title": title, "properties": properties, "additionalProperties": False}


def patch_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of merge patches of what `schema` describes: null removes a member, none has a default.

    >>> patch_schema({"type": "object", "title": "Nap", "properties": {"a": {"type": "integer", "default": 0}}})
    {'type': 'object', 'title': 'NapPatch', 'properties': {'a': {'type': ['integer', 'null']}}}
    """
    patch = {name: each for name, each in schema.items() if name not in ("default", "maxProperties")}
    if "title" in schema and "enum" not in schema:
        patch["title"] = f"{schema['title']}Patch"
    if "properties" in schema:
        patch["properties"] = {name: _or_null(each) for name, each in schema["properties"].items()}
    if schema.get("additionalProperties"):
        patch["additionalProperties"] = _or_null(schema["additionalProperties"])
    return patch


def _or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    patch = patch_schema(schema) | {"type": [schema["type"], "null"]}
    return patch | {"enum": [*schema["enum"], None]} if "enum" in schema else patch


def _properties(member: Member) -> list[tuple[str, dict[str, Any]]]:
    """Return a member as a schema has it; one with two names has no default, or who gives the older sends both."""
    schema = schema_of(member.kind) | {"description": member.doc}
    if member.alias:
        older = schema | {"description": f"The same as {member.name}, which counts where both are given."}
        return [(member.name, schema), (member.alias, older | {"deprecated": True})]
    if member.missing is not None:
        schema["default"] = plain_value(member.missing)
    return [(member.name, schema)]
