"""Random values of policies, as JSON would say them: of every kind, and all policies of a scope at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from hypothesis import strategies as st

from topicfold.model.policy.table import POLICIES
from topicfold.model.policy.values import (
    Choice,
    Decimal,
    Flag,
    Kind,
    ListOf,
    MapOf,
    Member,
    Number,
    Shape,
    Text,
    read_value,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(str.isprintable)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def given_values(kind: Kind) -> st.SearchStrategy[Any]:
    """Return JSON values that mean something of this kind."""
    match kind:
        case Number():
            limit = 1 << (kind.bits - 1)
            return st.integers(-limit, limit - 1)
        case Decimal():
            return st.floats(allow_nan=False, allow_infinity=False)
        case Flag():
            return st.booleans()
        case Text():
            return texts
        case Choice():
            return st.sampled_from(kind.constants)
        case ListOf():
            return st.lists(given_values(kind.item), max_size=4)
        case Shape():
            return st.fixed_dictionaries({}, optional={each.name: _member(each) for each in kind.members})
        case MapOf():
            keys = st.sampled_from(kind.keys) if kind.keys else texts.filter(str.strip)
            return st.dictionaries(keys, given_values(kind.value), max_size=3)
        case _:
            assert_never(kind)


def _member(member: Member) -> st.SearchStrategy[Any]:
    values = given_values(member.kind)
    return values if member.missing is not None else st.none() | values


def stored_values(kind: Kind) -> st.SearchStrategy[Any]:
    """Return canonical values of this kind."""
    return given_values(kind).map(lambda given: read_value(kind, given, "it"))


stored_policies: st.SearchStrategy[Mapping[str, Any]] = st.fixed_dictionaries(
    {}, optional={policy.name: stored_values(policy.kind) for policy in POLICIES}
)
"""Canonical policies of one scope."""
