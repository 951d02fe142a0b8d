"""The pattern index finds the patterns that a name matches, as trying each of them would."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.model.finding.naive_pattern import EXAMPLES, SMALL_NAMES, SMALL_PATTERNS, naive_matches, names, patterns
from topicfold.model.finding.pattern import parse_pattern
from topicfold.runtime.watching.pattern_index import PatternIndex


def index_of(texts: list[str], separator: str = "__") -> PatternIndex[str]:
    """Return an index in which each pattern is its own subscriber."""
    index = PatternIndex[str](separator)
    for text in texts:
        index.add(parse_pattern(text, separator), text)
    return index


def test_every_small_name_finds_the_small_patterns_that_it_matches() -> None:
    index = index_of(SMALL_PATTERNS)
    for name in ["", *SMALL_NAMES]:
        assert index.find(name) == {text for text in SMALL_PATTERNS if naive_matches(text, name)}


@given(st.lists(patterns, max_size=12), st.data(), names)
@settings(max_examples=EXAMPLES // 5)
def test_what_stays_registered_is_found_and_nothing_else(texts: list[str], data: st.DataObject, name: str) -> None:
    index = index_of(texts)
    gone = {text for text in texts if data.draw(st.booleans())}
    for text in gone:
        index.remove(parse_pattern(text), text)
    assert index.find(name) == {text for text in texts if text not in gone and naive_matches(text, name)}


def test_an_index_that_everybody_left_holds_nothing() -> None:
    index = index_of(SMALL_PATTERNS)
    for text in SMALL_PATTERNS:
        index.remove(parse_pattern(text), text)
    assert index._tables == {}
    assert not any(index._by_length)


def test_subscribers_of_one_pattern_come_and_go_alone_and_answers_are_sets_of_their_own() -> None:
    index = PatternIndex[int]()
    for subscriber in (1, 2, 2):
        index.add(parse_pattern("a__*"), subscriber)
    index.find("a__b").clear()
    assert index.find("a__b") == {1, 2}
    index.remove(parse_pattern("a__*"), 2)
    assert index.find("a__b") == {1}


@pytest.mark.parametrize("text", ["a__*", "a__b", "b__*"])
def test_what_is_not_registered_cannot_be_removed(text: str) -> None:
    index = PatternIndex[int]()
    index.add(parse_pattern("a__*"), 1)
    with pytest.raises(KeyError):
        index.remove(parse_pattern(text), 2)


def test_a_name_of_more_segments_than_any_pattern_finds_the_open_ones() -> None:
    index = index_of(["a.**", "*.*", "**", ".".join("*" * 31) + ".**", ".".join("*" * 32)], ".")
    assert index.find(".".join("a" * 40)) == {"a.**", "**", ".".join("*" * 31) + ".**"}
