"""Postings are a set of numbers, whatever their size and history."""

from __future__ import annotations

from array import array

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from pyroaring import BitMap

from topicfold.state.indexes.postings import SMALL_LIMIT, Postings

numbers = st.integers(0, 300) | st.integers(0, 2**32 - 1)


class PostingsAgainstASet(RuleBasedStateMachine):
    """Does the same to postings and to a set."""

    def __init__(self) -> None:
        super().__init__()
        self.postings = Postings()
        self.oracle: set[int] = set()

    @rule(number=numbers)
    def add(self, number: int) -> None:
        self.postings.add(number)
        self.oracle.add(number)

    @rule(number=numbers)
    def discard(self, number: int) -> None:
        self.postings.discard(number)
        self.oracle.discard(number)

    @rule(start=st.integers(0, 300), count=st.integers(0, 200))
    def add_a_run(self, start: int, count: int) -> None:
        for number in range(start, start + count):
            self.add(number)

    @rule(start=st.integers(0, 300), count=st.integers(0, 200))
    def discard_a_run(self, start: int, count: int) -> None:
        for number in range(start, start + count):
            self.discard(number)

    @rule(number=numbers)
    def look_for(self, number: int) -> None:
        assert (number in self.postings) == (number in self.oracle)

    @invariant()
    def holds_the_same_members_in_order(self) -> None:
        assert list(self.postings) == sorted(self.oracle) == list(self.postings.bitmap())
        assert len(self.postings) == len(self.oracle)


PostingsAgainstASet.TestCase.settings = settings(max_examples=40, stateful_step_count=25)
TestPostings = PostingsAgainstASet.TestCase


def form_after(members: int, removed: int) -> type:
    """Return in what form postings keep themselves after so many additions and removals."""
    postings = Postings()
    for number in range(members):
        postings.add(number)
    for number in range(removed):
        postings.discard(number)
    return type(postings._members)


def test_the_form_changes_above_the_limit_and_back_only_below_half_of_it() -> None:
    assert form_after(SMALL_LIMIT, 0) is array
    assert form_after(SMALL_LIMIT + 1, 0) is BitMap
    assert form_after(SMALL_LIMIT + 1, SMALL_LIMIT // 2) is BitMap
    assert form_after(SMALL_LIMIT + 1, SMALL_LIMIT // 2 + 2) is array


@given(st.lists(st.sets(st.integers(0, 400), max_size=200), min_size=1, max_size=5))
def test_a_union_holds_the_members_of_all_and_changes_none(members: list[set[int]]) -> None:
    sets = [Postings() for _ in members]
    for postings, numbers_in_it in zip(sets, members, strict=True):
        for number in numbers_in_it:
            postings.add(number)
    assert list(Postings.union(sets)) == sorted(set().union(*members))
    assert [set(postings) for postings in sets] == members
