"""Marks: a state's digest, to be had later, and never in the way of the fold."""

from __future__ import annotations

from itertools import count, islice

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import an_id, operation
from topicfold.model.events import GENESIS, AggregateKind, Event, Kind, partition_of
from topicfold.state.aggregate import Etag
from topicfold.state.fold import KEPT_DIGEST_RECORDS, PartitionState
from topicfold.state.operations import OperationRing, Operations, Settled

DIGEST = Event(1, Kind.DIGEST, 0, an_id(99), AggregateKind.NONE, "one", 0, GENESIS, GENESIS, (), 0, b"", b"")


def a_state() -> PartitionState:
    return PartitionState(0, 1, decode=lambda schema, payload: None, operations=Operations(3, 3))


def a_tenant(number: int, base: bytes = GENESIS) -> Event:
    """Return an event of a tenant that carries an operation."""
    assert partition_of("acme", 1) == 0
    return Event(1, Kind.PUT, 0, an_id(number), AggregateKind.TENANT, "acme", 0, base, GENESIS,
                 (operation(number),), 1, b"x", b"")  # fmt: skip


def test_a_mark_keeps_the_digest_of_its_moment() -> None:
    state, base, marks = a_state(), GENESIS, []
    for offset in range(10):
        state.apply(offset, a_tenant(offset + 1, base))
        base = an_id(offset + 1)
        marks.append((state.mark(), state.digest()))
    assert [mark.digest() for mark, _ in marks] == [digest for _, digest in marks]
    assert len({digest for _, digest in marks}) == len(marks)


def test_a_mark_speaks_of_every_position_since_the_last_accepted_event() -> None:
    state = a_state()
    for offset, event in enumerate((None, a_tenant(1), None, a_tenant(2, an_id(7)), None)):
        state.apply(offset, event)
    assert [position for position in range(9) if state.mark().speaks_of(position)] == [2, 3, 4, 5]


def test_a_digest_record_changes_nothing_and_is_remembered_with_the_state_there() -> None:
    state = a_state()
    state.apply(0, a_tenant(1))
    state.apply(1, DIGEST)
    before, state.keeps_marks = state.digest(), True
    state.apply(2, DIGEST)
    assert (state.digest(), state.accepted_to, state.position) == (before, 1, 3)
    assert [(each.offset, each.mark is not None) for each in state.digest_records] == [(1, False), (2, True)]
    mark = state.digest_records[-1].mark
    assert mark is not None
    assert (mark.since, mark.position, mark.digest()) == (1, 2, before)


def test_a_digest_record_of_another_level_is_not_remembered() -> None:
    state = a_state()
    state.apply(0, DIGEST._replace(level=2))
    assert not state.digest_records


def test_only_the_last_digest_records_are_kept() -> None:
    state = a_state()
    for offset in range(2 * KEPT_DIGEST_RECORDS):
        state.apply(offset, DIGEST)
    assert state.digest_records[0].offset == KEPT_DIGEST_RECORDS


@given(st.lists(st.tuples(st.integers(1, 12), st.sampled_from(["add", "rows", "lay out"])), max_size=60))
def test_a_ring_laid_out_bit_by_bit_is_that_laid_out_at_once(steps: list[tuple[int, str]]) -> None:
    bit_by_bit, at_once, numbers = OperationRing(7), OperationRing(7), count(1)
    for how_many, step in steps:
        if step == "lay out":
            bit_by_bit.lay_out(how_many)
        elif step == "rows":
            bit_by_bit.rows()
        else:
            for number in islice(numbers, how_many):
                for ring in (bit_by_bit, at_once):
                    ring.add(an_id(number), Settled(number % 3, Etag(an_id(number), 1), bytes(8)))
    assert b"".join(bit_by_bit.rows()) == b"".join(at_once.rows())
    assert len(b"".join(at_once.rows())) == 43 * len(at_once)
