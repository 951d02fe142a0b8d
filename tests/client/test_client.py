"""The client against a server: every route, and what its answers become. Only public promises of the REST contract."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from unittest.mock import ANY

import pytest

from tests.client.waiting import eventually
from topicfold.client import Client, RetryRule, ServerUnreachable, Tenant, UnexpectedAnswer
from topicfold.client.call import ChangeOptions
from topicfold.errors import (
    AlreadyExists,
    InvalidLabels,
    InvalidName,
    InvalidRequest,
    NamespaceNotFound,
    NotEmpty,
    OperationNotFound,
    PreconditionFailed,
    Resync,
    TenantNotFound,
    TopicNotFound,
    WrongKind,
)
from topicfold.runtime.revision import Revision


def test_a_tenant_lives_from_creation_to_deletion(client: Client) -> None:
    client.create_tenant("acme", admin_roles=["ops"])
    client.update_tenant("acme", admin_roles=["ops", "sre"], allowed_clusters=["standalone"])
    assert client.get_tenant("acme") == Tenant("acme", ("ops", "sre"), ("standalone",), etag=ANY)
    assert client.list_tenants() == ("acme", "public")
    client.delete_tenant("acme")
    with pytest.raises(TenantNotFound):
        client.get_tenant("acme")


def test_a_namespace_lives_from_creation_to_deletion(client: Client) -> None:
    client.create_tenant("acme")
    client.create_namespace("acme/pay")
    client.create_topic("acme/pay/orders")
    assert client.list_namespaces("acme") == ("acme/pay",)
    with pytest.raises(NotEmpty):
        client.delete_namespace("acme/pay")
    client.delete_namespace("acme/pay", force=True)
    with pytest.raises(NamespaceNotFound):
        client.get_namespace("acme/pay")


def test_a_created_topic_is_answered_as_it_is_read_later(client: Client) -> None:
    created = client.create_topic("orders", partitions=3, properties={"doc": "a, b"}, labels={"team": "pay"})
    assert client.get_topic("orders") == created
    assert (created.name, created.partitions) == ("persistent://public/default/orders", 3)
    assert (created.labels, created.properties, created.kafka_name) == ({"team": "pay"}, {"doc": "a, b"}, None)


def test_a_non_persistent_topic_is_another_than_the_persistent_one_of_its_name(client: Client) -> None:
    client.create_topic("non-persistent://public/default/orders")
    assert client.get_topic("non-persistent://public/default/orders").name.startswith("non-persistent://")
    with pytest.raises(TopicNotFound):
        client.get_topic("orders")


def test_a_name_of_any_letters_reaches_the_server_unharmed(client: Client) -> None:
    name = "persistent://public/default/zahl 50% größe?#&+用"
    assert client.create_topic(name).name == name
    assert client.get_topic(name).name == name


def test_labels_are_set_beside_others_and_removed_by_key_or_all(client: Client) -> None:
    client.create_topic("orders")
    client.set_labels("orders", {"team": "pay", "tier": "gold"})
    client.set_labels("orders", {"tier": "silver", "owner": "a@b.io"})
    client.remove_labels("orders", ["team"])
    assert client.get_labels("orders") == {"tier": "silver", "owner": "a@b.io"}
    client.remove_all_labels("orders")
    assert client.get_labels("orders") == {}


def test_a_patch_merges_into_a_record_and_none_removes(client: Client) -> None:
    policies = {"local": {"messageTTLInSeconds": 5, "maxMessageSize": 7}}
    client.create_topic("orders", labels={"tier": "gold", "stage": "test"}, policies=policies)
    changes = {"labels": {"stage": None}, "policies": {"local": {"maxMessageSize": None}}}
    client.patch_topic("orders", changes)
    after = client.get_topic("orders")
    assert (after.labels, after.policies) == (
        {"tier": "gold"},
        {"local": {"messageTTLInSeconds": 5}, "global": None},
    )


def test_labels_of_a_namespace_are_keys_with_sorted_values(client: Client) -> None:
    client.create_topic("a", labels={"tier": "silver"})
    client.create_topic("b", labels={"tier": "gold", "team": "pay"})
    assert client.namespace_labels("public/default") == {"team": ("pay",), "tier": ("gold", "silver")}


@pytest.mark.parametrize("value", ["pay", "a,b", "x:y=z", "back\\slash", "key:v,other:w"])
def test_one_label_finds_topics_whatever_its_value_holds(client: Client, value: str) -> None:
    client.create_topic("orders", labels={"note": value})
    client.create_topic("refunds")
    assert [topic.name for topic in client.find_topics(labels={"note": value}).topics] == [
        "persistent://public/default/orders"
    ]
    assert client.list_topics("public/default", labels={"note": value}) == ("persistent://public/default/orders",)


def test_all_labels_must_hold(client: Client) -> None:
    client.create_topic("both", labels={"team": "pay", "tier": "gold"})
    client.create_topic("one", labels={"team": "pay"})
    assert len(client.find_topics(labels={"team": "pay", "tier": "gold"}).topics) == 1
    assert len(client.list_topics("public/default", labels={"team": "pay", "tier": "gold"})) == 1


def test_a_partitioned_topic_is_found_once_and_listed_as_its_partitions(client: Client) -> None:
    client.create_topic("orders", partitions=2)
    client.grow_topic("orders", 3)
    full = "persistent://public/default/orders"
    assert client.list_topics("public/default") == tuple(f"{full}-partition-{i}" for i in range(3))
    assert client.list_partitioned_topics("public/default") == (full,)
    assert [topic.partitions for topic in client.find_topics().topics] == [3]


def test_deleting_the_other_kind_of_topic_is_refused(client: Client) -> None:
    client.create_topic("plain")
    client.create_topic("partitioned", partitions=2)
    with pytest.raises(WrongKind):
        client.delete_plain_topic("partitioned")
    with pytest.raises(WrongKind):
        client.delete_partitioned_topic("plain")
    client.delete_plain_topic("plain")
    client.delete_partitioned_topic("partitioned")
    assert client.find_topics().topics == ()


def test_an_etag_guards_a_change(client: Client) -> None:
    etag = client.create_topic("orders").etag
    client.set_labels("orders", {"tier": "gold"}, if_match=etag)
    with pytest.raises(PreconditionFailed) as refused:
        client.set_labels("orders", {"tier": "silver"}, if_match=etag)
    assert refused.value.values["current"] == client.get_topic("orders").etag


def test_a_change_answers_with_its_operation_position_and_etag(client: Client) -> None:
    client.create_topic("orders")
    written = client.set_labels("orders", {"tier": "gold"})
    assert written.position == client.position
    assert written.etag == client.get_topic("orders").etag
    assert client.get_operation(written.operation).id == written.operation


def test_a_server_on_another_log_is_read_once_it_has_said_so(client: Client) -> None:
    client._position = str(Revision(bytes(16), {0: 1}))
    with pytest.raises(Resync):
        client.list_tenants()
    assert client.list_tenants() == ("public",)


def test_refusals_arrive_as_their_own_classes_with_their_values(client: Client) -> None:
    client.create_topic("orders")
    with pytest.raises(AlreadyExists):
        client.create_topic("orders")
    with pytest.raises(InvalidLabels) as refused:
        client.set_labels("orders", {"a b": "x", "ok": "y" * 600})
    assert [violation["path"] for violation in refused.value.values["violations"]] == ["labels.a b", "labels.ok"]
    with pytest.raises(OperationNotFound):
        client.get_operation("7")


def test_a_malformed_name_is_refused_before_anything_is_sent() -> None:
    with Client("http://127.0.0.1:1") as client, pytest.raises(InvalidName):
        client.get_topic("one/two")


def test_removing_no_keys_is_refused_rather_than_sent(client: Client) -> None:
    with pytest.raises(InvalidRequest):
        client.remove_labels("orders", [])


def test_one_text_where_there_may_be_several_is_that_text_and_not_its_letters(client: Client) -> None:
    client.create_tenant("acme", admin_roles="ops", allowed_clusters="standalone")
    assert client.get_tenant("acme").admin_roles == ("ops",)
    client.update_tenant("acme", admin_roles="sre")
    assert client.get_tenant("acme").admin_roles == ("sre",)
    client.create_topic("orders", labels={"tier": "gold", "t": "x"})
    client.remove_labels("orders", "tier")
    assert client.get_labels("orders") == {"t": "x"}
    client.grant_on_topic("orders", "ann", "produce")
    assert client.topic_permissions("orders") == {"ann": ("produce",)}


def test_version_and_readiness_are_told(client: Client) -> None:
    assert client.version().version == "0.1.0"
    eventually(lambda: client.readiness().is_ready)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "http://", "http://a:port", "http://a:99999", "a:0", ""])
def test_a_url_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(InvalidRequest):
        Client(url)


@pytest.mark.parametrize("seconds", [0, -1.0, math.inf, math.nan, 1e12])
def test_a_time_in_which_nothing_can_be_waited_for_is_refused_at_once(seconds: float) -> None:
    with pytest.raises(InvalidRequest, match=f"timeout_seconds {seconds}"):
        Client(timeout_seconds=seconds)


@pytest.mark.parametrize(
    "url",
    [
        "http://me:secret@127.0.0.1:1", "http://me:secret@127.0.0.1:port", "http://127.0.0.1:1/?token=secret",
        "http://127.0.0.1:port?token=secret", "127.0.0.1:1#secret", "ftp://127.0.0.1?secret",
    ],
)  # fmt: skip
def test_a_url_with_a_password_or_a_query_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        Client(url)
    assert "secret" not in f"{refused.value.reason} {refused.value.hint}"


def test_a_url_without_a_scheme_is_taken_for_http(server_url: str) -> None:
    with Client(server_url.removeprefix("http://")) as client:
        assert client.url == server_url
        assert client.list_tenants() == ("public",)


def test_tls_where_there_is_none_says_which_url_to_try(server_url: str) -> None:
    url = server_url.replace("http:", "https:")
    with Client(url, retry=RetryRule(max_attempts=1)) as client, pytest.raises(ServerUnreachable) as failed:
        client.list_tenants()
    assert failed.value.hint.endswith(f"try {server_url}")


@pytest.mark.parametrize(
    "options", [{"idempotency_key": ""}, {"idempotency_key": "k" * 256}, {"reason": "x" * 513}], ids=str
)
def test_a_key_or_reason_of_a_length_that_cannot_work_is_refused_before_anything_is_sent(
    options: ChangeOptions,
) -> None:
    with Client("http://127.0.0.1:1") as client, pytest.raises(InvalidRequest):
        client.create_topic("orders", **options)


@pytest.mark.parametrize("given", ["team=pay", ["ab"]])
@pytest.mark.parametrize(
    "ask",
    [
        lambda client, given: client.set_labels("orders", given),
        lambda client, given: client.create_topic("orders", labels=given),
        lambda client, given: client.create_topic("orders", properties=given),
        lambda client, given: client.update_properties("orders", given),
        lambda client, given: client.update_namespace_properties("public/default", given),
    ],
    ids=["labels", "labels of a new topic", "its properties", "properties", "properties of a namespace"],
)
def test_what_are_no_pairs_is_refused_in_our_words(client: Client, ask: Callable[..., Any], given: object) -> None:
    with pytest.raises(InvalidRequest):
        ask(client, given)


def test_something_else_behind_the_url_is_told_from_topicfold() -> None:
    import httpx2

    page = httpx2.MockTransport(lambda _: httpx2.Response(200, text="<html>It works!</html>"))
    with Client(transport=page) as client, pytest.raises(UnexpectedAnswer):
        client.list_tenants()
