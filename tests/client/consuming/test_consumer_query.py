"""What may be consumed: something that restricts, with patterns that come and go."""

from __future__ import annotations

from typing import Any

import pytest

from topicfold.client.consuming.consumer_query import ConsumerQuery
from topicfold.errors import InvalidRequest, InvalidSelector


def query(**given: Any) -> ConsumerQuery:
    """Return a query in the default namespace."""
    asked = {"selector": None, "labels": None, "match": None, "regex": None} | given
    return ConsumerQuery.of(asked.pop("namespaces", "public/default"), **asked)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"selector": ""},
        {"selector": " , "},
        {"selector": {}},
        {"selector": {"matchLabels": {}}},
        {"labels": {}},
        {"match": []},
        {"regex": ""},
    ],
)
def test_what_would_mean_every_topic_is_refused_with_how_to_mean_it(given: dict[str, Any]) -> None:
    with pytest.raises((InvalidRequest, InvalidSelector)) as refused:
        query(**given)
    if isinstance(refused.value, InvalidRequest):
        assert 'match="**" means every topic' in refused.value.hint


def test_what_is_empty_is_refused_beside_what_is_not() -> None:
    with pytest.raises(InvalidRequest, match="labels is empty, which would mean every topic"):
        query(selector="team=pay", labels={})


def test_a_document_is_something_to_consume_by() -> None:
    asked = query(selector={"matchLabels": {"team": "pay"}}).asked
    assert (asked.selector, asked.labels) == (None, {"team": "pay"})


def test_every_topic_can_be_meant() -> None:
    assert query(match="**").asked.patterns == ("**",)


def test_a_pattern_more_and_a_pattern_less_is_the_same_query() -> None:
    two = query(match=["a__*", "b__*"])
    assert two.with_pattern("c__*").without_pattern("c__*") == two
    assert two.with_pattern("a__*") == two


def test_without_its_last_pattern_a_query_asks_for_nothing_rather_than_for_more() -> None:
    none = query(selector="team=pay", match="a__*").without_pattern("a__*")
    assert none.asks_for_nothing
    assert not none.with_pattern("b__*").asks_for_nothing


def test_a_query_that_never_had_patterns_asks_for_something() -> None:
    assert not query(selector="team=pay").asks_for_nothing


def test_a_pattern_that_is_none_of_them_cannot_be_taken_away() -> None:
    with pytest.raises(InvalidRequest, match=r"'c__\*' is not one of the subscribed patterns: a__\*"):
        query(match="a__*").without_pattern("c__*")
