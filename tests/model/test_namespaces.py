"""The namespaces of a query: some by name, others by patterns."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicfold.errors import InvalidName
from topicfold.model.events import partition_of
from topicfold.model.namespaces import parse_namespaces

PARTS = st.text("ab-", min_size=1, max_size=6)
PATTERN_PARTS = st.text("ab-*", min_size=1, max_size=6).filter(lambda text: "**" not in text)


def test_a_name_given_twice_is_one_and_the_order_stays() -> None:
    assert parse_namespaces(["b/c", "a/*", "a/b", "a/*", "b/c"]).texts == ("b/c", "a/b", "a/*")


def test_all_of_them_hold_whatever_there_is_and_lie_in_every_partition() -> None:
    everywhere = parse_namespaces(["*"])
    assert everywhere.are_all
    assert "not/there-yet" in everywhere
    assert everywhere.partitions(3) == {0, 1, 2}
    assert (everywhere.names, everywhere.tenants) == ((), ())


def test_named_ones_hold_these_and_lie_in_their_partitions() -> None:
    named = parse_namespaces(["a/b"])
    assert "a/b" in named
    assert "a/c" not in named
    assert named.partitions(8) == {partition_of("a/b", 8)}
    assert named.names == named.texts == ("a/b",)


def test_a_pattern_beside_a_name_holds_both_and_lies_in_every_partition() -> None:
    mixed = parse_namespaces(["a/b", "acme/team-*"])
    assert [each in mixed for each in ("a/b", "acme/team-pay", "acme/team-", "acme/pay", "a/team-pay")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert mixed.partitions(3) == {0, 1, 2}
    assert not mixed.are_all


@pytest.mark.parametrize(
    ("texts", "tenants"),
    [(["a/*", "b/x", "a/y*"], ("a",)), (["*/a", "b/*"], ("b",)), (["a*/b"], ()), (["*"], ())],
)
def test_the_tenants_are_those_that_patterns_spell_out(texts: list[str], tenants: tuple[str, ...]) -> None:
    assert parse_namespaces(texts).tenants == tenants


@given(PATTERN_PARTS, PATTERN_PARTS, PARTS, PARTS)
def test_a_star_stands_for_any_characters_of_its_part(own: str, part: str, tenant: str, namespace: str) -> None:
    if "*" not in own + part:
        part += "*"
    matches = fnmatchcase(tenant, own) and fnmatchcase(namespace, part)
    assert (f"{tenant}/{namespace}" in parse_namespaces([f"{own}/{part}"])) == matches


def test_many_stars_cost_no_more_than_few() -> None:
    texts = [f"{'a*' * 30}{letter}/{'a*' * 30}{letter}" for letter in "bcdefgh"]
    found = parse_namespaces(texts)
    assert f"{'a' * 64}/{'a' * 64}" not in found
    assert f"{'a' * 63}h/{'a' * 63}h" in found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("team-*", "expected tenant/namespace"),
        ("acme/pay/*", "expected tenant/namespace"),
        ("acme/**", "one '*' already stands for any characters"),
        ("**", "expected tenant/namespace"),
        ("ac me/*", "expected 1 to 64 of the characters A-Z a-z 0-9 _ - = : ."),
        ("/*", "expected 1 to 64 of the characters"),
        ("acme/*é", "expected 1 to 64 of the characters"),
    ],
)
def test_what_is_no_pattern_is_refused_and_one_is_shown(text: str, said: str) -> None:
    with pytest.raises(InvalidName) as refused:
        parse_namespaces([text])
    assert refused.value.reason.startswith(f"namespace pattern {text!r}: {said}")
    assert refused.value.hint == "Write tenant/namespace, say public/team-*. A * alone means all namespaces."
