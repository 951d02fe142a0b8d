"""Regular expressions: RE2's, on the whole name, at no cost that grows with the expression."""

from __future__ import annotations

import time

import pytest

from topicfold.errors import InvalidRegex
from topicfold.model.finding.regex import MAX_REGEX_LENGTH, parse_regex


@pytest.mark.parametrize(
    ("regex", "name", "expected"),
    [
        ("pay-.*", "pay-refund", True),
        ("pay", "pay-refund", False),
        ("refund", "pay-refund", False),
        ("pay|notify", "notify", True),
        ("pay|notify", "pay-notify", False),
        ("^pay$", "pay", True),
        ("Pay", "pay", False),
        ("(?i)Pay", "pay", True),
        (r"zahlung-\d+", "zahlung-7", True),
        ("größe-.", "größe-é", True),
        (".", "\N{SNOWMAN}", True),
        (".*", "", True),
    ],
)
def test_the_whole_name_has_to_match(regex: str, name: str, expected: bool) -> None:
    assert parse_regex(regex).matches(name) is expected


@pytest.mark.parametrize("regex", ["(a+)+$", "(a|aa)+$", "(.*)*x", "(a?){30}a{30}", "([a-z]+)*!"])
def test_what_would_hold_a_backtracking_matcher_costs_nothing(regex: str) -> None:
    compiled = parse_regex(regex)
    start = time.process_time()
    assert not compiled.matches("a" * 200 + "?")
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize(
    ("regex", "words"),
    [
        ("", "must not be empty"),
        ("(pay", "'(pay': missing ): (pay"),
        ("[z-a]", "invalid character class range: z-a"),
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("(?=pay)", "invalid perl operator: (?="),
        ("a**", "bad repetition operator: **"),
        ("a{1001}", "invalid repetition size: {1001}"),
        (r"\pL{1000}", "pattern too large"),
        ("(.*a.{0,80}b){0,9}", "pattern too large"),
        ("(.*[a-z].{0,90}[0-9]){0,9}", "pattern too large"),
        ("\ud800", "must be valid UTF-8"),
        ("a" * (MAX_REGEX_LENGTH + 1), "257 characters, at most 256"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_nothing_reaches_standard_error(
    regex: str, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidRegex) as caught:
        parse_regex(regex)
    assert words in caught.value.reason
    assert caught.value.values["regex"].isprintable()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("regex", ["*pay", "pay-(", "pay(?=-eu)", r"(pay)-\1"])
def test_a_refusal_says_what_is_right_instead(regex: str) -> None:
    with pytest.raises(InvalidRegex) as caught:
        parse_regex(regex)
    assert ".* is any text" in caught.value.hint


def test_an_expression_whose_automaton_would_not_fit_is_matched_within_its_memory_and_in_silence(
    capfd: pytest.CaptureFixture[str],
) -> None:
    regex = parse_regex("(?:[ab]*a[ab]{40}){2}.*")
    names = [
        format(number * 2_654_435_761 % 2**32, "032b").replace("0", "a").replace("1", "b") * 7 for number in range(99)
    ]
    assert all(regex.matches(name) for name in names)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "regex",
    [r"\w{1,100}", r"[a-z0-9-]{1,63}\.[a-z0-9-]{1,63}", r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", "(.*é){20}",
     ".{1,40}", ".*".join("abcdefghijklmnopqrstuvwxyz"), "(?i)" + "|".join(["payments-orders-eu"] * 12), "é" * 256],
)  # fmt: skip
def test_what_people_write_is_not_too_large(regex: str) -> None:
    assert str(parse_regex(regex)) == regex


def test_too_large_an_expression_is_refused_with_what_to_write_instead() -> None:
    with pytest.raises(InvalidRegex) as caught:
        parse_regex(".{1,249}")
    assert "Repeat fewer times" in caught.value.hint


def test_equal_expressions_are_one_object() -> None:
    regex = parse_regex("a+")
    assert parse_regex("a+") is regex is not parse_regex("a+", "b/")


def test_the_longest_expression_is_taken_and_spells_itself() -> None:
    longest = parse_regex("a" * MAX_REGEX_LENGTH)
    assert str(longest) == "a" * MAX_REGEX_LENGTH
    assert longest == parse_regex("a" * MAX_REGEX_LENGTH) != parse_regex("a")
