"""The rings of operation ids: what each of the last operations of a partition came to.

Folded state: exact inside its horizon, on every node and across restarts. Clients' keys and ids that the server
made have a ring each, so a flood of the one cannot push out the other. Beyond the ring an id is new.
"""

from __future__ import annotations

import struct
from collections import deque
from itertools import islice
from typing import NamedTuple

from topicfold.model.events import CLIENT_RING, SERVER_RING, Operation
from topicfold.model.made import made
from topicfold.state.aggregate import Etag
from topicfold.state.digest import Rows

_OUTCOME = struct.Struct(">B16sH8s")
_ROW = struct.Struct(f">16s{_OUTCOME.size}s")
_PIECE_ROWS = 512


class Settled(NamedTuple):
    """What became of one operation. `verdict` is a number of `Verdict`; `etag` the record's after it."""

    verdict: int
    etag: Etag
    body_hash: bytes


class OperationRing:
    """The last `capacity` operations, each with its outcome in bytes, for few are asked for; oldest first.

    What digests hash of them is laid out when somebody asks for it and kept, so that the next who asks pays only for
    what has come since: 43 bytes an operation.
    """

    __slots__ = ("_by_id", "_dropped", "_laid_out", "_order", "_pieces", "_skipped", "capacity")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._by_id: dict[bytes, bytes] = {}
        self._order: deque[bytes] = deque()
        self._pieces: deque[bytes] = deque()
        self._skipped = 0
        self._laid_out = 0
        self._dropped = 0

    def add(self, operation_id: bytes, settled: Settled) -> None:
        """Remember one outcome; the oldest falls out when the ring is full. A known id keeps its first outcome."""
        if operation_id in self._by_id:
            return
        verdict, (event_id, place), body_hash = settled
        self._by_id[operation_id] = _OUTCOME.pack(verdict, event_id, place, body_hash)
        self._order.append(operation_id)
        if len(self._order) > self.capacity:
            del self._by_id[self._order.popleft()]
            self._dropped += 1

    def get(self, operation_id: bytes) -> Settled | None:
        """Return what became of an operation, None where the ring does not know it."""
        outcome = self._by_id.get(operation_id)
        if outcome is None:
            return None
        verdict, event_id, place, body_hash = _OUTCOME.unpack(outcome)
        return Settled(verdict, Etag(event_id, place), body_hash)

    def restore(self, rows: bytes) -> None:
        """Take the operations of a ring that is empty, oldest first, as digests hash them. Cost: 0.1 µs for each."""
        self._by_id = dict(_ROW.iter_unpack(rows))
        self._order = deque(self._by_id)
        size = _PIECE_ROWS * _ROW.size
        self._pieces = deque(rows[start : start + size] for start in range(0, len(rows), size))
        self._laid_out = len(self._order)

    def lay_out(self, limit: int = _PIECE_ROWS) -> bool:
        """Lay out up to `limit` operations that are not yet; return whether there are more. Cost: 0.1 µs for each."""
        self._forget_dropped()
        missing = len(self._order) - self._laid_out
        count = min(missing, limit, _PIECE_ROWS)
        if count:
            newest_first = list(islice(reversed(self._order), missing - count, missing))
            by_id = self._by_id
            piece = b"".join([operation_id + by_id[operation_id] for operation_id in reversed(newest_first)])
            if self._pieces and len(self._pieces[-1]) + len(piece) <= _PIECE_ROWS * _ROW.size:
                self._pieces[-1] += piece
            else:
                self._pieces.append(piece)
            self._laid_out += count
        return missing > count

    def rows(self) -> Rows:
        """Return the ring's content in its order, as digests hash it. Cost: as `lay_out` for what is not yet."""
        while self.lay_out():
            pass
        if not self._skipped:
            return tuple(self._pieces)
        return (memoryview(self._pieces[0])[self._skipped :], *islice(self._pieces, 1, None))

    def _forget_dropped(self) -> None:
        """Take those that fell out of the ring off the front of what is laid out."""
        self._laid_out -= min(self._dropped, self._laid_out)
        self._skipped += self._dropped * _ROW.size
        self._dropped = 0
        while self._pieces and self._skipped >= len(self._pieces[0]):
            self._skipped -= len(self._pieces.popleft())
        if not self._pieces:
            self._skipped = 0

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
        settled = made(Settled, (verdict, etag, operation.body_hash))
        (self.by_client if operation.by_client else self.by_server).add(operation.id, settled)
        return settled

    def restore(self, by_client: bytes, by_server: bytes) -> None:
        """Take both, as `OperationRing.restore` does."""
        self.by_client.restore(by_client)
        self.by_server.restore(by_server)

    def get(self, operation_id: bytes) -> Settled | None:
        """Return what became of an operation, None where neither ring knows it."""
        return self.by_client.get(operation_id) or self.by_server.get(operation_id)
