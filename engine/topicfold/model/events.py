"""Events: what the log holds once its bytes are read, and the words verdicts are spelt with.

The numbers here are frozen: they stand in logs. New ones may be added, none may change its meaning.
"""

from __future__ import annotations

import hashlib
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

GENESIS = bytes(16)
"""The base of the first event of an aggregate, and the namespace id of events that have none."""

HASH_NAME = "sha256-be32"
SUPPORTED_LEVEL = 1
PAYLOAD_SCHEMA = 2
"""The highest schema that this version writes payloads with; it reads this one and all before it."""

CLIENT_RING = 65_536
SERVER_RING = 16_384


class Kind(IntEnum):
    """What an event does."""

    PUT = 1
    DELETE = 2
    BARRIER = 3
    DIGEST = 4
    LEVEL = 5
    HEADER = 6


class AggregateKind(IntEnum):
    """What an event is about."""

    NONE = 0
    TENANT = 1
    NAMESPACE = 2
    TOPIC = 3


REQUIRE_EMPTY = 0x01
"""Flag of a namespace's delete: accepted as a refusal where a topic lives."""


class Verdict(IntEnum):
    """What became of one operation, in seven bits. From NOT_EMPTY on: refused, and why."""

    CHANGED = 0
    UNCHANGED = 1
    NOT_EMPTY = 2
    TOPIC_NOT_FOUND = 3
    NAMESPACE_NOT_FOUND = 4
    TENANT_NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PRECONDITION_FAILED = 7
    TOO_MANY_LABELS = 8
    WRONG_KIND = 9
    FEWER_PARTITIONS = 10
    RECORD_TOO_LARGE = 11
    UNDECODABLE = 12
    TENANT_IN_USE = 13
    QUOTA_EXCEEDS_RETENTION = 14
    RETENTION_BELOW_QUOTA = 15
    POLICY_UNMET = 16
    CLUSTER_REFUSED = 17
    TOO_MANY_GRANTS = 18
    CLUSTER_NOT_FOUND = 19
    FAILED = 20
    CLUSTER_NOT_ALLOWED = 21
    PEER_CLUSTER = 22
    CLUSTER_UNKNOWN = 23


def is_refusal(verdict: int) -> bool:
    """Return whether an operation of this verdict was refused; one that only a newer node knows is a refusal, too."""
    return verdict >= Verdict.NOT_EMPTY


class Operation(NamedTuple):
    """One queued update inside an event.

    `verdict` is a plain number, for a newer node may have written one that this version does not know.
    `body_hash` is 8 bytes of the request's hash, zeros where the server made the id.
    """

    id: bytes
    verdict: int
    by_client: bool
    body_hash: bytes


class Event(NamedTuple):
    """One record of the log, taken apart but not judged.

    `name` is the aggregate's (a header record's: the name of the hash). `payload` is the whole new record as its
    writer produced it; `audit` says who and why, for people, never for a verdict.
    """

    level: int
    kind: int
    flags: int
    event_id: bytes
    aggregate_kind: int
    name: str
    partition_count: int
    base: bytes
    namespace_id: bytes
    operations: tuple[Operation, ...]
    payload_schema: int
    payload: bytes
    audit: bytes


class Audit(NamedTuple):
    """Who made one operation, and why."""

    actor: str
    reason: str
    request_id: str


LAST_TIME_MS = 253_402_300_799_999
"""The end of the year 9999, the last that dates are written with."""


class AuditTrail(NamedTuple):
    """The part of an event that is for people: one `Audit` for each operation, in their order.

    `time_ms` is the writer's clock, for display only. `previous_offset` is where the predecessor's event lies, −1
    for the first; history walks this chain.
    """

    operations: tuple[Audit, ...]
    time_ms: int
    previous_offset: int

    @property
    def says_time(self) -> bool:
        """Whether `time_ms` is one that an event can have been written at."""
        return 0 < self.time_ms <= LAST_TIME_MS


@lru_cache(maxsize=4096)
def partition_of(name: str, partitions: int) -> int:
    """Return the partition in which the namespace or tenant called `name` lives.

    The hash is named `HASH_NAME` in the log's header record: the first four bytes of SHA-256, big-endian.

    >>> partition_of("public/default", 8)
    3
    """
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % partitions


def handle_of_key(actor: str, method: str, aggregate: str, key: str) -> bytes:
    """Return the handle that a client's `Idempotency-Key` stands for: the same on every node.

    A handle is what an operation is called to whoever asked for it.
    """
    return _hashed(*(part.encode("utf-8", "surrogatepass") for part in (actor, method, aggregate, key)))


def operation_of(actor: str, handle: bytes) -> bytes:
    """Return the operation id that `actor` means by `handle`.

    To others the same handle means another operation, that there is not, and nobody can find a handle by which they
    would mean a certain one: so what became of an operation is told to its actor only, and no record says who that is.
    """
    return _hashed(actor.encode("utf-8", "surrogatepass"), handle)


def _hashed(*parts: bytes) -> bytes:
    """Return 16 bytes of a hash over the parts, which are counted, so that no two rows of them run together."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(4, "big"))
        digest.update(part)
    return digest.digest()[:16]
