"""Which slice of a job folds a record. Expressed in SQL, because the JVM distributes the records.

A topic's events go to the slice of its name. Events of tenants and namespaces, and level records, go to all slices,
because verdicts on topics depend on them. What is read here is only a hint, from bytes that may be garbage; but all
records with the same bytes for a name go to the same slice.
"""

from __future__ import annotations

import zlib

from topicfold.model.events import AggregateKind, Kind

ROUTES = 1 << 32
"""Routes are below this."""

_KIND_AT, _AGGREGATE_AT, _LENGTH_AT, _NAME_AT = 10, 28, 65, 77


def route_of(name: bytes) -> int:
    """Return the route of a name in UTF-8: its CRC-32. Frozen: tables are sorted by it."""
    return zlib.crc32(name)


def range_of(number: int, slices: int) -> tuple[int, int]:
    """Return the first route of a slice, and the first route of the next one."""
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
"""The route, read from the bytes in the column `value`."""

IS_FOR_ALL_SQL = (
    f"((substring(value, {_KIND_AT + 1}, 1) IN ({_sql_bytes(_ACTS)})"
    f" AND substring(value, {_AGGREGATE_AT + 1}, 1) IN ({_sql_bytes(_OWNERS)}))"
    f" OR substring(value, {_KIND_AT + 1}, 1) = X'{_LEVEL.hex()}')"
)
"""Whether the bytes in the column `value` look like a record that verdicts on topics depend on."""
