"""The label index answers as a scan over all topics would, after any history."""

from __future__ import annotations

import json
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.state.label_scan import Topics
from topicfold.state.indexes.label_index import NO_LABELS

label_sets = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"), max_size=3)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
histories = st.lists(st.tuples(st.integers(0, 5), label_sets), max_size=30)


def by_key(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Return key → values of sorted pairs."""
    return {key: [value for _, value in group] for key, group in groupby(pairs, key=lambda pair: pair[0])}


@given(histories)
@settings(max_examples=200)
def test_every_postings_list_and_union_is_that_of_a_scan_and_none_is_empty(
    history: list[tuple[int, dict[str, str]]],
) -> None:
    topics = Topics(history)
    assert topics.listed() == {pair: topics.bearing(dict([pair])) for pair in topics.pairs()}
    assert topics.unions() == {
        key: sorted(number for number, labels in topics.borne.items() if key in labels)
        for key in by_key(topics.pairs())
    }


@given(histories)
def test_each_topics_labels_come_back_from_its_pair_numbers(history: list[tuple[int, dict[str, str]]]) -> None:
    topics = Topics(history)
    assert {number: topics.index.labels(ids) for number, ids in topics.ids.items()} == topics.borne


@given(st.lists(st.tuples(st.integers(0, 5), st.dictionaries(texts, texts, max_size=3)), max_size=20), st.booleans())
def test_labels_are_written_as_members_of_an_object_and_as_they_are_now(
    history: list[tuple[int, dict[str, str]]], all_the_while: bool
) -> None:
    topics = Topics([])
    for number, labels in history:
        topics.put(number, labels)
        if all_the_while:
            topics.index.members(list(topics.ids.values()))
    written = topics.index.members(list(topics.ids.values()))
    assert [json.loads(b"{%b}" % members) for members in written] == list(topics.borne.values())


def test_no_more_pairs_are_kept_as_written_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.state.indexes.label_index._MAX_WRITTEN", 2)
    topics = Topics([(number, {"a": str(number)}) for number in range(5)])
    written = [b'"a":"%d"' % number for number in range(5)]
    assert [topics.index.members(list(topics.ids.values())) for _ in range(2)] == [written, written]
    assert len(topics.index._written) <= 2


@given(histories)
def test_each_pair_is_borne_that_a_scan_finds_and_once(history: list[tuple[int, dict[str, str]]]) -> None:
    topics = Topics(history)
    assert sorted(topics.index.borne()) == topics.pairs()


def test_what_nobody_bears_any_more_is_let_go() -> None:
    topics = Topics([(0, {"a": "x", "": ""}), (1, {"a": "y"}), (0, {})])
    assert (topics.index.borne(), [pair for pair in topics.index._pairs if "x" in pair]) == ([("a", "y")], [])


@given(histories)
def test_an_index_that_everybody_left_is_empty(history: list[tuple[int, dict[str, str]]]) -> None:
    topics = Topics(history)
    for key in "abc":
        topics.index.having_above(key, 0)
    for number in range(6):
        topics.put(number, {})
    assert (topics.index.borne(), topics.listed(), topics.unions()) == ([], {}, {})
    assert topics.index._integers == {}
    assert set(topics.ids.values()) == {NO_LABELS}


def test_the_number_of_a_pair_that_vanished_is_used_again() -> None:
    topics = Topics([(0, {"a": "x"}), (1, {"b": "y"}), (0, {}), (2, {"c": "z"})])
    assert len(topics.index._pairs) == 2
    assert topics.index.having("a", "x") is None
    assert list(topics.index.having("c", "z") or ()) == [2]


def test_looking_for_what_nobody_bears_makes_nothing() -> None:
    index = Topics([(0, {"a": "x"})]).index
    assert (index.having("a", "y"), index.having("b", "x"), index.having_key("b")) == (None, None, None)
    assert index.borne() == [("a", "x")]


@given(histories)
def test_the_values_of_a_key_are_those_that_some_topic_bears(history: list[tuple[int, dict[str, str]]]) -> None:
    topics = Topics(history)
    values = {key: {*topics.index.values(key)} for key in topics.index.keys}
    assert values == {key: {*values} for key, values in by_key(topics.pairs()).items()}
    assert [*topics.index.values("nobody's")] == []
