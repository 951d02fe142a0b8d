"""Digest records: a node states digests of its own state, so that every node can compare them. No verdict reads them.

The payload of an event of kind `digest`, big-endian, is the partition (u16) and one or two statements, each a position
(u64) and the digest there (16 bytes). The name is the node's. Events of this kind with any other payload are ignored.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from topicfold.log.codec import encode_event
from topicfold.model.events import GENESIS, AggregateKind, Event, Kind

MAX_NAME_LENGTH = 255

_PARTITION = struct.Struct(">H")
_STATEMENT = struct.Struct(">Q16s")
_MAX_STATEMENTS = 2


class Statement(NamedTuple):
    """The digest of a partition's state at `position`."""

    position: int
    digest: bytes


def digest_value(level: int, event_id: bytes, node: str, partition: int, statements: tuple[Statement, ...]) -> bytes:
    """Return the value of the record in which `node` makes one or two statements about `partition`."""
    payload = _PARTITION.pack(partition) + b"".join(_STATEMENT.pack(*each) for each in statements)
    return encode_event(
        Event(level, Kind.DIGEST, 0, event_id, AggregateKind.NONE, node[:MAX_NAME_LENGTH], 0, GENESIS, GENESIS, (), 0,
              payload, b"")
    )  # fmt: skip


def statements_in(event: Event, partition: int) -> tuple[Statement, ...]:
    """Return what a digest record states about `partition`; nothing if it names another partition or is malformed."""
    head, rest = event.payload[: _PARTITION.size], event.payload[_PARTITION.size :]
    if len(head) < _PARTITION.size or _PARTITION.unpack(head)[0] != partition or len(rest) % _STATEMENT.size:
        return ()
    found = tuple(Statement(*fields) for fields in _STATEMENT.iter_unpack(rest))
    return found if len(found) <= _MAX_STATEMENTS else ()
