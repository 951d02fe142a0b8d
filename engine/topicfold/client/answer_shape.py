"""What an answer's JSON must have at least. More is passed over, so that newer servers can add some.

An answer that lacks it is not Topicfold's. Nothing is filled in.
"""

from __future__ import annotations

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
    match shape:
        case dict():
            require_shape(value, dict)
            for name, each in shape.items():
                for member in value if name == EACH else (name,):
                    require_shape(value[member], each)
        case list():
            require_shape(value, list)
            for item in value:
                require_shape(item, shape[0])
        case (member_shape,):
            if value is not None:
                require_shape(value, member_shape)
        case _ if not isinstance(value, shape):
            raise TypeError(f"{type(value).__name__} in the place of {getattr(shape, '__name__', shape)}")
