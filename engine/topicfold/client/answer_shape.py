"""What an answer's JSON must have at least. More is passed over, so that newer servers can add some.

An answer that lacks it is not Topicfold's. Nothing is filled in.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import UnionType
from typing import Any

Shape = type | UnionType | list["Shape"] | dict[str, "Shape"] | tuple["Shape"]
"""A type; a list with the shape of each item; an object with the shapes of its members; in a tuple, what may be null
instead."""

EACH = "..."
"""Stands for every member of an object, whatever it is called."""

TEXTS: Shape = {EACH: str}
MATCH: Shape = {"name": str, "labels": TEXTS, "version": str, "partitions": int}
TOPIC: Shape = {"name": str, "labels": TEXTS, "etag": str, "partitions": int}
NAMESPACE: Shape = {"name": str, "properties": TEXTS, "policies": {EACH: object}, "etag": str}
TENANT: Shape = {"adminRoles": [str], "allowedClusters": [str]}
OPERATION: Shape = {"operation": str, "state": str, "asOf": str}
EXPLANATION: Shape = {
    "selector": str,
    "topics": int,
    "matched": int,
    "hints": [str],
    "position": str,
    "requirements": [{"requirement": str, "key": str, "topics": int, "takesTopicsWithoutKey": bool}],
}
HISTORY: Shape = {
    "name": str,
    "before": str | None,
    "items": [
        {
            "etag": str,
            "offset": int,
            "position": str,
            "kind": str,
            "time": str | None,
            "madeBy": [{"actor": str, "reason": str | None, "requestId": str | None}],
            "changes": ([{"path": [str], "old": object, "new": object}],),
        }
    ],
}
DIAGNOSIS: Shape = {
    "healthy": bool, "node": str,
    "scrub": ({"at": str, "topics": int, "found": int},),
    "snapshot": ({"path": str, "sequence": int | None, "ageSeconds": float | int | None},),
    "problems": [{"what": str, "next": str}],
    "partitions": [{
        "partition": int, "ready": bool, "position": int, "digest": str,
        "compared": ({"at": str, "node": str},), "differences": {EACH: int}, "undecodableTopics": int,
    }],
}  # fmt: skip
READINESS: Shape = {"ready": bool, "partitions": {EACH: {"undecodableTopics": int}}}
EFFECTIVE: Shape = {
    "policies": {EACH: {"value": object, "origin": str | None, "origins": {EACH: str}, "enforcedBy": str}}
}


def has_shape(value: Any, shape: Shape) -> bool:
    """Return whether a JSON value has this shape."""
    try:
        require_shape(value, shape)
    except (KeyError, TypeError):
        return False
    return True


def require_shape(value: Any, shape: Shape) -> None:
    """Return if a JSON value has this shape.

    >>> require_shape({"names": ["a"], "more": None}, {"names": [str]})
    >>> require_shape({"a": ["x"], "b": [1]}, {EACH: [str]})
    Traceback (most recent call last):
    TypeError: int in the place of str

    >>> require_shape({"next": None}, {"next": ({"what": str},)})

    Raises:
        KeyError: a member is missing.
        TypeError: something is of another type.
    """
    if isinstance(shape, dict):
        _require_type(value, dict)
        for name, each in shape.items():
            if name == EACH:
                _require_all(value.values(), each)
            elif type(value[name]) is not each:
                require_shape(value[name], each)
    elif isinstance(shape, list):
        _require_type(value, list)
        _require_all(value, shape[0])
    elif isinstance(shape, tuple):
        if value is not None:
            require_shape(value, shape[0])
    else:
        _require_type(value, shape)


def _require_all(values: Iterable[Any], shape: Shape) -> None:
    if isinstance(shape, type) and {*map(type, values)} <= {shape}:  # a list of topics has many labels
        return
    for each in values:
        require_shape(each, shape)


def _require_type(value: Any, kind: type | UnionType) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{type(value).__name__} in the place of {getattr(kind, '__name__', kind)}")
