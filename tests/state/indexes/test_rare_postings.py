"""Rare postings against a dictionary of bags, in chunks small enough to split and vanish."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from topicfold.state.indexes import rare_postings
from topicfold.state.indexes.rare_postings import RarePostings

fingerprints = st.integers(0, 12) | st.sampled_from([2**31, 2**32 - 1])
numbers = st.integers(0, 5) | st.just(2**32 - 1)


class RareAgainstBags(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(rare_postings, "_CHUNK", 4)
        self.rare = RarePostings()
        self.bag: Counter[tuple[int, int]] = Counter()

    def teardown(self) -> None:
        self.patch.undo()

    @rule(fingerprint=fingerprints, number=numbers)
    def add(self, fingerprint: int, number: int) -> None:
        self.bag[fingerprint, number] += 1
        assert self.rare.add(fingerprint, number) == len(self.filed_under(fingerprint))

    @rule(fingerprint=fingerprints, number=numbers)
    def discard(self, fingerprint: int, number: int) -> None:
        self.bag -= Counter([(fingerprint, number)])
        self.rare.discard(fingerprint, number)

    @rule(fingerprint=fingerprints)
    def finds_what_the_bag_has(self, fingerprint: int) -> None:
        assert self.rare.numbers(fingerprint) == self.filed_under(fingerprint)

    @invariant()
    def holds_what_the_bag_holds_and_no_empty_chunk(self) -> None:
        assert list(self.rare) == sorted(self.bag.elements())
        assert len(self.rare._chunks) == len(self.rare._firsts) + 1
        assert all(self.rare._chunks) or len(self.rare._chunks) == 1

    def filed_under(self, fingerprint: int) -> list[int]:
        """Return the bag's numbers of one fingerprint."""
        return sorted(number for each, number in self.bag.elements() if each == fingerprint)


TestRareAgainstBags = RareAgainstBags.TestCase
TestRareAgainstBags.settings = settings(max_examples=150, stateful_step_count=40)


def test_chunks_split_so_that_none_grows_beyond_its_limit() -> None:
    rare = RarePostings()
    for number in range(5_000):
        rare.add(number * 2_654_435_761 % 2**32, number)
    assert max(map(len, rare._chunks)) <= rare_postings._CHUNK
    assert len(rare._chunks) < 5_000 // rare_postings._CHUNK * 4
