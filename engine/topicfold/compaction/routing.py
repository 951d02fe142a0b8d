"""Which slice of a job folds a record. Said twice, in Python and in SQL: the JVM deals records out. A test compares.

A topic's events go to the slice of its name; events of tenants and namespaces, and levels, go to all slices, for they
decide over topics. Only a hint is read here, from bytes that may be garbage: whatever a name's bytes are, all records
with them meet in one slice.
"""

from __future__ import annotations

import zlib

from topicfold.model.events import AggregateKind, Kind

ROUTES = 1 << 32
"""Routes are below this."""

_KIND_AT, _AGGREGATE_AT, _LENGTH_AT, _NAME_AT = 10, 28, 65, 77


def route_of(name: str) -> int:
    """Return where `name` lies among all names: the CRC-32 of its bytes. Frozen: tables are sorted by it."""
    return zlib.crc32(name.encode())


def slice_of(route: int, slices: int) -> int:
    """Return the slice of a route: slices are equal, neighbouring ranges of routes."""
    return route * slices // ROUTES


def range_of(number: int, slices: int) -> tuple[int, int]:
    """Return the first route of a slice, and the first that is above it."""
    return -(-number * ROUTES // slices), -(-(number + 1) * ROUTES // slices)


def route_of_value(value: bytes) -> int:
    """Return the route that a record's bytes ask for."""
    length = int.from_bytes(value[_LENGTH_AT : _LENGTH_AT + 2], "big")
    return zlib.crc32(value[_NAME_AT : _NAME_AT + length])


def is_for_all(value: bytes) -> bool:
    """Return whether a record's bytes look like what decides over topics."""
    kind, aggregate = value[_KIND_AT : _KIND_AT + 1], value[_AGGREGATE_AT : _AGGREGATE_AT + 1]
    is_owners = kind in _ACTS and aggregate in _OWNERS
    return is_owners or kind == _LEVEL


_ACTS = (bytes([Kind.PUT]), bytes([Kind.DELETE]))
_OWNERS = (bytes([AggregateKind.TENANT]), bytes([AggregateKind.NAMESPACE]))
_LEVEL = bytes([Kind.LEVEL])


def _sql_bytes(choices: tuple[bytes, ...]) -> str:
    return ", ".join(f"X'{each.hex()}'" for each in choices)


ROUTE_SQL = (
    f"crc32(substring(value, {_NAME_AT + 1}, "
    f"coalesce(cast(conv(hex(substring(value, {_LENGTH_AT + 1}, 2)), 16, 10) AS int), 0)))"
)
"""`route_of_value` over the column `value`."""

IS_FOR_ALL_SQL = (
    f"((substring(value, {_KIND_AT + 1}, 1) IN ({_sql_bytes(_ACTS)})"
    f" AND substring(value, {_AGGREGATE_AT + 1}, 1) IN ({_sql_bytes(_OWNERS)}))"
    f" OR substring(value, {_KIND_AT + 1}, 1) = X'{_LEVEL.hex()}')"
)
"""`is_for_all` over the column `value`."""
