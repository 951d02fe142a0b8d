"""Events: the decoded records of the log, and the verdicts.

The numbers here are frozen, because logs contain them. New ones may be added, but none may change its meaning.
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
"""The highest payload schema that this version writes; it reads this one and all earlier ones."""

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
"""Flag of a namespace's delete: if the namespace has a live topic, the event is accepted, but as a refusal."""


class Verdict(IntEnum):
    """The outcome of one operation, in seven bits. From NOT_EMPTY on, it was refused, for that reason."""

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
    """Return whether this verdict is a refusal; those that only a newer node knows are refusals too."""
    return verdict >= Verdict.NOT_EMPTY


class Operation(NamedTuple):
    """One update carried by an event.

    `verdict` is a plain number, because a newer node may have written one that this version does not know.
    `body_hash` is 8 bytes of the request's hash, zeros if the server made the id.
    """

    id: bytes
    verdict: int
    by_client: bool
    body_hash: bytes


class Event(NamedTuple):
    """One record of the log, decoded, but without its verdict.

    `name` is the aggregate's (in a header record, the name of the hash). `payload` is the whole new record as its
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
"""The end of the year 9999, the last year that a date can be written with."""


class AuditTrail(NamedTuple):
    """The part of an event that is for people: one `Audit` for each operation, in order.

    `time_ms` is the writer's clock, for display only. `previous_offset` is the offset of the aggregate's previous
    event, −1 for the first; history follows this chain.
    """

    operations: tuple[Audit, ...]
    time_ms: int
    previous_offset: int

    @property
    def says_time(self) -> bool:
        """Whether `time_ms` is a valid time for an event."""
        return 0 < self.time_ms <= LAST_TIME_MS


@lru_cache(maxsize=4096)
def partition_of(name: str, partitions: int) -> int:
    """Return the partition of the namespace or tenant called `name`.

    The hash is named `HASH_NAME` in the log's header record: the first four bytes of SHA-256, big-endian.

    >>> partition_of("public/default", 8)
    3
    """
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % partitions


def handle_of_key(actor: str, method: str, aggregate: str, key: str) -> bytes:
    """Return the handle for a client's `Idempotency-Key`, the same on every node.

    A handle is the name of an operation as told to whoever requested it.
    """
    return _hashed(*(part.encode("utf-8", "surrogatepass") for part in (actor, method, aggregate, key)))


def operation_text(partition: int, handle: bytes) -> str:
    """Return the public form of an operation's handle; it names its partition."""
    return f"{partition}-{handle.hex()}"


def operation_of(actor: str, handle: bytes) -> bytes:
    """Return the id of the operation that `actor` means by `handle`.

    For another actor the same handle leads to another id, which does not exist; and nobody can find a handle that leads
    to a given id. So only its actor can learn an operation's outcome, without a record saying who that is.
    """
    return _hashed(actor.encode("utf-8", "surrogatepass"), handle)


def _hashed(*parts: bytes) -> bytes:
    """Return 16 bytes of a hash over the parts, each with its length, so that no two lists of parts are confused."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(4, "big"))
        digest.update(part)
    return digest.digest()[:16]
