"""The circumstances of a request, whatever protocol carries it: who asks, under which conditions, and until when."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from topicfold.model.events import Audit
from topicfold.model.names import TopicName
from topicfold.runtime.revision import Revision

ACTOR = "topicfold"
"""Who asks for what nodes change by themselves."""


class Consistency(Enum):
    """How current the state must be from which a read is answered."""

    LOCAL = "local"
    """Whatever is folded here, plus the request's minimum position."""
    BARRIER = "barrier"
    """Everything acknowledged before the request, by any node."""
    LINEARIZABLE = "linearizable"
    """The same, even where a broker that lost its leadership answers."""


def sees_all(name: TopicName) -> bool:
    """Return True: the caller may know of every topic."""
    return True


def never() -> bool:
    """Return False: the caller still waits for the answer."""
    return False


class Asked(NamedTuple):
    """A request's circumstances.

    `method` and `body` identify the request behind an Idempotency-Key (`key`). `deadline` is a time of the loop's
    clock. `if_match` is the ETag that must be current, "*" for any, "" for any or none; with `if_none_match` there must
    be none. `minimum` None waits for nothing. `sees` says which topics the caller may know of, beside the one asked
    about. `is_given_up` tells whether nobody waits for the answer any more.
    """

    deadline: float
    actor: str = ""
    reason: str = ""
    request_id: str = ""
    method: str = ""
    key: str | None = None
    body: bytes = b""
    if_match: str = ""
    if_none_match: bool = False
    minimum: Revision | None = None
    consistency: Consistency = Consistency.LOCAL
    sees: Callable[[TopicName], bool] = sees_all
    is_given_up: Callable[[], bool] = never

    @property
    def audit(self) -> Audit:
        """Who and why, for the history."""
        return Audit(self.actor, self.reason, self.request_id)

    @property
    def body_hash(self) -> bytes:
        """Return eight bytes that identify a request under its key, conditions included; zeros without a key.

        Logs hold them: how they are made does not change.
        """
        if self.key is None:
            return bytes(8)
        condition = b" " if self.if_none_match else self.if_match.encode()[:64]
        return hashlib.blake2b(self.body, digest_size=8, key=condition).digest()


class Written(NamedTuple):
    """An answered write. `etag` is that of the record after it; `revision` is a position at which it is visible.

    `deleted_kafka_topic` is the Kafka topic that this request deleted, `taken_kafka_topic` the one that it found there
    and took over; "" for none.
    """

    etag: str
    revision: Revision
    operation: str
    changed: bool
    deleted_kafka_topic: str = ""
    taken_kafka_topic: str = ""


class Cut(NamedTuple):
    """The moment a read is answered from: `age_seconds` is how old it may be."""

    revision: Revision
    age_seconds: float
