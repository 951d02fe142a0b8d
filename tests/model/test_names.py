"""Names: every spelling that is taken, and everything that is refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.names import persistent_names
from topicfold.errors import InvalidName
from topicfold.model.names import (
    TopicName,
    check_tenant,
    is_namespace_shape,
    parse_namespace,
    parse_topic,
    partition_base,
    split_topic,
    topic_of_key,
)

HOSTILE_LOCALS = [
    "", " ", ".", "..", "a/b", "../a", "..\\a", "a\\b", "%2e%2e%2f", "a%2Fb", "%00", "a\x00b", "a\r\nb", "a\x7f",
    "a\x85b", "a\u2028b", "a\u2029b", "a\u202eb", "a\u2066b", "\u200fa", "e\u0301", "a\ud800b", "x" * 256, "é" * 128,
]  # fmt: skip
HOSTILE_PARTS = ["", ".", "..", "a b", "a/b", "a\\b", "a%2e", "é", "a\x00", "a\n", "x" * 65, "٣"]


@pytest.mark.parametrize(
    "text", ["persistent://public/default/orders", "public/default/orders", "orders"], ids=["full", "short", "bare"]
)
def test_three_spellings_name_the_same_topic(text: str) -> None:
    assert str(parse_topic(text)) == "persistent://public/default/orders"


def test_a_non_persistent_topic_is_another_one_than_its_persistent_twin() -> None:
    twin = parse_topic("non-persistent://acme/pay/orders")
    assert (twin.namespace, twin.key) == ("acme/pay", "non-persistent://orders")
    assert twin != parse_topic("acme/pay/orders")


@pytest.mark.parametrize(
    "text",
    [
        "a/b",
        "a/b/c/d",
        "persistent://orders",
        "persistent:///b/c",
        "a//c",
        "http://a/b/c",
        "://a/b/c",
        "/a/b/c",
        "a/b/",
    ],
)
def test_a_text_of_another_shape_is_no_topic(text: str) -> None:
    with pytest.raises(InvalidName, match=r"^(topic|tenant|namespace) "):
        parse_topic(text)


@pytest.mark.parametrize("local", HOSTILE_LOCALS, ids=ascii)
def test_a_hostile_local_name_is_refused_in_every_spelling(local: str) -> None:
    for text in (local, f"acme/pay/{local}", f"non-persistent://acme/pay/{local}"):
        with pytest.raises(InvalidName) as caught:
            parse_topic(text)
        assert caught.value.reason.isprintable()


@pytest.mark.parametrize("part", HOSTILE_PARTS, ids=ascii)
def test_a_hostile_tenant_or_namespace_is_refused(part: str) -> None:
    for refused in (
        lambda: check_tenant(part),
        lambda: parse_namespace(f"{part}/default"),
        lambda: parse_namespace(f"public/{part}"),
        lambda: parse_topic(f"{part}/default/orders"),
        lambda: parse_topic(f"public/{part}/orders"),
    ):
        with pytest.raises(InvalidName):
            refused()


@pytest.mark.parametrize("text", ["", "public", "a/b/c", "/default", "public/"])
def test_a_namespace_has_exactly_two_parts(text: str) -> None:
    with pytest.raises(InvalidName):
        parse_namespace(text)


def test_names_at_their_limits_are_taken_and_one_more_is_not() -> None:
    assert check_tenant("x" * 64)
    assert len(parse_topic("é" * 127 + "x").local.encode()) == 255
    with pytest.raises(InvalidName, match="256 bytes"):
        parse_topic("é" * 128)


@given(persistent_names, st.sampled_from(["persistent", "non-persistent"]))
def test_a_full_name_parses_back_to_itself(name: TopicName, domain: str) -> None:
    name = name._replace(domain=domain)
    assert parse_topic(str(name)) == name
    assert split_topic(str(name)) == (name.namespace, name.key)
    assert topic_of_key(name.namespace, name.key) == str(name)


@given(st.text())
def test_any_text_is_a_name_or_is_refused_as_one(text: str) -> None:
    with suppress(InvalidName):
        name = parse_topic(text)
        assert parse_topic(str(name)) == name


@given(st.text() | st.text("/:persistnabc", max_size=40))
def test_taking_a_name_of_the_log_apart_never_raises_and_loses_nothing(text: str) -> None:
    place = split_topic(text)
    assert place is None or topic_of_key(*place) == text
    assert not is_namespace_shape(text) or text.count("/") == 1


@pytest.mark.parametrize(
    ("full", "place"),
    [
        ("persistent://a/b/c", ("a/b", "c")),
        ("non-persistent://a/b/c", ("a/b", "non-persistent://c")),
        ("persistent://a/b/..", ("a/b", "..")),
        ("persistent://a/b/c d\x00", ("a/b", "c d\x00")),
        ("persistent://a/b/c://d", None),
        ("persistent://a//c", None),
        ("persistent://a/b", None),
        ("persistent://a/b/c/d", None),
        ("a/b/c", None),
        ("kafka://a/b/c", None),
        ("", None),
    ],
)
def test_the_shape_that_verdicts_read_is_frozen(full: str, place: tuple[str, str] | None) -> None:
    assert split_topic(full) == place


@pytest.mark.parametrize(
    ("full", "is_one"),
    [("a/b", True), ("a/..", True), ("a", False), ("/b", False), ("a/", False), ("a/b/c", False), ("", False)],
)
def test_the_shape_of_a_namespace_that_verdicts_read_is_frozen(full: str, is_one: bool) -> None:
    assert is_namespace_shape(full) is is_one


@pytest.mark.parametrize(
    ("local", "base"),
    [("orders-partition-3", "orders"), ("orders-partition-03", None), ("-partition-1", None), ("orders", None),
     ("a-partition-1-partition-2", "a-partition-1"), ("orders-partition-", None)],
)  # fmt: skip
def test_a_partition_names_its_partitioned_topic(local: str, base: str | None) -> None:
    assert partition_base(local) == base
