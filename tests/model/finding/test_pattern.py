"""Patterns: what is one, what matches, and which of several are enough."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.model.finding.naive_pattern import (
    CASES,
    EXAMPLES,
    SMALL_NAMES,
    SMALL_PATTERNS,
    naive_matches,
    names,
    patterns,
)
from topicfold.errors import InvalidPattern
from topicfold.model.finding.pattern import parse_pattern


def refused(text: str | None, separator: str = "__") -> tuple[int | None, str]:
    """Return the segment that a refusal of `text` names, and its reason."""
    with pytest.raises(InvalidPattern) as caught:
        parse_pattern(text, separator)
    assert caught.value.values["pattern"] == text
    return caught.value.values["segment"], caught.value.reason


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_every_public_case_holds(case: dict[str, Any]) -> None:
    if case["expect"] == "invalid_pattern":
        refused(case["pattern"])
    else:
        assert parse_pattern(case["pattern"]).matches(case["topic"]) is case["expect"]


@given(patterns, names)
@settings(max_examples=EXAMPLES)
def test_a_name_matches_where_the_plainest_matcher_says_so(pattern: str, name: str) -> None:
    assert parse_pattern(pattern).matches(name) is naive_matches(pattern, name)


def test_every_small_pattern_and_name_agree_with_the_plainest_matcher() -> None:
    for pattern in map(parse_pattern, SMALL_PATTERNS):
        assert [name for name in SMALL_NAMES if pattern.matches(name)] == [
            name for name in SMALL_NAMES if naive_matches(str(pattern), name)
        ]


@given(st.text("a*_.", min_size=1, max_size=8), st.sampled_from(["__", ".", "_", "::"]))
def test_any_text_is_a_pattern_or_refused_and_what_is_one_spells_itself(text: str, separator: str) -> None:
    segments = text.split(separator)
    is_valid = all(
        segment in ("*", "**") if "*" in segment else segment for segment in segments
    ) and "**" not in segments[:-1]  # fmt: skip
    if is_valid:
        assert str(parse_pattern(text, separator)) == text
    else:
        refused(text, separator)


@pytest.mark.parametrize(
    ("text", "segment", "words"),
    [
        (None, None, "pattern null"),
        ("", None, "must not be empty"),
        ("pay____refund", 2, "segment 2 is empty"),
        ("pay__", 2, "segment 2 is empty"),
        ("__pay", 1, "segment 1 is empty"),
        ("a__**__b", 2, "can only be the last"),
        ("a__b__r*fund", 3, "'r*fund': a '*' must be a whole segment"),
        ("a__***", 2, "'***': a '*' must be a whole segment"),
        ("a" * 513, None, "513 characters, at most 512"),
        ("__".join(["a"] * 33), 33, "33 segments, at most 32"),
    ],
)
def test_a_refusal_names_the_segment_and_the_reason(text: str | None, segment: int | None, words: str) -> None:
    found, reason = refused(text)
    assert found == segment
    assert words in reason


@pytest.mark.parametrize(
    ("text", "separator", "meant", "expression"),
    [
        ("prod.*.orders", "__", ".", r"prod\.[^.]+\.orders"),
        ("prod.**", "__", ".", r"prod\..+"),
        ("pay__*__notify", ".", "__", "pay__.+__notify"),
        ("ord*", "__", None, "ord.*"),
        ("prod.ord*", "__", None, r"prod\.ord.*"),
    ],
)
def test_a_pattern_for_another_separator_is_refused_with_that_and_the_expression_for_it(
    text: str, separator: str, meant: str | None, expression: str
) -> None:
    with pytest.raises(InvalidPattern) as caught:
        parse_pattern(text, separator)
    assert (caught.value.values["meant"], caught.value.values["expression"]) == (meant, expression)
    assert (f"WILDCARD_SEPARATOR={meant} " in caught.value.hint) is (meant is not None)


def test_a_pattern_of_the_greatest_length_and_number_of_segments_is_taken() -> None:
    text = "__".join(["a" * 14] * 32)
    assert parse_pattern(text).matches(text)
    assert parse_pattern("a" * 512).matches("a" * 512)


def test_another_separator_makes_other_segments() -> None:
    assert parse_pattern("pay.*", ".").matches("pay.refund")
    assert not parse_pattern("pay.*", ".").matches("pay__refund")
    assert parse_pattern("pay__.*", ".").matches("pay__.x")


def test_patterns_are_equal_by_text_and_separator() -> None:
    assert parse_pattern("a__*") == parse_pattern("a__*") != parse_pattern("b__*")
    assert parse_pattern("a", ".") != parse_pattern("a")
    assert len({parse_pattern("a__*"), parse_pattern("a__*")}) == 1
