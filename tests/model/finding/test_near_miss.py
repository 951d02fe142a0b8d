"""Explaining a selector: what each requirement leaves, and what was probably meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicfold.model.finding.near_miss import (
    MAX_SUGGESTED,
    Explained,
    explain,
    likely,
    named_values,
    near_words,
    suggestible,
    with_near,
)
from topicfold.model.finding.selector import Requirement
from topicfold.model.finding.selector_text import parse_selector

TOPICS = [{"tier": "gold", "env": "prod"}, {"tier": "gold"}, {"tier": "silver", "Team": "pay"}, {}, {"size": "10"}]


def explained(text: str, topics: list[dict[str, str]] | None = None) -> tuple[Explained, ...]:
    """Return the explanation of a selector among `topics`, with what is near."""
    among = TOPICS if topics is None else topics
    values: dict[str, dict[str, None]] = {}
    for labels in among:
        for key, value in labels.items():
            values.setdefault(key, {})[value] = None

    def lacking(requirement: Requirement) -> list[str | None]:
        borne = values.get(requirement.key)
        lacked = [each for each in named_values(requirement) if each not in (borne or ())]
        return [None, *lacked] if borne is None else [*lacked]

    parts = explain(parse_selector(text), lacking, lambda requirement: sum(map(requirement.holds, among)))
    near = {
        miss: near_words(miss.word, values if miss.value is None else values[miss.key]) for miss in suggestible(parts)
    }
    return with_near(parts, near)


@given(st.text("abcde", max_size=5), st.lists(st.text("abcde", max_size=5), max_size=60), st.integers(1, 30))
def test_the_short_list_is_the_same_where_words_come_a_few_at_a_time(word: str, words: list[str], step: int) -> None:
    found: list[str] = []
    for start in range(0, len(words), step):
        found = likely(word, [*found, *words[start : start + step]])
    assert found == likely(word, words)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("tier=gold", []),
        ("tier,!env,size>1,size>100", []),
        ("teir=gold", ["no topic has key teir; did you mean tier?"]),
        ("!teir", ["no topic has key teir; did you mean tier?"]),
        ("team", ["no topic has key team; did you mean Team?"]),
        ("tier=glod", ["no topic has tier=glod; did you mean gold?"]),
        ("tier!=GOLD", ["no topic has tier=GOLD; did you mean gold?"]),
        ("tier in (gold,sliver,x)", ["no topic has tier=sliver; did you mean silver?", "no topic has tier=x"]),
        ("tier notin (glod)", ["no topic has tier=glod; did you mean gold?"]),
        ("quota>1", ["no topic has key quota"]),
        ("tier=", ["no topic has tier="]),
    ],
)
def test_what_no_topic_bears_is_told_with_what_looks_like_it(text: str, sentences: list[str]) -> None:
    assert [str(miss) for each in explained(text) for miss in each.misses] == sentences


def test_at_most_three_near_words_are_told_the_most_similar_first() -> None:
    topics = [{"owner": f"payments-{number}"} for number in range(9)] + [{"owner": "paymets"}]
    (only,) = explained("owner=payment", topics)
    (miss,) = only.misses
    assert len(miss.near) == 3
    assert miss.near[0] == "paymets"


def test_only_the_first_misses_of_a_selector_are_looked_up() -> None:
    names = ",".join(f"tie{number}" for number in range(MAX_SUGGESTED + 2))
    near = [bool(miss.near) for each in explained(names) for miss in each.misses]
    assert near == [True] * MAX_SUGGESTED + [False] * 2


def test_a_near_word_is_found_among_very_many() -> None:
    topics = [{"k": f"{number:06}"} for number in range(10_000)] + [{"k": "payments"}]
    (only,) = explained("k=paymnets", topics)
    assert only.misses[0].near == ("payments",)


def test_what_also_holds_without_the_key_says_so() -> None:
    assert [each.takes_topics_without_key for each in explained("a,b!=x,!c,d notin (x),e=x")] == [
        False, True, True, True, False,
    ]  # fmt: skip
