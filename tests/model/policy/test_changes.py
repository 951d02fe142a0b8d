"""Changes of policies: pure functions of the record; retention and backlog quota are held against each other inside."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from tests.builders import retention
from topicfold.model.desired import replace_members
from topicfold.model.events import Verdict
from topicfold.model.policy.changes import (
    QUOTAS,
    RETENTION,
    change_namespace,
    change_topic,
    contradicts,
    delete_policies,
    holding,
    remove_value,
    set_entry,
    set_value,
)
from topicfold.model.records import EMPTY, NamespaceRecord, TopicRecord
from topicfold.model.updates import Refuse

MIB = 1024 * 1024
TTL = "messageTTLInSeconds"


def quota(size: int = -1, seconds: int = 0) -> dict[str, Any]:
    """Return a backlog quota."""
    return {"limitSize": size, "limitTime": seconds, "policy": "producer_exception"}


def topic(local: Any = None, global_: Any = None) -> TopicRecord:
    """Return a topic with these policies."""
    return TopicRecord(local=local, global_=global_)


def test_setting_makes_policies_and_removing_does_not() -> None:
    removal = change_topic("t", remove_value(TTL), skip_if_absent=True)
    assert removal(topic()) == topic()
    assert change_topic("t", set_value(TTL, 5))(topic()) == topic({TTL: 5})
    assert removal(topic({TTL: 5})) == topic({})


def test_the_scopes_are_apart() -> None:
    both = change_topic("t", set_value(TTL, 6), is_global=True)(topic({TTL: 5}))
    assert both == topic({TTL: 5}, {TTL: 6})


def test_entries_are_set_and_removed_one_by_one_and_the_last_takes_the_policy_along() -> None:
    one = set_entry("p", "b", 2)(EMPTY)
    assert one == {"p": {"b": 2}}
    policies = {"p": {"a": 1, "b": 2}}
    assert set_entry("p", "a", 1)(one) == policies
    assert remove_value("p", "a")(policies) == {"p": {"b": 2}}
    assert remove_value("p", "b")(remove_value("p", "a")(policies)) == {}
    assert remove_value("p", "x")(EMPTY) == {}


def test_a_policy_that_is_a_map_does_not_grow_without_end() -> None:
    full = {"p": {str(number): 1 for number in range(256)}}
    assert set_entry("p", "7", 2)(full) == {"p": full["p"] | {"7": 2}}
    refused = set_entry("p", "one more", 2)(full)
    assert isinstance(refused, Refuse)
    assert refused.verdict is Verdict.POLICY_UNMET


def test_a_change_of_a_topic_that_is_not_there_is_refused() -> None:
    refused = change_topic("t", set_value(TTL, 5))(None)
    assert isinstance(refused, Refuse)
    assert refused.verdict is Verdict.TOPIC_NOT_FOUND


def test_all_policies_are_deleted_in_both_scopes_and_of_nothing_nothing() -> None:
    assert delete_policies()(topic({TTL: 5}, {TTL: 6})) == topic()
    assert delete_policies(keeps_global=True)(topic({TTL: 5}, {TTL: 6})) == topic(None, {TTL: 6})
    assert delete_policies()(None) is None


def test_a_quota_that_reaches_the_retention_is_refused_and_the_other_way_round() -> None:
    kept, waiting = {RETENTION: retention(10, 10)}, {QUOTAS: {"destination_storage": quota(10 * MIB)}}
    refused = holding(set_entry(QUOTAS, "destination_storage", quota(10 * MIB)), QUOTAS, lambda: EMPTY)(kept)
    assert isinstance(refused, Refuse)
    assert refused.verdict is Verdict.QUOTA_EXCEEDS_RETENTION
    refused = holding(set_value(RETENTION, retention(10, 10)), RETENTION, lambda: EMPTY)(waiting)
    assert isinstance(refused, Refuse)
    assert refused.verdict is Verdict.RETENTION_BELOW_QUOTA


def test_what_lies_below_counts_where_the_scope_says_nothing() -> None:
    below = MappingProxyType({RETENTION: retention(10, 10), QUOTAS: {"message_age": quota(seconds=600)}})
    assert contradicts({QUOTAS: {"destination_storage": quota(10 * MIB)}}, below)
    assert contradicts({RETENTION: retention(10, -1)}, below)
    assert not contradicts({RETENTION: retention(11, -1)}, below)
    assert not contradicts({RETENTION: retention(10, 10), QUOTAS: {"message_age": quota(seconds=1)}}, below)


def test_what_lies_below_is_asked_for_when_the_update_runs() -> None:
    below: dict[str, Any] = {}
    change = holding(set_entry(QUOTAS, "message_age", quota(seconds=600)), QUOTAS, lambda: below)
    assert not isinstance(change(EMPTY), Refuse)
    below[RETENTION] = retention(10, 10)
    assert isinstance(change(EMPTY), Refuse)


def test_a_quota_is_refused_only_for_its_own_sake_and_a_retention_for_every_type() -> None:
    waiting = {QUOTAS: {"message_age": quota(seconds=599)}}
    below = {RETENTION: retention(1, 1)}
    unlimited = set_entry(QUOTAS, "destination_storage", quota(-1))
    assert isinstance(holding(unlimited, QUOTAS, lambda: below)(waiting), Refuse)
    assert not isinstance(holding(unlimited, QUOTAS, lambda: below, ("destination_storage",))(waiting), Refuse)
    assert isinstance(holding(set_value(RETENTION, retention(1, 1)), RETENTION, lambda: EMPTY)(waiting), Refuse)


def test_a_namespaces_policies_change_alike() -> None:
    assert change_namespace("n", set_value(TTL, 5))(NamespaceRecord()) == NamespaceRecord(policies={TTL: 5})
    refused = change_namespace("n", set_value(TTL, 5))(None)
    assert isinstance(refused, Refuse)
    assert refused.verdict is Verdict.NAMESPACE_NOT_FOUND


def test_members_are_replaced_whole_and_the_others_stay() -> None:
    old = TopicRecord(labels={"a": "1"}, properties={"p": "1"}, local={TTL: 5}, global_={TTL: 6})
    new = replace_members("t", {"labels": {"b": "2"}, "local": {"maxMessageSize": 7}}, lambda: EMPTY)(old)
    assert new == TopicRecord(labels={"b": "2"}, properties={"p": "1"}, local={"maxMessageSize": 7}, global_={TTL: 6})


def test_members_that_contradict_each_other_are_refused_unless_they_stood_before() -> None:
    policies = {RETENTION: retention(10, 10), QUOTAS: {"message_age": quota(seconds=600)}}
    replacing = replace_members("t", {"global_": policies}, lambda: EMPTY)
    refused = replacing(topic())
    assert isinstance(refused, Refuse)
    assert refused.verdict is Verdict.POLICY_UNMET
    assert replacing(topic(None, policies)) == topic(None, policies)
