"""JSON schemas as generators of clients take them best: what has a name stands once, and no more is said than is meant.

A generator makes one class of a shape or an enumeration that has a name, and one of every place where it stands
without. What pydantic adds of its own, titles of members and null as a default, makes names that clash, and is refused
by some. An integer of no said size has 32 bits in Java, an object that takes no further members is one that a client
must refuse as soon as a newer server answers it with one more, and a member that must be there is read before it is
looked at whether it is null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

REF = "#/components/schemas/{model}"
_NULL = {"type": "null"}
_BESIDE = ("description", "default")
"""What is said where a shape stands, not of the shape."""


class ShapesOfModels(GenerateJsonSchema):
    """What pydantic says of models: with the size of integers, and no titles but those that are names."""

    def field_title_should_be_set(self, schema: object) -> bool:
        """Leave the titles of members away."""
        return False

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        """Return that of an integer: where nothing else is said, it may be an offset of the log."""
        return {**super().int_schema(schema), "format": "int64"}


def tidied(schemas: Mapping[str, Any], paths: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `schemas` with all that are named anywhere, and `paths` that refer to them.

    >>> nap = {"type": "object", "title": "Nap", "properties": {}}
    >>> tidied({}, {"/nap": {"schema": nap}, "/naps": {"schema": {"type": "array", "items": nap}}})[0]
    {'Nap': {'type': 'object', 'properties': {}}}

    Raises:
        ValueError: two shapes have one name.
    """
    tidying = _Tidying()
    for name, schema in schemas.items():
        tidying.name(name, schema)
    return tidying.named, tidying.tidy(paths)


class _Tidying:
    def __init__(self) -> None:
        self.named: dict[str, Any] = {}

    def name(self, name: str, schema: Mapping[str, Any]) -> None:
        """Keep a shape under its name."""
        found = self.tidy({key: each for key, each in schema.items() if key != "title"})
        if self.named.setdefault(name, found) != found:
            raise ValueError(f"two shapes are called {name}")

    def tidy(self, schema: Any) -> Any:
        """Return a schema, or whatever holds some, in which each shape with a name is a reference to it."""
        if isinstance(schema, list):
            return [self.tidy(each) for each in schema]
        if not isinstance(schema, Mapping):
            return schema
        title = schema.get("title")
        if isinstance(title, str) and (isinstance(schema.get("properties"), Mapping) or "enum" in schema):
            return self._reference(title, schema)
        tidy = {key: self.tidy(each) for key, each in schema.items() if not _is_idle(key, each)}
        if tidy.get("additionalProperties") is True:
            tidy["additionalProperties"] = {}
        return _with_null(_with_required(tidy))

    def _reference(self, name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return what stands for a shape once it is kept under its name, which itself is never null."""
        may_be_null = isinstance(schema["type"], list)
        kept = {key: each for key, each in schema.items() if key not in _BESIDE}
        if may_be_null:
            kept["type"] = schema["type"][0]
        if "enum" in schema:
            kept["enum"] = [each for each in schema["enum"] if each is not None]
        self.name(name, kept)
        beside = {key: schema[key] for key in _BESIDE if schema.get(key) is not None}
        reference = {"$ref": REF.format(model=name)}
        return ({"anyOf": [reference, _NULL]} if may_be_null else reference) | beside


def _is_idle(key: str, value: Any) -> bool:
    return (key == "title" and isinstance(value, str)) or (key, value) in (
        ("default", None),
        ("additionalProperties", False),
    )


def _with_required(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that requires no member that may be null."""
    required, members = schema.get("required"), schema.get("properties")
    if not isinstance(required, list) or not isinstance(members, Mapping):
        return schema
    return schema | {"required": [name for name in required if not _may_be_null(members[name])]}


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    return _NULL in schema.get("anyOf", ()) or "null" in schema.get("type", ())


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of what may be null as a list of types, where it is one: many know no other way to say so."""
    either = schema.get("anyOf")
    if not isinstance(either, list) or len(either) != 2 or either[1] != _NULL:
        return schema
    value: dict[str, Any] = either[0]
    if not isinstance(value.get("type"), str):
        return schema
    beside = {key: each for key, each in schema.items() if key != "anyOf"}
    constants = {"enum": [*value["enum"], None]} if "enum" in value else {}
    return value | {"type": [value["type"], "null"]} | constants | beside
