"""Labels: the rules, all their violations at once, and the spellings of pairs."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicfold.errors import InvalidLabels, InvalidRequest
from topicfold.model import labels as labels_module
from topicfold.model.labels import MAX_VIOLATIONS, LabelRules, check_labels, parse_pairs

keys = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,8}[A-Za-z0-9])?", fullmatch=True)
values = st.text("ab,:=\\ é", max_size=10)


def reasons(labels: dict[str, str], rules: LabelRules | None = None) -> list[str]:
    """Return the paths of all violations."""
    try:
        check_labels(labels, rules or LabelRules())
    except InvalidLabels as error:
        return [violation["path"] for violation in error.values["violations"]]
    return []


@pytest.mark.parametrize(
    "key", ["a", "team", "A-b_c.9", "x" * 63, "example.com/team", "a.b-c/x", "a" * 253 + "/x"], ids=lambda key: key[:20]
)
def test_a_qualified_name_is_a_key(key: str) -> None:
    assert reasons({key: "v"}) == []


@pytest.mark.parametrize(
    "key",
    ["", "-a", "a-", "a b", "é", "x" * 64, "/a", "a/", "A.b/x", "a..b/x", "-a/x", "a/b/c", "a" * 254 + "/x", "a\n",
     "a:b", "a,b", "a=b"],
    ids=ascii,
)  # fmt: skip
def test_anything_else_is_no_key(key: str) -> None:
    assert reasons({key: "v"}) == [f"labels.{key}"]


@pytest.mark.parametrize("value", ["", "a, b: c=d\\", "é" * 128, "\U0001f600" * 128], ids=ascii)
def test_any_printable_text_is_a_value(value: str) -> None:
    assert reasons({"k": value}) == []


@pytest.mark.parametrize("value", ["x" * 129, "a\nb", "\x00", "\u202e", "\ud800", "\u200b"], ids=ascii)
def test_a_value_that_is_long_or_cannot_be_printed_is_refused(value: str) -> None:
    assert reasons({"k": value}) == ["labels.k"]


def test_lengths_count_code_points_up_to_the_configured_limit() -> None:
    rules = LabelRules(max_value_length=3)
    assert reasons({"k": "ééé"}, rules) == []
    assert reasons({"k": "éééé"}, rules) == ["labels.k"]


def test_a_value_has_at_most_512_bytes_whatever_its_length() -> None:
    assert reasons({"k": "\U0001f600" * 129}, LabelRules(max_value_length=200)) == ["labels.k"]


def test_only_allowed_keys_are_taken_where_keys_are_listed() -> None:
    rules = LabelRules(allowed_keys=frozenset({"team"}))
    assert reasons({"team": "pay", "tier": "gold"}, rules) == ["labels.tier"]
    assert reasons({"team": "pay"}, LabelRules(allowed_keys=frozenset())) == ["labels.team"]


def test_64_labels_are_taken_and_65_are_not() -> None:
    assert reasons({f"k{n}": "v" for n in range(64)}) == []
    assert reasons({f"k{n}": "v" for n in range(65)}) == ["labels"]


def test_all_violations_are_told_at_once() -> None:
    rules = LabelRules(allowed_keys=frozenset({"a"}), max_value_length=2, max_labels=2)
    assert reasons({"a": "xxx", "b b": "v", "c": "\x00\x00\x00"}, rules) == [
        "labels.a", "labels.b b", "labels.c", "labels.c", "labels.c", "labels",
    ]  # fmt: skip


def test_of_far_too_many_labels_only_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []
    monkeypatch.setattr(labels_module, "broken_key_rule", looked_at.append)
    with pytest.raises(InvalidLabels, match="20000 labels, at most 64 are allowed"):
        check_labels({f"k{number}": "v" for number in range(20_000)}, LabelRules())
    assert len(looked_at) == 1_000


def test_of_very_many_violations_the_first_are_told_and_that_there_are_too_many_labels() -> None:
    told = reasons({f"-{number}": "v" for number in range(5_000)})
    assert told == [*(f"labels.-{number}" for number in range(MAX_VIOLATIONS)), "labels"]


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        ([], {}),
        (["team:pay"], {"team": "pay"}),
        (["team=pay"], {"team": "pay"}),
        (["team:pay,tier=gold"], {"team": "pay", "tier": "gold"}),
        (["team:pay, tier:gold"], {"team": "pay", "tier": "gold"}),
        (["team = pay , tier : gold x "], {"team": "pay", "tier": "gold x"}),
        ([r"note=\ a\ ,team=\\ "], {"note": " a ", "team": "\\"}),
        (["note= a ", "team= pay"], {"note": " a ", "team": " pay"}),
        (["url:http://x=y"], {"url": "http://x=y"}),
        (["note:"], {"note": ""}),
        ([r"note:a\,b,team:pay"], {"note": "a,b", "team": "pay"}),
        ([r"note:a\\,team:p\:a\=y"], {"note": "a\\", "team": "p:a=y"}),
        (["note:a,b", "url:c:d"], {"note": "a,b", "url": "c:d"}),
        (["note:a\\", "url:c"], {"note": "a\\", "url": "c"}),
        (["team:pay", "team:pay"], {"team": "pay"}),
    ],
)
def test_pairs_are_read_in_both_spellings_once_or_repeated(texts: list[str], labels: dict[str, str]) -> None:
    assert parse_pairs(texts, "custom-labels") == labels


@pytest.mark.parametrize(
    "texts", [[""], [" "], ["team"], [":pay"], ["=pay"], ["a:1,"], [",a:1"], ["a:1,,b:2"], ["a:1", "b"], ["a:1", ""]]
)
def test_what_is_no_pair_is_refused_by_name(texts: list[str]) -> None:
    with pytest.raises(InvalidRequest, match=r"custom-labels: .* is not a pair"):
        parse_pairs(texts, "custom-labels")


@pytest.mark.parametrize("texts", [["team:a,team:b"], ["team:a", "team=b"]])
def test_a_key_with_two_values_is_refused(texts: list[str]) -> None:
    with pytest.raises(InvalidRequest, match="two values"):
        parse_pairs(texts, "custom-labels")


@given(st.dictionaries(keys, values, min_size=1, max_size=4), st.sampled_from(":="))
def test_escaped_pairs_in_one_text_come_back(labels: dict[str, str], sign: str) -> None:
    text = ",".join(key + sign + re.sub(r"([\\,:= ])", r"\\\1", value) for key, value in labels.items())
    assert parse_pairs([text], "labels") == labels


@given(st.dictionaries(keys, values, min_size=2, max_size=4), st.sampled_from(":="))
def test_repeated_parameters_come_back_as_they_stand(labels: dict[str, str], sign: str) -> None:
    assert parse_pairs([key + sign + value for key, value in labels.items()], "labels") == labels


@given(st.lists(st.text() | st.text("a,:=\\", max_size=12), max_size=3))
def test_any_text_gives_pairs_or_is_refused(texts: list[str]) -> None:
    with suppress(InvalidRequest):
        assert len(parse_pairs(texts, "labels")) <= sum(text.count(":") + text.count("=") for text in texts)
