"""Cursors: of which namespaces they speak, in whatever order these are named."""

from __future__ import annotations

import pytest

from topicfold.model.namespaces import parse_namespaces
from topicfold.runtime.watching.cursors import Cursor, cursor_in, namespaces_mark

BOTH = namespaces_mark(parse_namespaces(["a/b", "c/d"]))


def test_a_cursor_spells_its_parts_and_is_read_again() -> None:
    for cursor in (Cursor("AQ", BOTH), Cursor("AQ", BOTH, "0f")):
        assert cursor_in(str(cursor)) == cursor


@pytest.mark.parametrize(
    ("mark", "namespaces", "lacking"),
    [
        (BOTH, ("a/b", "c/d"), None),
        (BOTH, ("c/d",), None),
        (BOTH, ("c/d", "e/f", "g/h"), "e/f"),
        (namespaces_mark(parse_namespaces(["a/b"])), ("a/b", "c/d"), "c/d"),
        (namespaces_mark(parse_namespaces(["a/x*", "c/d"])), ("a/x*", "c/d"), None),
        (namespaces_mark(parse_namespaces(["a/x*"])), ("a/xb",), "a/xb"),
        (namespaces_mark(parse_namespaces(["a/b"])), ("a/*",), "a/*"),
        (namespaces_mark(parse_namespaces(["a/*"])), ("a/b", "a/*", "a/x*"), None),
        (namespaces_mark(parse_namespaces(["a/*"])), ("*/b",), "*/b"),
        ("", ("a/b",), None),
        ("AAAA", ("a/b",), "a/b"),
        ("A", ("a/b",), "a/b"),
        ("é", ("a/b",), "a/b"),
    ],
)
def test_it_says_nothing_of_namespaces_that_it_does_not_bear(
    mark: str, namespaces: tuple[str, ...], lacking: str | None
) -> None:
    assert Cursor("AQ", mark).lacking(parse_namespaces(namespaces)) == lacking


def test_the_order_of_namespaces_makes_no_other_cursor() -> None:
    assert namespaces_mark(parse_namespaces(["c/d", "a/b"])) == BOTH
    assert len(BOTH) == 11


def test_one_of_all_namespaces_speaks_of_each_and_needs_no_quotes_in_a_shell() -> None:
    of_all = str(Cursor("AQ", namespaces_mark(parse_namespaces(["*"]))))
    assert not set("*?[]$&;|<>() '\"") & set(of_all)
    assert cursor_in(of_all).lacking(parse_namespaces(["a/b"])) is None
    assert cursor_in(of_all).lacking(parse_namespaces(["*"])) is None
    assert Cursor("AQ", BOTH).lacking(parse_namespaces(["*"])) == "*"
