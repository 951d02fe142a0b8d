"""Rings in columns hold what the engine's rings hold, whatever comes and however it is cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import an_id
from topicfold.compaction.folding import rings
from topicfold.compaction.folding.rings import Ring, latest_of, passed_over
from topicfold.snapshot.rows.ring_rows import entries
from topicfold.state.aggregate import Etag
from topicfold.state.operations import OperationRing, Settled

batches = st.lists(st.lists(st.integers(1, 9), max_size=8), max_size=5)


def rows(ids: list[int], first: int) -> np.ndarray:
    count = len(ids)
    columns = [
        np.frombuffer(b"".join(map(an_id, each)), np.uint8).reshape(-1, 16)
        for each in (ids, range(first, first + count))
    ]
    return entries(
        columns[0], np.ones(count, np.int64), columns[1], np.full(count, 300), np.zeros((count, 8), np.uint8)
    )


@given(batches, st.integers(1, 6))
def test_a_ring_in_columns_is_the_engines_ring(batches: list[list[int]], capacity: int) -> None:
    ring, engine, first = Ring(capacity, rows([], 0), 0), OperationRing(capacity), 0
    for batch in batches:
        ring, _ = ring.added(rows(batch, first))
        for number, each in enumerate(batch, first):
            engine.add(an_id(each), Settled(1, Etag(an_id(number), 300), bytes(8)))
        first += len(batch)
    assert ring.rows.tobytes() == b"".join(engine.rows())


def test_a_full_ring_counts_on() -> None:
    ring, fresh = Ring(2, rows([], 0), 0).added(rows([1, 2, 3], 0))
    assert (len(ring.rows), ring.number, len(fresh)) == (2, 3, 3)


def test_a_known_operation_is_not_new() -> None:
    ring, _ = Ring(5, rows([], 0), 0).added(rows([1, 2], 0))
    again, fresh = ring.added(rows([2, 3, 3], 7))
    assert fresh.tobytes() == rows([3], 8).tobytes()
    assert again.number == 3


def test_operations_that_many_follow_are_counted_and_looked_at_but_not_kept() -> None:
    ring, _ = Ring(2, rows([], 0), 0).added(rows([1], 0))
    passed = passed_over(np.zeros(1, np.int64), np.zeros(1, bool), rows([2], 1)[:, :16])["half"]
    assert ring.are_new(rows([3, 4], 2), passed)
    assert not ring.are_new(rows([2, 4], 2), passed)
    after = ring.with_new(rows([3, 4], 2), len(passed))
    assert (after.rows.tobytes(), after.number) == (rows([3, 4], 2).tobytes(), 4)


def test_only_the_latest_operations_of_each_kind_are_told_whole() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rings, "CAPACITIES", {"client": 1, "server": 2})
        kinds = np.array([True, False, True, False, False, True])
        assert latest_of(np.array([0, 0, 0, 0, 0, 1]), kinds).tolist() == [2, 3, 4, 5]
