"""The header state of one aggregate: what verdicts, digests and answers need to know about it."""

from __future__ import annotations

import hashlib
import struct
from typing import NamedTuple

from topicfold.model.events import GENESIS

_HASHED = struct.Struct(">B?HH16s16s16sH")
_DIGEST_MODULUS = 1 << 128


class Etag(NamedTuple):
    """Which update last changed a record: the event that carried it, and its place in that event, from 1.

    It is folded separately from the version: an event that changes nothing leaves it as it is.
    """

    event_id: bytes
    place: int

    def __str__(self) -> str:
        return f"{self.event_id.hex()}.{self.place}"


NO_ETAG = Etag(GENESIS, 0)


class Aggregate(NamedTuple):
    """One tenant, namespace or topic at one position.

    `version` is the id of the last accepted event. It stays when the record is deleted (a tombstone), so that a late
    event cannot take effect on a successor. `incarnation` is set for namespaces only: the id of the put that made it
    live. `payload` is empty unless `is_live`. `offset` is that of the last accepted event, −1 for none.
    """

    version: bytes
    is_live: bool
    etag: Etag
    payload_schema: int
    payload: bytes
    offset: int
    incarnation: bytes = GENESIS


ABSENT = Aggregate(GENESIS, False, NO_ETAG, 0, b"", -1)


def hash_of(kind: int, name: str, aggregate: Aggregate) -> int:
    """Return the 128-bit hash of an aggregate's header state and raw bytes; digests are sums of these."""
    raw = name.encode()
    version, is_live, (event_id, place), schema, payload, _, incarnation = aggregate
    head = _HASHED.pack(kind, is_live, schema, place, version, event_id, incarnation, len(raw))
    return int.from_bytes(hashlib.blake2b(head + raw + payload, digest_size=16).digest(), "big")


def add_hashes(total: int, new: int, old: int = 0) -> int:
    """Return the digest sum `total` with `old` replaced by `new`."""
    return (total + new - old) % _DIGEST_MODULUS
