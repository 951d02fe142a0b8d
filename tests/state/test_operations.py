"""The rings of operation ids: bounded, exact inside the bound, and part of the digest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import an_id, operation
from topicfold.model.events import Verdict
from topicfold.state import operations
from topicfold.state.aggregate import Etag
from topicfold.state.operations import OperationRing, Operations, Settled

DONE = Settled(0, Etag(an_id(1), 1), bytes(8))


def ring(*entries: tuple[int, Settled], capacity: int = 10) -> OperationRing:
    """Return a ring to which these were added."""
    made = OperationRing(capacity)
    for number, settled in entries:
        made.add(an_id(number), settled)
    return made


def hashed(ring: OperationRing) -> bytes:
    """Return what digests hash of a ring."""
    return b"".join(ring.rows())


@given(st.lists(st.integers(0, 12), max_size=40), st.integers(1, 6))
def test_a_ring_holds_the_last_new_ids_and_nothing_else(numbers: list[int], capacity: int) -> None:
    found = ring(*((number, DONE) for number in numbers), capacity=capacity)
    kept: list[int] = []
    for number in numbers:
        kept = kept if number in kept else [*kept, number][-capacity:]
    assert [number for number in range(13) if found.get(an_id(number))] == sorted(kept)
    assert len(found) == len(kept)


def test_an_id_keeps_its_first_outcome_and_its_place() -> None:
    again = ring((1, DONE), (2, DONE), (1, DONE._replace(verdict=2)), (3, DONE), capacity=2)
    assert (again.get(an_id(1)), again.get(an_id(2))) == (None, DONE)
    assert ring((1, DONE), (1, DONE._replace(verdict=2))).get(an_id(1)) == DONE


def test_beyond_the_ring_an_id_is_new() -> None:
    later = DONE._replace(verdict=Verdict.UNCHANGED)
    assert ring((1, DONE), (2, DONE), (1, later), capacity=1).get(an_id(1)) == later


@pytest.mark.parametrize(
    "other",
    [
        ring((2, DONE), (1, DONE)),
        ring((1, DONE)),
        ring((1, DONE), (3, DONE)),
        ring((1, DONE._replace(verdict=1)), (2, DONE)),
        ring((1, DONE._replace(etag=Etag(an_id(2), 1))), (2, DONE)),
        ring((1, DONE._replace(etag=Etag(an_id(1), 2))), (2, DONE)),
        ring((1, DONE._replace(body_hash=b"other!!!")), (2, DONE)),
    ],
    ids=["order", "missing", "id", "verdict", "etag", "place", "body"],
)
def test_the_rows_that_digests_hash_tell_rings_apart_that_differ_in(other: OperationRing) -> None:
    assert hashed(other) != hashed(ring((1, DONE), (2, DONE)))


def test_what_fell_out_does_not_count_in_the_digest() -> None:
    assert hashed(ring((9, DONE), (1, DONE), capacity=1)) == hashed(ring((1, DONE), capacity=1))


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=60), st.integers(1, 9))
def test_a_ring_that_was_hashed_or_restored_on_the_way_is_the_same(
    added: list[tuple[int, bool]], capacity: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operations, "_PIECE_ROWS", 3)
        asked, restored, numbers = OperationRing(capacity), OperationRing(capacity), [number for number, _ in added]
        for number, is_asked in added:
            for each in (asked, restored):
                each.add(an_id(number), DONE)
            if is_asked:
                rows, restored = hashed(asked), OperationRing(capacity)
                restored.restore(rows)
        plain = ring(*((number, DONE) for number in numbers), capacity=capacity)
        assert hashed(asked) == hashed(restored) == hashed(plain)
        assert all(restored.get(an_id(number)) == plain.get(an_id(number)) for number in numbers)


def test_ids_of_the_server_cannot_push_out_keys_of_clients() -> None:
    rings = Operations(client_capacity=1, server_capacity=1)
    rings.add(operation(1, by_client=True), Verdict.CHANGED, DONE.etag)
    for number in (2, 3):
        rings.add(operation(number, by_client=False), Verdict.CHANGED, DONE.etag)
    assert [bool(rings.get(an_id(number))) for number in (1, 2, 3)] == [True, False, True]
