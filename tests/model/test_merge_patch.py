"""JSON Merge Patch: the examples of RFC 7396, and a patch for every pair of documents."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicfold.model.merge_patch import merge_patch, patch_between

APPENDIX_A: tuple[tuple[Any, Any, Any], ...] = (
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
)

SECTION_3 = (
    {
        "title": "Goodbye!",
        "author": {"givenName": "John", "familyName": "Doe"},
        "tags": ["example", "sample"],
        "content": "This will be unchanged",
    },
    {"title": "Hello!", "phoneNumber": "+01-123-456-7890", "author": {"familyName": None}, "tags": ["example"]},
    {
        "title": "Hello!",
        "author": {"givenName": "John"},
        "tags": ["example"],
        "content": "This will be unchanged",
        "phoneNumber": "+01-123-456-7890",
    },
)

values = st.recursive(
    st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", min_size=1, max_size=2), inner),
)


@pytest.mark.parametrize(("target", "patch", "result"), [*APPENDIX_A, SECTION_3])
def test_an_example_of_the_rfc_comes_to_what_it_says(target: Any, patch: Any, result: Any) -> None:
    assert merge_patch(target, patch) == result


def test_neither_the_target_nor_the_patch_is_changed() -> None:
    target, patch = {"a": {"b": 1}}, {"a": {"b": None, "c": 2}}
    assert merge_patch(target, patch) == {"a": {"c": 2}}
    assert (target, patch) == ({"a": {"b": 1}}, {"a": {"b": None, "c": 2}})


def test_read_only_mappings_merge_like_any_object() -> None:
    assert merge_patch(MappingProxyType({"a": 1, "b": 2}), MappingProxyType({"a": None})) == {"b": 2}


@given(values, values)
def test_the_patch_between_two_documents_makes_the_second_of_the_first(old: Any, new: Any) -> None:
    assert merge_patch(old, patch_between(old, new)) == new
