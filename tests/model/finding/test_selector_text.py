"""Texts of selectors: Kubernetes' grammar to the letter, limits, and the column of what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.model.finding.naive_selector import CASES, EXAMPLES, label_sets, naive_tests, near_selectors, selectors
from topicfold.errors import InvalidSelector
from topicfold.model.finding.selector import Selector
from topicfold.model.finding.selector_text import parse_selector


def parsed(text: str) -> Selector | None:
    """Return the selector under Kubernetes' own limits, None where it is refused; a refusal has to name a place."""
    try:
        return parse_selector(text, max_value_length=63)
    except InvalidSelector as error:
        refused = error
    column = refused.values["column"]
    assert 1 <= column <= len(text) + 1
    assert f"column {column}: " in refused.reason
    assert (refused.reason + refused.hint).isprintable()
    return None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_every_public_case_holds(case: dict[str, Any]) -> None:
    selector = parsed(case["selector"])
    found = "error" if selector is None else "match" if selector.matches(case["labels"]) else "no_match"
    assert found == case["expect"]


@given(selectors | near_selectors, label_sets)
@settings(max_examples=EXAMPLES)
def test_a_text_is_a_selector_and_matches_where_the_plainest_reader_says_so(text: str, labels: dict[str, str]) -> None:
    selector, tests = parsed(text), naive_tests(text)
    assert (selector is None) is (tests is None)
    if selector is not None and tests is not None:
        assert selector.matches(labels) is all(test(labels) for test in tests)


@given(selectors)
def test_the_canonical_text_writes_the_same_selector(text: str) -> None:
    selector = parse_selector(text)
    assert parse_selector(str(selector)) == selector
    assert str(parse_selector(str(selector))) == str(selector)


@given(st.text())
@example("\x00")
@example("a\ud800=b")
@example("a" * 2_000)
@example("\x1b[31m")
def test_any_text_is_a_selector_or_refused_at_a_place(text: str) -> None:
    assert (parsed(text) is None) is (naive_tests(text) is None)


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        (
            "x,team:pay",
            3,
            "is not a key: a key is 1 to 63 of A-Z a-z 0-9 - _ . that starts and ends with a letter or digit, "
            "optionally after 'prefix/'; write 'team=pay'",
        ),
        (",a", 1, "found ',', expected a key"),
        ("a,", 3, "found the end, expected a key"),
        ("a,,b", 3, "found ',', expected a key"),
        ("a, b c", 6, "found 'c', expected one of = =="),
        ("env=prod tier=gold", 10, "found 'tier', expected ',' or the end"),
        ("!env=prod", 5, "found '=', expected ',' or the end"),
        ("!!a", 2, "found '!', expected a key"),
        ("env===prod", 6, "found '=', expected a value"),
        ("size=>1", 6, "found '>', expected a value"),
        ("size>=1", 6, "found '=', expected an integer"),
        ("size>", 6, "found the end, expected an integer"),
        ("size>1.5", 6, "'1.5' is not an integer"),
        ("size<-1", 6, "'-1' is not an integer: decimal digits without a sign"),
        (f"size>{2**63}", 6, "at most 9223372036854775807"),
        ("env in prod", 8, "found 'prod', expected '('"),
        ("env  in", 8, "found the end, expected '('"),
        ("env in (a", 10, "found the end, expected ',' or ')'"),
        ("env in (a b)", 11, "found 'b', expected ',' or ')'"),
        ("env in (a,(b))", 11, "found '(', expected ',' or ')'"),
        ("env in (a,-b)", 11, "'-b' is not a value here: a value is empty, or 1 to 128"),
        ("\tEnv.io/a", 2, "the part before '/' must be a lower-case"),
        ("a=x\nb", 5, "found 'b'"),
        ("a=x,b\x0b", 6, r"'\x0b' is a control character"),
        ("a\x7f", 2, r"'\x7f' is a control character"),
    ],
)
def test_a_refusal_names_the_column_what_was_found_and_what_would_be_right(text: str, column: int, words: str) -> None:
    with pytest.raises(InvalidSelector) as caught:
        parse_selector(text)
    assert caught.value.values == {"column": column}
    assert words in caught.value.reason


def test_a_refusal_shows_the_place_with_30_characters_on_either_side() -> None:
    with pytest.raises(InvalidSelector) as caught:
        parse_selector("team=payments," * 20 + "env=!prod\t" + ",tier=gold" * 20)
    shown = caught.value.hint.removeprefix("Look at the ^ in: ")
    assert shown == f"{('team=payments,' * 3 + 'env=')[-30:]}^!prod {',tier=gold' * 2},tie"


def test_1024_characters_are_taken_and_one_more_is_not() -> None:
    text = ",".join(["a=" + "x" * 126] * 8)[:1023]
    assert parse_selector(text + "x").matches({"a": "x" * 126}) is False
    with pytest.raises(InvalidSelector, match="column 1025: 1025 characters, at most 1024"):
        parse_selector(text + "xx")


def test_64_requirements_are_taken_and_the_65th_is_named() -> None:
    text = ",".join(["abc"] * 64)
    assert len(parse_selector(text).requirements) == 64
    with pytest.raises(InvalidSelector, match="column 257: this is requirement 65, at most 64"):
        parse_selector(text + ",abc")


def test_the_length_of_a_value_is_128_unless_told_otherwise() -> None:
    assert parse_selector("a=" + "x" * 128).matches({"a": "x" * 128})
    assert parsed("a=" + "x" * 63) is not None
    with pytest.raises(InvalidSelector, match="1 to 128 of"):
        parse_selector("a=" + "x" * 129)
    with pytest.raises(InvalidSelector, match="1 to 63 of"):
        parse_selector("a=" + "x" * 64, max_value_length=63)


@pytest.mark.parametrize("text", ["owner=ann@example.com", "owner in (a, ann@example.com)", "owner=Ann Lee"])
def test_it_is_said_how_a_value_is_asked_for_that_no_selector_can_write(text: str) -> None:
    with pytest.raises(InvalidSelector) as caught:
        parse_selector(text)
    assert caught.value.hint.endswith('. JSON takes any value: {"matchLabels": {"owner": "ann@example.com"}}')


@pytest.mark.parametrize("text", ["team=*", "team in (pay*)"])
def test_who_writes_a_star_for_a_value_is_told_that_it_stands_for_nothing_else(text: str) -> None:
    with pytest.raises(InvalidSelector) as caught:
        parse_selector(text)
    assert ". No * stands for anything here: a key alone finds it with any value. JSON takes" in caught.value.hint
