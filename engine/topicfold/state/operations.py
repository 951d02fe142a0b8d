"""The rings of operation ids: the outcomes of the last operations of a partition.

This is folded state: exact for what the rings hold, on every node and across restarts. Clients' keys and ids made by
the server have separate rings, so a flood of one kind cannot push out the other. An id that a ring has dropped is new.
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
    """The outcome of one operation. `verdict` is a number of `Verdict`; `etag` is the record's after it."""

    verdict: int
    etag: Etag
    body_hash: bytes


class OperationRing:
    """The last `capacity` operations, oldest first. Outcomes are kept as bytes, because few are ever asked for.

    The layout that digests hash, 43 bytes an operation, is built on demand and kept, so that the next digest only
    costs what has been added since.
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
        """Add one outcome; a full ring drops the oldest. A known id keeps its first outcome."""
        if operation_id in self._by_id:
            return
        verdict, (event_id, place), body_hash = settled
        self._by_id[operation_id] = _OUTCOME.pack(verdict, event_id, place, body_hash)
        self._order.append(operation_id)
        if len(self._order) > self.capacity:
            del self._by_id[self._order.popleft()]
            self._dropped += 1

    def get(self, operation_id: bytes) -> Settled | None:
        """Return the outcome of an operation, None if the ring does not know it."""
        outcome = self._by_id.get(operation_id)
        if outcome is None:
            return None
        verdict, event_id, place, body_hash = _OUTCOME.unpack(outcome)
        return Settled(verdict, Etag(event_id, place), body_hash)

    def restore(self, rows: bytes) -> None:
        """Fill an empty ring with operations, oldest first, in the layout of digests. Cost: 0.1 µs for each."""
        self._by_id = dict(_ROW.iter_unpack(rows))
        self._order = deque(self._by_id)
        size = _PIECE_ROWS * _ROW.size
        self._pieces = deque(rows[start : start + size] for start in range(0, len(rows), size))
        self._laid_out = len(self._order)

    def lay_out(self, limit: int = _PIECE_ROWS) -> bool:
        """Lay out up to `limit` more operations; return whether there are others left. Cost: 0.1 µs for each."""
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
        """Return the ring's content in order, in the layout of digests. Cost: as `lay_out`, for what is missing."""
        while self.lay_out():
            pass
        if not self._skipped:
            return tuple(self._pieces)
        return (memoryview(self._pieces[0])[self._skipped :], *islice(self._pieces, 1, None))

    def _forget_dropped(self) -> None:
        """Remove what the ring has dropped from the front of the layout."""
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
        """Add the outcome of one operation of an accepted event, and return it."""
        settled = made(Settled, (verdict, etag, operation.body_hash))
        (self.by_client if operation.by_client else self.by_server).add(operation.id, settled)
        return settled

    def restore(self, by_client: bytes, by_server: bytes) -> None:
        """Fill both rings, as `OperationRing.restore` does."""
        self.by_client.restore(by_client)
        self.by_server.restore(by_server)

    def get(self, operation_id: bytes) -> Settled | None:
        """Return the outcome of an operation, None if neither ring knows it."""
        return self.by_client.get(operation_id) or self.by_server.get(operation_id)
