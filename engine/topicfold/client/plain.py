"""Texts that are a `str` and nothing else, of whatever somebody gives as texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, cast

T = TypeVar("T")


def plain(given: T) -> T:
    """Return what was given, each text in it, however deep, as a plain `str`.

    A member of an enumeration that is a `str` passes for its value everywhere but where texts are put together: there
    it writes its own name. Other kinds of `str` escape themselves. What an iterator yields comes back as a tuple.

    >>> from enum import Enum
    >>> Topics = Enum("Topics", {"ORDERS": "orders"}, type=str)
    >>> str(Topics.ORDERS), plain(Topics.ORDERS), plain({"match": [Topics.ORDERS]})
    ('Topics.ORDERS', 'orders', {'match': ['orders']})
    """
    return cast("T", _plain(given))


def _plain(given: Any) -> Any:
    match given:
        case str():
            return str.__str__(given)
        case Mapping():
            return {_plain(key): _plain(value) for key, value in given.items()}
        case list() | tuple() | set() | frozenset():
            builtin = next(each for each in (list, tuple, set, frozenset) if isinstance(given, each))
            return builtin(map(_plain, given))
        case Iterator():
            return tuple(map(_plain, given))
        case _:
            return given
