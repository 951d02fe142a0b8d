"""Policies, grants and clusters through the client; each policy is one row of the table, so one stands for all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from topicfold.client import Client
from topicfold.errors import InvalidPolicy, InvalidRequest, PolicyUnmet, PreconditionFailed

RETENTION = {"retentionTimeInMinutes": 60, "retentionSizeInMB": -1}


@pytest.fixture
def topic(client: Client) -> str:
    return client.create_topic("orders").name


def test_a_policy_is_set_read_and_removed(client: Client, topic: str) -> None:
    written = client.set_policy(topic, "retentionPolicies", RETENTION, reason="SLA")
    assert client.get_policy(topic, "retentionPolicies") == RETENTION
    assert written.etag == client.get_topic(topic).etag
    client.remove_policy(topic, "retentionPolicies")
    assert client.get_policy(topic, "retentionPolicies") is None


@pytest.mark.parametrize(("name", "value"), [("messageTTLInSeconds", 0), ("deduplicationEnabled", False)])
def test_nought_and_false_are_values(client: Client, topic: str, name: str, value: object) -> None:
    client.set_policy(topic, name, value)
    assert client.get_policy(topic, name) == value


def test_a_value_for_all_clusters_lies_below_the_topics_own(client: Client, topic: str) -> None:
    client.set_policy(topic, "maxProducerPerTopic", 5, is_global=True)
    client.set_policy(topic, "maxProducerPerTopic", 3)
    assert client.effective(topic)["policies"]["maxProducerPerTopic"]["origin"] == "topic"
    client.remove_policy(topic, "maxProducerPerTopic")
    found = client.effective(topic)["policies"]["maxProducerPerTopic"]
    assert (found["value"], found["origin"]) == (5, "global")


def test_all_policies_of_a_topic_are_removed_at_once(client: Client, topic: str) -> None:
    client.set_policy(topic, "maxProducerPerTopic", 5, is_global=True)
    client.set_policy(topic, "maxConsumerPerTopic", 3)
    client.remove_policies(topic)
    assert client.get_topic(topic).policies == {"local": None, "global": None}


@pytest.mark.parametrize("place", ["public/default/nosuch", "no/such/orders"])
def test_all_policies_of_what_is_not_there_are_removed_without_a_word(client: Client, place: str) -> None:
    assert client.remove_policies(place).position


def test_what_was_not_written_for_want_of_a_namespace_is_no_operation(client: Client) -> None:
    written = client.remove_policies("no/such/orders")
    assert (written.operation, written.etag) == ("", "")


def test_entries_of_a_map_are_set_one_by_one(client: Client, topic: str) -> None:
    quota = {"limitSize": 1024, "limitTime": -1, "policy": "producer_exception"}
    client.set_policy(topic, "backLogQuotaMap", quota)
    client.set_policy(topic, "backLogQuotaMap", {**quota, "limitTime": 60}, entry="message_age")
    assert set(client.get_policy(topic, "backLogQuotaMap")) == {"destination_storage", "message_age"}
    client.remove_policy(topic, "backLogQuotaMap")
    assert set(client.get_policy(topic, "backLogQuotaMap")) == {"message_age"}


def test_the_rate_of_a_subscription_goes_by_its_name(client: Client, topic: str) -> None:
    rate = {"dispatchThrottlingRateInMsg": 7}
    client.set_policy(topic, "subscriptionPolicies", rate, entry="bill/ing 1")
    assert client.get_policy(topic, "subscriptionPolicies", entry="bill/ing 1")["dispatchThrottlingRateInMsg"] == 7
    with pytest.raises(InvalidRequest, match="set entry by entry"):
        client.get_policy(topic, "subscriptionPolicies")


def test_a_policy_of_the_namespace_holds_where_the_topic_says_nothing(client: Client, topic: str) -> None:
    client.set_namespace_policy("public/default", "messageTTLInSeconds", 60)
    assert client.get_namespace_policy("public/default", "messageTTLInSeconds") == 60
    assert client.get_policy(topic, "messageTTLInSeconds") is None
    assert client.get_policy(topic, "messageTTLInSeconds", applied=True) == 60
    client.remove_namespace_policy("public/default", "messageTTLInSeconds")
    assert client.get_namespace_policy("public/default", "messageTTLInSeconds") is None


def test_the_interval_that_pulsar_cannot_delete_from_a_namespace_is_removed(client: Client) -> None:
    client.set_namespace_policy("public/default", "deduplicationSnapshotIntervalSeconds", 60)
    client.remove_namespace_policy("public/default", "deduplicationSnapshotIntervalSeconds")
    assert client.get_namespace_policy("public/default", "deduplicationSnapshotIntervalSeconds") is None


def test_a_change_meant_for_another_version_is_refused(client: Client, topic: str) -> None:
    etag = client.get_topic(topic).etag
    client.set_policy(topic, "maxProducerPerTopic", 1, if_match=etag)
    with pytest.raises(PreconditionFailed):
        client.remove_policy(topic, "maxProducerPerTopic", if_match=etag)


def test_a_value_that_cannot_hold_is_refused(client: Client, topic: str) -> None:
    with pytest.raises(PolicyUnmet, match="maxProducers"):
        client.set_policy(topic, "maxProducerPerTopic", -1)


PAUSE = "dispatcherPauseOnAckStatePersistentEnabled"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (PAUSE, False, "can only be set to true"),
        ("messageTTLInSeconds", "soon", "must be a whole number"),
        ("messageTTLInSeconds", 1 << 31, "does not fit into 32 bits"),
        ("messageTTLInSeconds", None, "not null"),
        ("retentionPolicies", None, "not null"),
        ("retentionPolicies", {"retentionTimeInMinute": 60}, "retentionTimeInMinute not known here"),
        ("backLogQuotaMap", {"limitSizes": 60, "policy": "producer_exception"}, "limitSizes not known here"),
        ("persistence", {"managedLedgerMaxMarkDeleteRate": float("nan")}, "too large"),
        ("replicationClusters", {"standalone"}, "must be a list"),
    ],
)
def test_a_value_that_would_become_another_is_refused_before_anything_is_sent(
    name: str, value: object, said: str
) -> None:
    with Client("http://127.0.0.1:1") as client:
        with pytest.raises(InvalidPolicy, match=said):
            client.set_policy("orders", name, value)
        with pytest.raises(InvalidPolicy, match=said):
            client.set_namespace_policy("public/default", name, value)


@pytest.mark.parametrize(
    "value", [{"limit": 5, "policy": "producer_exception"}, {"limitSize": "5", "policy": "producer_exception"}]
)
def test_what_pulsar_takes_for_a_value_may_be_given(client: Client, topic: str, value: object) -> None:
    client.set_policy(topic, "backLogQuotaMap", value)
    assert client.get_policy(topic, "backLogQuotaMap")["destination_storage"]["limitSize"] == 5


def test_a_pause_is_turned_on_and_off(client: Client, topic: str) -> None:
    client.set_policy(topic, PAUSE, True)
    assert client.get_policy(topic, PAUSE) is True
    client.remove_policy(topic, PAUSE)
    assert client.get_policy(topic, PAUSE) is False


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda client: client.get_policy("orders", "retention"), "no policy 'retention'"),
        (lambda client: client.set_policy("orders", "shadowTopics", [], is_global=True), "no value for all clusters"),
        (lambda client: client.get_policy("orders", "maxMessageSize", applied=True), "no applied value"),
        (lambda client: client.remove_policy("orders", "schemaValidationEnforced"), "cannot be removed"),
        (lambda client: client.remove_namespace_policy("public/default", "replicationClusters"), "cannot be removed"),
        (
            lambda client: client.set_namespace_policy("public/default", "maxMessageSize", 1),
            "not a policy of namespaces",
        ),
    ],
)
def test_what_a_policy_cannot_do_is_said_before_anything_is_sent(ask: Callable[[Client], object], said: str) -> None:
    with Client("http://127.0.0.1:1") as client, pytest.raises(InvalidRequest, match=said):
        ask(client)


def test_a_policy_that_is_nearly_right_is_told_which_is_meant() -> None:
    with Client("http://127.0.0.1:1") as client, pytest.raises(InvalidRequest) as unknown:
        client.get_policy("orders", "retention")
    assert unknown.value.hint == "Did you mean retentionPolicies?"


def test_grants_are_given_replaced_and_taken_away(client: Client, topic: str) -> None:
    client.grant_on_topic(topic, "ann/b", ["list-topics", "watch"])
    client.grant_on_topic(topic, "ann/b", ["read-policies"])
    client.grant_on_namespace("public/default", "bob", ["admin"])
    assert client.topic_permissions(topic) == {"ann/b": ("read-policies",), "bob": ("admin",)}
    client.revoke_on_namespace("public/default", "bob")
    client.revoke_on_topic(topic, "ann/b")
    assert client.topic_permissions(topic) == {}
