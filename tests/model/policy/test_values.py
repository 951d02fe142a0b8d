"""JSON becomes a canonical value, or all that is wrong with it is said; nothing is coerced with loss."""

from __future__ import annotations

from typing import Any

import pytest

from topicfold.errors import InvalidPolicy
from topicfold.model.labels import MAX_VIOLATIONS
from topicfold.model.policy.shapes import BACKLOG_QUOTA, DISPATCH_RATE, INT, LONG, OFFLOAD, PERSISTENCE, RETENTION
from topicfold.model.policy.table import POLICIES
from topicfold.model.policy.values import (
    Choice,
    Decimal,
    Flag,
    Kind,
    ListOf,
    MapOf,
    Text,
    frozen_value,
    plain_value,
    read_patch,
    read_value,
    shown_value,
)


def wrong(kind: Kind, given: Any, **options: bool) -> list[str]:
    """Return the places that are wrong in `given`."""
    with pytest.raises(InvalidPolicy) as refusal:
        read_value(kind, given, "it", **options)
    return [each["path"] for each in refusal.value.values["violations"]]


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        (INT, 5, 5),
        (INT, "-5", -5),
        (INT, 2.0, 2),
        (INT, -1e3, -1000),
        (LONG, 1 << 40, 1 << 40),
        (LONG, float((1 << 53) - 1), (1 << 53) - 1),
        (Decimal(), 1, 1.0),
        (Decimal(), "1.5", 1.5),
        (Decimal(), "1e3", 1000.0),
        (Decimal(), "-2.5E-7", -2.5e-7),
        (Flag(), "true", True),
        (Flag(), "false", False),
        (Flag(), False, False),
        (Text(), "x", "x"),
        (Text(), "x" * 1024, "x" * 1024),
        (ListOf(Text()), ["b", "a", "b"], ("b", "a")),
        (ListOf(Text()), [*map(str, range(256))], (*map(str, range(256)),)),
    ],
)
def test_what_means_a_value_becomes_it(kind: Kind, given: Any, value: Any) -> None:
    read = read_value(kind, given, "it")
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (INT, 1.9),
        (INT, True),
        (INT, None),
        (INT, "1.0"),
        (INT, "٣"),
        (INT, "9" * 5_000),
        (INT, 1 << 31),
        (LONG, 1 << 63),
        (LONG, float(1 << 53)),
        (LONG, 1e300),
        (Decimal(), "nan"),
        (Decimal(), "1_0"),
        (Decimal(), " 1"),
        (Decimal(), "1e"),
        (Decimal(), "1e999"),
        (Decimal(), "１"),
        (Decimal(), 10**400),
        (Decimal(), True),
        (Flag(), 1),
        (Flag(), "yes"),
        (Text(), 5),
        (Text(), "a\nb"),
        (Text(), "x" * 1025),
        (Choice(("A", "B"), "Letter"), "a"),
        (Choice(("A", "B"), "Letter"), ["A"]),
        (ListOf(Text()), "a"),
        (ListOf(Text()), [None]),
        (ListOf(Text()), ["a"] * 257),
        (MapOf(Text()), []),
        (RETENTION, []),
    ],
)
def test_what_would_lose_something_is_refused_with_its_place(kind: Kind, given: Any) -> None:
    assert set(wrong(kind, given)) <= {"", "0"}


def test_a_number_that_may_have_been_rounded_is_to_be_written_in_full() -> None:
    with pytest.raises(InvalidPolicy, match="1e\\+16 may have been rounded; write its digits"):
        read_value(LONG, 1e16, "it")


def test_all_that_is_wrong_is_said_with_its_place() -> None:
    given = {"bookkeeperEnsemble": "x", "bookkeeperWriteQuorum": 1.5, "managedLedgerMaxMarkDeleteRate": []}
    assert wrong(PERSISTENCE, given) == [
        "bookkeeperEnsemble",
        "bookkeeperWriteQuorum",
        "managedLedgerMaxMarkDeleteRate",
    ]
    assert wrong(MapOf(BACKLOG_QUOTA, ("a",)), {"a": {"limitTime": "x"}, "b": {}}) == ["b", "a.limitTime"]


def test_names_of_which_some_are_numbers_as_yaml_reads_them_are_wrong_one_by_one() -> None:
    assert wrong(MapOf(Text()), {1: "a", "b": "c", None: "d"}) == ["1", "None"]


def test_a_name_that_no_path_could_have_is_none_and_may_still_be_taken_away() -> None:
    assert wrong(MapOf(Text()), {"": "a", " ": "b", "c ": "c"}) == ["''", "' '"]
    assert dict(read_patch(MapOf(Text()), {"": None, " ": None}, "it")) == {"": None, " ": None}


def test_members_that_are_missing_get_pulsars_value() -> None:
    assert dict(read_value(DISPATCH_RATE, {}, "rate")) == {
        "dispatchThrottlingRateInMsg": 0,
        "dispatchThrottlingRateInByte": 0,
        "relativeToPublishRate": False,
        "ratePeriodInSecond": 0,
    }
    assert dict(read_value(BACKLOG_QUOTA, {}, "quota")) == {"limitSize": 0, "limitTime": 0}


def test_null_is_no_number() -> None:
    assert wrong(RETENTION, {"retentionSizeInMB": None}) == ["retentionSizeInMB"]
    assert dict(read_value(BACKLOG_QUOTA, {"policy": None}, "quota")) == {"limitSize": 0, "limitTime": 0}


def test_the_older_name_of_a_limit_is_read_where_the_newer_is_missing() -> None:
    assert read_value(BACKLOG_QUOTA, {"limit": 5}, "quota")["limitSize"] == 5
    assert read_value(BACKLOG_QUOTA, {"limit": 5, "limitSize": 6}, "quota")["limitSize"] == 6
    assert shown_value(BACKLOG_QUOTA, {"limitSize": 6, "limitTime": 0}) == {"limit": 6, "limitSize": 6, "limitTime": 0}


def test_a_patch_fills_nothing_in_and_keeps_its_nulls() -> None:
    no_limit: dict[str, None] = {"limitSize": None}
    given = {"a": None, "b": {"limit": "5", "policy": None}, "c": {**no_limit, "limit": None}, "d": no_limit}
    assert plain_value(read_patch(MapOf(BACKLOG_QUOTA), given, "quotas")) == {
        "a": None,
        "b": {"limitSize": 5, "policy": None},
        "c": no_limit,
        "d": no_limit,
    }


def test_what_a_patch_removes_does_not_count() -> None:
    kept, removed = ({f"{word}{each}": value for each in range(256)} for word, value in (("k", "x"), ("r", None)))
    assert len(read_patch(MapOf(Text()), kept | removed, "it")) == 512
    with pytest.raises(InvalidPolicy, match="has 257 members"):
        read_patch(MapOf(Text()), kept | removed | {"more": "x"}, "it")


def test_members_that_are_not_known_are_passed_over_unless_told_otherwise() -> None:
    assert "x" not in read_value(RETENTION, {"x": 1}, "retention")
    assert wrong(RETENTION, {"x": 1}, refuses_unknown=True) == ["x"]


def test_a_sparse_shape_keeps_what_was_given_and_shows_all() -> None:
    kept = read_value(OFFLOAD, {"managedLedgerOffloadDriver": "filesystem"}, "offload")
    assert dict(kept) == {"managedLedgerOffloadDriver": "filesystem"}
    assert shown_value(OFFLOAD, kept)["managedLedgerOffloadMaxThreads"] == 2


def test_a_value_is_frozen_through_and_through() -> None:
    value = read_value(MapOf(BACKLOG_QUOTA), {"a": {"policy": "producer_exception"}}, "quotas")
    with pytest.raises(TypeError):
        value["a"]["limitSize"] = 1
    with pytest.raises(TypeError):
        value["b"] = {}


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_every_default_of_the_table_is_a_value_of_its_kind(policy: Any) -> None:
    if policy.default is not None:
        assert read_value(policy.kind, plain_value(policy.default), policy.name) == policy.default
        assert frozen_value(plain_value(policy.default)) == policy.default


def test_of_very_many_violations_the_first_are_told_and_of_a_name_that_can_be_none_its_beginning() -> None:
    told = wrong(MapOf(DISPATCH_RATE), {"x" * 50_000: dict.fromkeys(map(str, range(1_000)), 1)}, refuses_unknown=True)
    assert len(told) == MAX_VIOLATIONS
    assert max(map(len, told)) < 500
