"""JSON schemas as generators of clients take them best: what has a name stands once, and no more is said than is meant.

A generator makes one class of a shape that has a name, and one of every place where it stands without. What pydantic
adds of its own, titles of members and null as a default, makes names that clash, and is refused by some.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REF = "#/components/schemas/{model}"
_NULL = {"type": "null"}


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
        if isinstance(title, str) and isinstance(schema.get("properties"), Mapping):
            return self._reference(title, schema)
        tidy = {key: self.tidy(each) for key, each in schema.items() if not _is_idle(key, each)}
        return _with_null(tidy)

    def _reference(self, name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return what stands for a shape once it is kept under its name, which itself is never null."""
        may_be_null = schema["type"] == ["object", "null"]
        kept = {key: each for key, each in schema.items() if key not in ("description", "default")}
        self.name(name, kept | {"type": "object"})
        beside = {"description": schema["description"]} if "description" in schema else {}
        reference = {"$ref": REF.format(model=name)}
        return ({"anyOf": [reference, _NULL]} if may_be_null else reference) | beside


def _is_idle(key: str, value: Any) -> bool:
    return (key == "title" and isinstance(value, str)) or (key == "default" and value is None)


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
