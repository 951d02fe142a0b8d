"""The rings of operation ids, in columns: the same as `state.operations.OperationRing`, a batch at a time.

An operation is one row of 43 bytes, in the layout that digests hash, so a ring's digest is one hash over its rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from topicfold.compaction.folding.spans import Bytes, Flags, Numbers, binaries
from topicfold.model.events import CLIENT_RING, SERVER_RING
from topicfold.snapshot.tables import RINGS

OPERATIONS = np.dtype([("partition", "<i4"), ("offset", "<i8"), ("by_client", "?"), ("entry", "u1", (43,))])
"""An operation of an accepted event: where that event is in the log, and the operation as a ring keeps it."""

_NO_HALVES = np.zeros(0, np.uint64)

PASSED = np.dtype([("partition", "<i4"), ("by_client", "?"), ("half", "<u8")])
"""An operation that does not stay in its ring, because too many follow: only the last eight bytes of its id."""

CAPACITIES = {"client": CLIENT_RING, "server": SERVER_RING}


def latest_of(partitions: Numbers, by_client: Flags) -> Numbers:
    """Return the places, in rising order, of the operations that may still be in a ring after all of them."""
    kinds = partitions * 2 + by_client
    found = [np.zeros(0, np.int64)]
    for kind in np.unique(kinds).tolist():
        found.append(np.flatnonzero(kinds == kind)[-CAPACITIES["client" if kind % 2 else "server"] :])
    return np.sort(np.concatenate(found))


def passed_over(partitions: Numbers, by_client: Flags, ids: Bytes) -> npt.NDArray[np.void]:
    """Return operations in the form of `PASSED`."""
    rows = np.zeros(len(ids), PASSED)
    rows["partition"], rows["by_client"], rows["half"] = partitions, by_client, _halves(ids)
    return rows


@dataclass(frozen=True, slots=True)
class Ring:
    """The last operations of one kind, oldest first; `number` counts all there ever were, dropped ones included."""

    capacity: int
    rows: Bytes
    number: int

    def added(self, more: Bytes) -> tuple[Ring, Bytes]:
        """Return the ring after adding `more` operations in order, and those of them that were new to it."""
        if self.are_new(more):
            return self.with_new(more, 0), more
        rows, kept = self._one_by_one(more)
        return Ring(self.capacity, rows, self.number + len(kept)), kept

    def with_new(self, more: Bytes, passed: int) -> Ring:
        """Return the ring after `passed` other operations and then `more`, in order; all of them must be new."""
        return Ring(
            self.capacity, np.concatenate([self.rows, more])[-self.capacity :], self.number + passed + len(more)
        )

    def are_new(self, more: Bytes, passed: npt.NDArray[np.uint64] = _NO_HALVES) -> bool:
        """Return whether no id is known or repeated; may wrongly return False, as it compares only half of each id."""
        ids = np.concatenate([_halves(self.rows), _halves(more), passed])
        ids.sort()
        return not (ids[1:] == ids[:-1]).any()

    def _one_by_one(self, more: Bytes) -> tuple[Bytes, Bytes]:
        ring = {row[:16].tobytes(): row for row in self.rows}
        kept = []
        for row in more:
            operation = row[:16].tobytes()
            if operation in ring:
                continue
            ring[operation] = row
            kept.append(row)
            if len(ring) > self.capacity:
                del ring[next(iter(ring))]
        return _rows(list(ring.values())), _rows(kept)


def empty_ring(kind: str) -> Ring:
    """Return the ring of a new partition."""
    return Ring(CAPACITIES[kind], _rows([]), 0)


def ring_rows(partition: int, kind: str, first: int, rows: Bytes) -> pa.Table:
    """Return operations as rows of the table `rings`; `first` is the number of the first one."""
    columns = {
        "partition": pa.array(np.full(len(rows), partition), pa.int32()),
        "ring": pa.array([kind] * len(rows), pa.string()),
        "number": pa.array(np.arange(first, first + len(rows))),
        "operation": binaries(rows[:, :16]),
        "verdict": pa.array(rows[:, 16], pa.int32()),
        "etag_id": binaries(rows[:, 17:33]),
        "etag_place": pa.array(rows[:, 33].astype(np.int32) * 256 + rows[:, 34], pa.int32()),
        "body_hash": binaries(rows[:, 35:]),
    }
    return pa.table([columns[each.name] for each in RINGS], schema=RINGS)


def _halves(rows: Bytes) -> npt.NDArray[np.uint64]:
    return np.ascontiguousarray(rows[:, 8:16]).view(np.uint64).reshape(-1)


def _rows(rows: list[Bytes]) -> Bytes:
    return np.stack(rows) if rows else np.zeros((0, 43), np.uint8)
