"""Selectors: what each requirement demands, what text a selector has, and selectors of labels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.finding.naive_selector import label_sets
from topicfold.errors import InvalidSelector
from topicfold.model.finding.selector import (
    DoesNotExist,
    Equals,
    Exists,
    GreaterThan,
    In,
    LessThan,
    NotEquals,
    NotIn,
    Requirement,
    Selector,
    integer_of,
    selector_of_labels,
)

AB = frozenset({"a", "b"})
ABSENT, EMPTY, A, C, TEN = {}, {"k": ""}, {"k": "a"}, {"k": "c"}, {"k": "10"}


@pytest.mark.parametrize(
    ("requirement", "held_for"),
    [
        (Exists("k"), [EMPTY, A, C, TEN]),
        (DoesNotExist("k"), [ABSENT]),
        (Equals("k", "a"), [A]),
        (Equals("k", "", "=="), [EMPTY]),
        (In("k", AB), [A]),
        (NotEquals("k", "a"), [ABSENT, EMPTY, C, TEN]),
        (NotIn("k", AB), [ABSENT, EMPTY, C, TEN]),
        (GreaterThan("k", "9"), [TEN]),
        (GreaterThan("k", "10"), []),
        (LessThan("k", "11"), [TEN]),
        (LessThan("k", "10"), []),
    ],
    ids=str,
)
def test_a_requirement_holds_for_what_the_table_says(requirement: Requirement, held_for: list[dict[str, str]]) -> None:
    everything = [ABSENT, EMPTY, A, C, TEN]
    assert [labels for labels in everything if requirement.holds(labels)] == held_for
    assert [labels for labels in everything if Selector((requirement,)).matches(labels)] == held_for


@pytest.mark.parametrize(
    ("value", "integer"),
    [("7", 7), ("+7", 7), ("-7", -7), ("0", 0), ("-0", 0), ("000", 0), ("0" * 5_000 + "12", 12), ("010", 10),
     (str(2**63 - 1), 2**63 - 1), (str(-(2**63)), -(2**63)), (str(2**63), None), (str(-(2**63) - 1), None),
     ("", None), ("+", None), ("1_0", None), (" 1", None), ("1\n", None), ("٣", None), ("²", None), ("1.0", None),
     ("0x1", None), ("--1", None), ("9" * 5_000, None), ("0" * 5_000 + "x", None)],
    ids=lambda each: ascii(each)[:20],
)  # fmt: skip
def test_an_integer_is_decimal_digits_within_64_bits_and_nothing_else(value: str, integer: int | None) -> None:
    assert integer_of(value) == integer


def test_all_requirements_must_hold_and_none_hold_for_everything() -> None:
    both = Selector((Exists("a"), NotEquals("b", "x")))
    assert [both.matches(labels) for labels in ({"a": ""}, {"a": "", "b": "x"}, {})] == [True, False, False]
    assert (Selector().is_empty, Selector().matches({}), Selector().matches({"a": "x"})) == (True, True, True)
    assert not both.is_empty


def test_positives_need_their_key_and_negatives_do_not() -> None:
    positives = (Equals("a", ""), Exists("b"), GreaterThan("c", "1"), In("d", AB), LessThan("e", "1"))
    negatives = (DoesNotExist("f"), NotEquals("g", ""), NotIn("h", AB))
    selector = Selector((*negatives, *positives))
    assert (selector.positives, selector.negatives) == (positives, negatives)
    assert not any(each.holds({}) for each in positives)
    assert all(each.holds({}) for each in negatives)


def test_the_text_is_sorted_by_key_and_keeps_signs_bounds_and_the_order_within_a_key() -> None:
    selector = Selector(
        (NotIn("z", AB), Equals("b", "x", "=="), DoesNotExist("c"), Exists("b"), In("a", frozenset({""})),
         GreaterThan("n", "007"), LessThan("n", "9"), NotEquals("y", ""), Equals("b", ""), In("d", AB | {""}))
    )  # fmt: skip
    assert str(selector) == "a in (),b==x,b,b=,!c,d in (,a,b),n>007,n<9,y!=,z notin (a,b)"


def test_the_order_of_different_keys_makes_no_difference() -> None:
    one, other = Selector((Exists("a"), Exists("b"))), Selector((Exists("b"), Exists("a")))
    assert (one, hash(one)) == (other, hash(other))


@given(label_sets)
def test_a_selector_of_labels_finds_who_bears_them_whatever_the_values(labels: dict[str, str]) -> None:
    selector = selector_of_labels(labels)
    assert selector.matches({**labels, "more": "x"})
    assert selector.is_empty is (not labels)
    assert not any(selector.matches({**labels, key: labels[key] + "x"}) for key in labels)


@given(*[st.dictionaries(st.sampled_from("ab"), st.text('ab,="', max_size=4), max_size=2)] * 2)
def test_only_equal_selectors_have_equal_texts(one: dict[str, str], other: dict[str, str]) -> None:
    same_text = str(selector_of_labels(one)) == str(selector_of_labels(other))
    assert same_text is (one == other)


def test_a_value_that_the_grammar_cannot_write_is_shown_quoted() -> None:
    assert str(selector_of_labels({"owner": "a@b.io, c", "team": "pay"})) == 'owner="a@b.io, c",team=pay'


@pytest.mark.parametrize(
    ("labels", "path", "words"),
    [
        ({"team": "x", "b b": "y"}, "labels.b b", "a key is 1 to 63"),
        ({"team": "x" * 129}, "labels.team", "129 characters, at most 128"),
        ({"team": "a\x00b"}, "labels.team", "cannot be printed"),
        ({f"k{number}": "" for number in range(65)}, "labels", "65 labels, at most 64"),
    ],
)
def test_labels_that_no_topic_may_have_are_refused_by_path(labels: dict[str, str], path: str, words: str) -> None:
    with pytest.raises(InvalidSelector, match=words) as caught:
        selector_of_labels(labels)
    assert caught.value.values == {"path": path}
    assert caught.value.reason.startswith(f"label selector, {path}: ")
