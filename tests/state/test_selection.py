"""Selecting from the index finds what trying every topic finds, after any history."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from tests.model.finding.naive_selector import CASES, label_sets, selectors
from tests.state.label_scan import Topics
from topicfold.model.finding.selector import Selector
from topicfold.model.finding.selector_text import parse_selector
from topicfold.state.indexes.postings import SMALL_LIMIT
from topicfold.state.selection import select

histories = st.lists(st.tuples(st.integers(0, 7), label_sets), max_size=20)


def matching(topics: Topics, selector: Selector) -> list[int]:
    """Return by trying each topic whom `selector` matches."""
    return sorted(number for number, labels in topics.borne.items() if selector.matches(labels))


def selected(topics: Topics, selector: Selector) -> list[int]:
    """Return from the index whom `selector` matches."""
    return list(select(topics.index, BitMap(topics.borne), selector))


@given(histories, selectors.map(parse_selector))
@settings(max_examples=1_000)
def test_what_is_selected_is_what_matches(history: list[tuple[int, dict[str, str]]], selector: Selector) -> None:
    topics = Topics(history)
    assert selected(topics, selector) == matching(topics, selector)


@given(histories, histories, st.lists(selectors.map(parse_selector), min_size=1, max_size=3))
@settings(max_examples=500)
def test_selecting_between_changes_makes_no_difference(
    before: list[tuple[int, dict[str, str]]], after: list[tuple[int, dict[str, str]]], tried: list[Selector]
) -> None:
    topics = Topics(before)
    for selector in tried:
        assert selected(topics, selector) == matching(topics, selector)
    for number, labels in after:
        topics.put(number, labels)
        for selector in tried:
            assert selected(topics, selector) == matching(topics, selector)


def test_a_number_that_stands_for_another_pair_now_is_no_integer_value_any_more() -> None:
    topics, above = Topics([(0, {"n": "5"}), (1, {"n": "9"})]), parse_selector("n>1")
    assert selected(topics, above) == [0, 1]
    topics.put(0, {})
    topics.put(2, {"a": "z"})
    assert selected(topics, above) == [1]


@given(histories, histories, st.integers(1, 3))
@settings(max_examples=500)
def test_a_key_is_made_comparable_in_steps_whatever_changes_between_them(
    before: list[tuple[int, dict[str, str]]], after: list[tuple[int, dict[str, str]]], most: int
) -> None:
    topics, selector = Topics(before), parse_selector("a>1")
    for number, labels in after:
        topics.index.make_comparable("a", most)
        topics.put(number, labels)
    assert selected(topics, selector) == matching(topics, selector)


def test_one_step_looks_at_no_more_pairs_than_it_may() -> None:
    topics = Topics([(number, {"n": str(number)}) for number in range(10)])
    steps = 1
    while not topics.index.make_comparable("n", 3):
        steps += 1
    assert steps == 4


def test_one_step_looks_at_fewer_pairs_where_many_topics_bear_them() -> None:
    topics = Topics([(number, {"n": str(number % 10)}) for number in range(SMALL_LIMIT * 20)])
    steps = 1
    while not topics.index.make_comparable("n", 3):
        steps += 1
    assert steps == 10
    assert selected(topics, parse_selector("n>7")) == matching(topics, parse_selector("n>7"))


def test_no_integer_values_are_kept_of_a_key_that_everybody_left() -> None:
    topics = Topics([(0, {"n": "5"})])
    assert selected(topics, parse_selector("n<9,x>1")) == []
    assert selected(topics, parse_selector("n<9")) == [0]
    topics.put(0, {})
    assert topics.index._integers == {}


@pytest.fixture(scope="module")
def many() -> Topics:
    """Topics whose postings are small and large."""
    labels = lambda n: {"a": str(n % 3), "b": str(n % 50), "n": str(n)} if n % 7 else {"c": str(n % 2)}  # noqa: E731
    return Topics([(number, labels(number)) for number in range(SMALL_LIMIT * 10)])


@given(
    st.lists(
        st.sampled_from(
            ["a=1", "a==2", "a!=0", "a in (0,2)", "b=7", "b in (3,4,5)", "b notin (1,2)", "b>40", "n<900", "n>100", "c",
             "!c", "c=1", "x", "!x", "x!=1", "x>1", "a in (7,8)", "a notin (0,1,2)"]
        ),
        max_size=4,
    )
)  # fmt: skip
@settings(max_examples=300)
def test_large_and_small_postings_are_selected_alike(many: Topics, requirements: list[str]) -> None:
    selector = parse_selector(",".join(requirements))
    assert selected(many, selector) == matching(many, selector)


@pytest.mark.parametrize("case", [each for each in CASES if each["expect"] != "error"], ids=lambda case: case["id"])
def test_every_public_case_holds_on_the_index(case: dict[str, Any]) -> None:
    topics = Topics([(1, {}), (3, case["labels"]), (4, {"app": "billing", "size": "x"})])
    assert (3 in selected(topics, parse_selector(case["selector"]))) is (case["expect"] == "match")


@pytest.mark.parametrize("text", ["", "!a", "b!=x", "c notin (x,y)"])
def test_the_universe_is_not_copied_where_nothing_is_taken_away(text: str) -> None:
    universe = BitMap(range(1_000))
    assert select(Topics([(1, {"b": "z", "c": "z"})]).index, universe, parse_selector(text)) is universe


def test_neither_the_index_nor_the_universe_is_changed(many: Topics) -> None:
    universe = BitMap(many.borne)
    before = many.listed()
    for text in ("a=1,b=7", "a!=1,b!=3", "a,!b", "a in (0,1,2),n>5,!c", "a notin (0,1)"):
        select(many.index, universe, parse_selector(text))
    assert universe == BitMap(many.borne)
    assert many.listed() == before
