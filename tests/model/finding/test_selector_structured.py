"""Selectors in documents: `matchLabels` and `matchExpressions` mean what Kubernetes says, and refuse by path."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicfold.errors import InvalidSelector
from topicfold.model.finding.selector_structured import document_in, parse_document, parse_structured
from topicfold.model.finding.selector_text import parse_selector


def expression(key: object = "k", operator: object = "In", values: object = ("a",)) -> dict[str, object]:
    """Return one expression."""
    return {"key": key, "operator": operator, "values": values}


@pytest.mark.parametrize(
    ("operator", "values", "text"),
    [
        ("In", ["b", "a", "a"], "k in (a,b)"),
        ("In", [""], "k in ()"),
        ("NotIn", ["a"], "k notin (a)"),
        ("Exists", None, "k"),
        ("Exists", [], "k"),
        ("DoesNotExist", None, "!k"),
    ],
)
def test_each_operator_is_the_one_of_texts(operator: str, values: object, text: str) -> None:
    assert parse_structured(None, [expression("k", operator, values)]) == parse_selector(text)


def test_labels_and_expressions_must_all_hold() -> None:
    read = parse_structured({"z": "x", "a": "y"}, [{"key": "k", "operator": "Exists"}])
    assert read == parse_selector("a=y,k,z=x")


@pytest.mark.parametrize(("labels", "expressions"), [(None, None), ({}, []), (None, [])])
def test_neither_labels_nor_expressions_match_everything(labels: object, expressions: object) -> None:
    assert parse_structured(labels, expressions).is_empty


def test_a_label_to_match_may_have_any_value_that_a_label_may_have() -> None:
    assert parse_structured({"owner": "a@b.io, c"}, None).matches({"owner": "a@b.io, c"})


@pytest.mark.parametrize(
    ("labels", "expressions", "path", "words"),
    [
        ([], None, "matchLabels", "an object whose values are texts"),
        ({"a": 1}, None, "matchLabels", "an object whose values are texts"),
        ({"-a": "x"}, None, "matchLabels.-a", "a key is 1 to 63"),
        ({"a": "x" * 129}, None, "matchLabels.a", "129 characters"),
        (None, {}, "matchExpressions", "a list"),
        (None, ["a"], "matchExpressions[0]", "an object of key, operator and values"),
        (None, [expression(), {**expression(), "value": "a"}], "matchExpressions[1]", "and nothing else"),
        (None, [{"operator": "Exists"}], "matchExpressions[0].key", "a text"),
        (None, [expression("a/b/c")], "matchExpressions[0].key", "a lower-case DNS name"),
        (None, [expression(operator="Gt", values=["1"])], "matchExpressions[0].operator", "one of In, NotIn, Exists"),
        (None, [expression(operator="in")], "matchExpressions[0].operator", "one of In, NotIn, Exists"),
        (None, [{"key": "k"}], "matchExpressions[0].operator", "one of In, NotIn, Exists"),
        (None, [expression(values=[])], "matchExpressions[0].values", "at least one value"),
        (None, [expression(operator="NotIn", values=None)], "matchExpressions[0].values", "at least one value"),
        (None, [expression(values="a")], "matchExpressions[0].values", "a list of at least one value"),
        (None, [expression(values=["a"] * 513)], "matchExpressions[0].values", "513 values, at most 512"),
        (None, [expression(values=["a", "-b"])], "matchExpressions[0].values[1]", "1 to 128 of A-Z"),
        (None, [expression(values=["a", 1])], "matchExpressions[0].values[1]", "1 to 128 of A-Z"),
        (None, [expression(operator="Exists")], "matchExpressions[0].values", "Exists takes no values"),
        (None, [expression(operator="DoesNotExist")], "matchExpressions[0].values", "DoesNotExist takes no values"),
        ({"a": ""}, [expression()] * 64, "matchExpressions", "65 requirements, at most 64"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_path_and_what_should_stand_there(
    labels: object, expressions: object, path: str, words: str
) -> None:
    with pytest.raises(InvalidSelector) as caught:
        parse_structured(labels, expressions)
    assert caught.value.values == {"path": path}
    assert words in caught.value.reason


_scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(["In", "Exists", "k"])
_members = st.sampled_from(["key", "operator", "values", "more"])
_json = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_members | st.text(max_size=3), inner, max_size=4),
)


@given(_json, _json | st.lists(st.dictionaries(_members, _json), max_size=3))
@settings(max_examples=500)
def test_whatever_json_holds_is_a_selector_or_refused(labels: Any, expressions: Any) -> None:
    refused = None
    try:
        parse_structured(labels, expressions)
    except InvalidSelector as error:
        refused = error
    assert refused is None or refused.values["path"].startswith("match")


def test_a_text_of_the_grammar_is_no_document() -> None:
    assert [document_in(text) for text in ("", "team=pay", "(", "[1]")] == [None] * 4


def test_a_document_may_be_as_deep_as_it_likes() -> None:
    # How deep Python's reader goes depends on its version and, since 3.14, on the stack.
    with pytest.raises(InvalidSelector):
        parse_document(document_in('{"matchLabels":' * 200_000 + "{}" + "}" * 200_000))


def test_labels_that_stand_where_a_selector_should_are_told_where_they_go() -> None:
    with pytest.raises(InvalidSelector) as refused:
        parse_document({"team": "pay"})
    assert refused.value.hint == 'Labels go inside, as in {"matchLabels": {"team": "pay"}}.'
