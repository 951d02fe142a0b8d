"""All policies of one scope at once: read, checked and put, with everything that is wrong said together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given

from tests.model.policy.strategies import stored_policies
from topicfold.errors import InvalidPolicy, PolicyUnmet
from topicfold.model.events import Verdict
from topicfold.model.policy.limits import Limits
from topicfold.model.policy.resolve import Origin
from topicfold.model.policy.values import plain_value
from topicfold.model.policy.whole import (
    check_changed,
    merge_policies,
    put_whole,
    read_policies,
    read_policies_patch,
)
from topicfold.model.records import EMPTY
from topicfold.model.updates import Refuse

RETENTION, QUOTAS, TTL = "retentionPolicies", "backLogQuotaMap", "messageTTLInSeconds"
_RATES = "subscriptionPolicies"
KEPT = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10}
WAITING = {"message_age": {"limitSize": -1, "limitTime": 600, "policy": "producer_exception"}}


@given(stored_policies)
def test_canonical_policies_are_read_back_as_they_are_but_for_what_says_nothing(policies: dict[str, Any]) -> None:
    read = read_policies(plain_value(policies))
    assert read_policies(plain_value(read)) == read
    for name in policies.keys() - {_RATES, "schemaCompatibilityStrategy"}:
        assert read[name] == policies[name]


def test_what_says_nothing_leaves_a_policy_unset() -> None:
    limits, none = ({"dispatchRate": {"dispatchThrottlingRateInMsg": rate}} for rate in (5, 0))
    given = {"schemaCompatibilityStrategy": "UNDEFINED", _RATES: {"a": none, "b": limits, "c": {}}}
    assert {name: set(value) for name, value in read_policies(given).items()} == {_RATES: {"b"}}
    assert read_policies({_RATES: {"a": none}}) == {}


def test_what_no_cluster_shares_is_refused_for_all_with_its_place() -> None:
    of_one = {"schemaCompatibilityStrategy": "FULL", "schemaValidationEnforced": True, "shadowTopics": ["x"]}
    with pytest.raises(InvalidPolicy, match="cannot be set for all clusters") as refused:
        read_policies({**of_one, TTL: 5}, level=Origin.GLOBAL)
    assert [each["path"] for each in refused.value.values["violations"]] == list(of_one)


def test_a_null_leaves_a_policy_unset() -> None:
    assert read_policies({TTL: None, _RATES: None, "maxMessageSize": "7"}) == {"maxMessageSize": 7}


def test_a_patch_changes_the_members_that_it_names_and_all_else_stays() -> None:
    old = read_policies({RETENTION: KEPT, QUOTAS: WAITING, TTL: 5})
    patch = read_policies_patch({RETENTION: {"retentionTimeInMinutes": "20"}, TTL: None, "maxMessageSize": 7})
    assert merge_policies(old, patch) == {
        RETENTION: {**KEPT, "retentionTimeInMinutes": 20}, QUOTAS: WAITING, "maxMessageSize": 7,
    }  # fmt: skip


def test_a_policy_of_which_a_patch_leaves_nothing_is_unset_and_one_that_says_nothing_stays() -> None:
    old = read_policies({QUOTAS: WAITING})
    assert merge_policies(old, read_policies_patch({QUOTAS: {"message_age": None}})) == {}
    assert merge_policies(old, read_policies_patch({QUOTAS: {}})) == old
    assert merge_policies(EMPTY, read_policies_patch({QUOTAS: {}})) == {QUOTAS: {}}


def test_what_a_namespace_cannot_set_is_refused_with_where_it_can_be_set() -> None:
    with pytest.raises(InvalidPolicy, match="cannot be set for a whole namespace; set it on topics") as refused:
        read_policies({"maxMessageSize": 5, TTL: 5}, level=Origin.NAMESPACE)
    assert [each["path"] for each in refused.value.values["violations"]] == ["maxMessageSize"]


@pytest.mark.parametrize("patched", [read_policies_patch, partial(merge_policies, EMPTY)])
def test_a_patch_for_all_clusters_names_nothing_that_none_shares(patched: Callable[..., Any]) -> None:
    with pytest.raises(InvalidPolicy, match="cannot be set for all clusters"):
        patched({"schemaValidationEnforced": True}, level=Origin.GLOBAL)


@pytest.mark.parametrize("given", [None, [], "x", 5])
def test_only_an_object_holds_policies(given: Any) -> None:
    with pytest.raises(InvalidPolicy, match="must be an object"):
        read_policies(given)


def test_all_that_is_wrong_is_said_with_its_place() -> None:
    given = {TTL: "x", "mesageTTL": 1, RETENTION: {"retentionSizeInMB": [], "more": 1}, "nothingLikeIt": 1, 5: 6}
    with pytest.raises(InvalidPolicy) as refused:
        read_policies(given)
    assert {each["path"] for each in refused.value.values["violations"]} == {
        TTL, "mesageTTL", f"{RETENTION}.retentionSizeInMB", f"{RETENTION}.more", "nothingLikeIt", "5"
    }  # fmt: skip


def test_a_name_that_is_nearly_right_is_told_which_is_meant() -> None:
    with pytest.raises(InvalidPolicy, match="did you mean retentionPolicies"):
        read_policies({"retentionPolicy": KEPT})


def test_what_was_allowed_once_may_stay_and_what_is_new_must_be_allowed() -> None:
    old, limits = {"maxMessageSize": 2000}, Limits(max_message_bytes=1000)
    check_changed(old, {**old, TTL: 5}, limits)
    with pytest.raises(PolicyUnmet):
        check_changed(old, {"maxMessageSize": 2001}, limits)


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ({RETENTION: KEPT}, {RETENTION: KEPT, QUOTAS: WAITING}, Verdict.QUOTA_EXCEEDS_RETENTION),
        ({QUOTAS: WAITING}, {RETENTION: KEPT, QUOTAS: WAITING}, Verdict.RETENTION_BELOW_QUOTA),
        ({}, {RETENTION: KEPT, QUOTAS: WAITING}, Verdict.QUOTA_EXCEEDS_RETENTION),
        ({RETENTION: KEPT, QUOTAS: WAITING}, {RETENTION: KEPT, QUOTAS: WAITING, TTL: 5}, None),
        ({RETENTION: KEPT, QUOTAS: WAITING}, {RETENTION: KEPT}, None),
        ({RETENTION: KEPT}, {QUOTAS: WAITING}, None),
    ],
)
def test_retention_and_quota_are_held_against_each_other_only_where_one_is_touched(
    old: dict[str, Any], new: dict[str, Any], verdict: Verdict | None
) -> None:
    found = put_whole(new, EMPTY)(old)
    assert (found.verdict if isinstance(found, Refuse) else None) == verdict
    assert isinstance(found, Refuse) or found == new


def test_what_lies_below_counts_where_the_scope_says_nothing() -> None:
    assert isinstance(put_whole({RETENTION: KEPT}, {QUOTAS: WAITING})(EMPTY), Refuse)
    assert isinstance(put_whole({QUOTAS: WAITING}, {RETENTION: KEPT})(EMPTY), Refuse)
