"""Which slice of a job folds a record. Said in SQL, for the JVM deals records out.

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


def range_of(number: int, slices: int) -> tuple[int, int]:
    """Return the first route of a slice, and the first that is above it."""
    return -(-number * ROUTES // slices), -(-(number + 1) * ROUTES // slices)


_ACTS = (bytes([Kind.PUT]), bytes([Kind.DELETE]))
_OWNERS = (bytes([AggregateKind.TENANT]), bytes([AggregateKind.NAMESPACE]))
_LEVEL = bytes([Kind.LEVEL])


def _sql_bytes(choices: tuple[bytes, ...]) -> str:
    return ", ".join(f"X'{each.hex()}'" for each in choices)


ROUTE_SQL = (
    f"crc32(substring(value, {_NAME_AT + 1}, "
    f"coalesce(cast(conv(hex(substring(value, {_LENGTH_AT + 1}, 2)), 16, 10) AS int), 0)))"
)
"""The route that the bytes in the column `value` ask for."""

IS_FOR_ALL_SQL = (
    f"((substring(value, {_KIND_AT + 1}, 1) IN ({_sql_bytes(_ACTS)})"
    f" AND substring(value, {_AGGREGATE_AT + 1}, 1) IN ({_sql_bytes(_OWNERS)}))"
    f" OR substring(value, {_KIND_AT + 1}, 1) = X'{_LEVEL.hex()}')"
)
"""Whether the bytes in the column `value` look like what decides over topics."""
