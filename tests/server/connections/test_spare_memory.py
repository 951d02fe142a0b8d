"""What a crowd of clients has left is given back: once, when it has left, and without a look through what stays."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest

from topicfold.server.connections.spare_memory import CROWD, SpareMemory, give_back


def given_back(*clients: int) -> list[int]:
    """Return how often memory was given back by each look, where so many clients are seen."""
    given: list[None] = []
    spare = SpareMemory(lambda: given.append(None))
    counts = []
    for each in clients:
        spare.look(each)
        counts.append(len(given))
    return counts


def test_what_a_crowd_has_left_is_given_back_once() -> None:
    assert given_back(0, 3 * CROWD, 0, 0, 0, 0) == [0, 0, 0, 1, 1, 1]


def test_while_more_leave_it_is_not_given_back_yet() -> None:
    assert given_back(2 * CROWD, CROWD, CROWD // 2, 1, 1) == [0, 0, 0, 0, 1]


def test_those_who_stay_do_not_hinder_it_where_half_have_left() -> None:
    assert given_back(3 * CROWD, CROWD, CROWD) == [0, 0, 1]
    assert given_back(5 * CROWD, 3 * CROWD, 3 * CROWD) == [0, 0, 0]


def test_nothing_is_given_back_where_fewer_than_a_crowd_have_left() -> None:
    assert given_back(CROWD - 1, 0, 0, 0) == [0, 0, 0, 0]


def test_the_next_crowd_is_another() -> None:
    assert given_back(CROWD, 0, 0, CROWD, 0, 0, 0) == [0, 0, 1, 1, 1, 2, 2]


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="counts the blocks of CPython's allocator")
def test_what_python_keeps_of_freed_tuples_is_given_back() -> None:
    give_back()
    before = sys.getallocatedblocks()
    several = [tuple(range(size)) for size in range(1, 9) for _ in range(1_000)]
    del several
    kept = sys.getallocatedblocks() - before
    give_back()
    assert sys.getallocatedblocks() - before < kept / 4


class Ring:
    """Freed by nobody but the garbage collector."""

    def __init__(self) -> None:
        self.ring = self


def test_rings_that_were_just_left_are_freed() -> None:
    told = weakref.ref(Ring())
    give_back()
    assert told() is None


def test_what_is_old_is_not_looked_through_but_is_by_the_next_full_collection() -> None:
    ring = Ring()
    told = weakref.ref(ring)
    gc.collect()
    del ring
    give_back()
    assert told() is not None
    gc.collect()
    assert told() is None
