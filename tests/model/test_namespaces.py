"""The namespaces of a query: some by name, or all of them."""

from __future__ import annotations

import pytest

from topicfold.errors import InvalidName, InvalidRequest
from topicfold.model.events import partition_of
from topicfold.model.namespaces import Everywhere, Named, parse_namespaces


def test_a_name_given_twice_is_one_and_the_order_stays() -> None:
    assert parse_namespaces(["b/c", "a/b", "b/c"]) == Named(("b/c", "a/b"))


def test_all_of_them_hold_whatever_there_is_and_lie_in_every_partition() -> None:
    everywhere = parse_namespaces(["*", "*"])
    assert everywhere == Everywhere()
    assert "not/there-yet" in everywhere
    assert everywhere.partitions(3) == {0, 1, 2}
    assert (everywhere.names, everywhere.texts) == ((), ("*",))


def test_named_ones_hold_these_and_lie_in_their_partitions() -> None:
    named = parse_namespaces(["a/b"])
    assert "a/b" in named
    assert "a/c" not in named
    assert named.partitions(8) == {partition_of("a/b", 8)}
    assert named.names == named.texts == ("a/b",)


@pytest.mark.parametrize("texts", [["*", "a/b"], ["a/b", "*"]])
def test_names_beside_all_of_them_are_refused(texts: list[str]) -> None:
    with pytest.raises(InvalidRequest, match="all namespaces, and others are named"):
        parse_namespaces(texts)


@pytest.mark.parametrize("text", ["a/*", "*/*", "**", "a", ""])
def test_anything_else_with_a_star_is_no_name(text: str) -> None:
    with pytest.raises(InvalidName):
        parse_namespaces([text])
