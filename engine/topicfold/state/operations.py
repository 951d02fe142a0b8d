"""The rings of operation ids: what each of the last operations of a partition came to.

Folded state: exact inside its horizon, on every node and across restarts. Clients' keys and ids that the server
made have a ring each, so a flood of the one cannot push out the other. Beyond the ring an id is new.
"""

from __future__ import annotations

import hashlib
from collections import deque
from typing import NamedTuple

from topicfold.model.events import CLIENT_RING, SERVER_RING, Operation
from topicfold.state.aggregate import Etag


class Settled(NamedTuple):
    """What became of one operation. `verdict` is a number of `Verdict`; `etag` the record's after it."""

    verdict: int
    etag: Etag
    body_hash: bytes


class OperationRing:
    """The last `capacity` operations, each with its outcome, oldest first."""

    __slots__ = ("_by_id", "_order", "capacity")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._by_id: dict[bytes, Settled] = {}
        self._order: deque[bytes] = deque()

    def add(self, operation_id: bytes, settled: Settled) -> None:
        """Remember one outcome; the oldest falls out when the ring is full. A known id keeps its first outcome."""
        if operation_id in self._by_id:
            return
        self._by_id[operation_id] = settled
        self._order.append(operation_id)
        if len(self._order) > self.capacity:
            del self._by_id[self._order.popleft()]

    def get(self, operation_id: bytes) -> Settled | None:
        """Return what became of an operation, None where the ring does not know it."""
        return self._by_id.get(operation_id)

    def digest(self) -> bytes:
        """Return the hash of the ring's content in its order. Cost: O(capacity)."""
        digest = hashlib.blake2b(digest_size=16)
        for operation_id in self._order:
            verdict, (event_id, place), body_hash = self._by_id[operation_id]
            digest.update(b"%b%c%b%b%b" % (operation_id, verdict, event_id, place.to_bytes(2, "big"), body_hash))
        return digest.digest()

    def __len__(self) -> int:
        return len(self._order)


class Operations:
    """Both rings of a partition."""

    __slots__ = ("by_client", "by_server")

    def __init__(self, client_capacity: int = CLIENT_RING, server_capacity: int = SERVER_RING) -> None:
        self.by_client = OperationRing(client_capacity)
        self.by_server = OperationRing(server_capacity)

    def add(self, operation: Operation, verdict: int, etag: Etag) -> Settled:
        """Remember what an accepted event made of one operation, and return it."""
        settled = Settled(verdict, etag, operation.body_hash)
        (self.by_client if operation.by_client else self.by_server).add(operation.id, settled)
        return settled

    def get(self, operation_id: bytes) -> Settled | None:
        """Return what became of an operation, None where neither ring knows it."""
        return self.by_client.get(operation_id) or self.by_server.get(operation_id)
