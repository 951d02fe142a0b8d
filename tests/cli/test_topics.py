"""The commands about topics, labels, namespaces and tenants: from words on a command line to a server and back."""

from __future__ import annotations

import json
import sys

import pytest

from tests.cli.conftest import Run
from tests.terminal import Terminal
from topicfold.build import build_id
from topicfold.client import Client
from topicfold.errors import Forbidden

ORDERS = "persistent://public/default/orders"


def test_a_topic_is_created_labelled_found_and_deleted(run: Run) -> None:
    assert run("topics", "create", "orders").code == 0
    assert run("topics", "set-custom-labels", "orders", "--labels", "team=pay,tier=gold").code == 0
    found = run("topics", "list", "public/default", "--custome-labels", "team:pay", "-o", "name")
    assert (found.code, found.out) == (0, f"{ORDERS}\n")
    assert run("topics", "delete", "orders").code == 0
    assert run("topics", "list", "-o", "name").out == ""


@pytest.mark.parametrize("words", [("create", "orders"), ("create-partitioned-topic", "orders", "--partitions", "3")])
def test_a_topic_may_have_labels_from_the_first_moment(run: Run, client: Client, words: tuple[str, ...]) -> None:
    assert run("topics", *words, "--labels", "team=pay", "-l", "note=a,b").code == 0
    assert client.get_topic("orders").labels == {"team": "pay", "note": "a,b"}
    assert len(client.history("orders").entries) == 1


@pytest.mark.parametrize("option", ["--custom-labels", "--custome-labels"])
@pytest.mark.parametrize("pairs", ["team:pay,tier:gold", "team=pay,tier=gold"])
def test_the_filter_takes_every_spelling(run: Run, client: Client, option: str, pairs: str) -> None:
    client.create_topic("orders", labels={"team": "pay", "tier": "gold"})
    client.create_topic("refunds", labels={"team": "pay"})
    assert run("topics", "list", "public/default", option, pairs, "-o", "name").out == f"{ORDERS}\n"


def test_a_repeated_filter_takes_values_as_they_stand(run: Run, client: Client) -> None:
    client.create_topic("orders", labels={"note": "a,b:c", "team": "pay"})
    found = run("topics", "list", "--custom-labels", "note:a,b:c", "--custom-labels", "team:pay", "-o", "name")
    assert found.out == f"{ORDERS}\n"


def test_labels_are_shown_and_removed(run: Run, client: Client) -> None:
    client.create_topic("orders", labels={"team": "pay", "tier": "gold", "note": "x"})
    assert run("topics", "remove-custom-labels", "orders", "--labels", "tier,note").code == 0
    assert json.loads(run("topics", "get-custom-labels", "orders", "-o", "json").out) == {"team": "pay"}
    assert run("topics", "remove-custom-labels", "orders", "--all").code == 0
    assert client.get_labels("orders") == {}


@pytest.mark.parametrize("options", [[], ["--all", "--labels", "a"], ["--labels", " , "]])
def test_removing_labels_takes_either_keys_or_all(run: Run, client: Client, options: list[str]) -> None:
    client.create_topic("orders", labels={"a": "b"})
    assert run("topics", "remove-custom-labels", "orders", *options).code == 2
    assert client.get_labels("orders") == {"a": "b"}


@pytest.mark.parametrize("word", ["team=payments", "team:payments", "team-"])
def test_removing_a_label_by_more_than_its_key_is_refused(run: Run, client: Client, word: str) -> None:
    client.create_topic("orders", labels={"team": "payments"})
    failed = run("topics", "remove-custom-labels", "orders", "--labels", word)
    assert failed.code == 2
    assert "Write the key alone: team\n" in failed.err
    assert client.get_labels("orders") == {"team": "payments"}


def test_removing_labels_says_which_of_them_were_not_set(run: Run, client: Client) -> None:
    client.create_topic("orders", labels={"team": "pay"})
    done = run("topics", "remove-custom-labels", "orders", "--labels", "team,nothere")
    assert (done.code, done.err) == (0, f"removed team from {ORDERS}\nit had no nothere\n")
    again = run("topics", "remove-custom-labels", "orders", "--labels", "team")
    assert (again.code, again.err) == (0, f"unchanged {ORDERS}: it had no team\n")


@pytest.mark.parametrize(
    ("topic", "kafka_name", "shown"),
    [
        ("orders", None, "orders (by rule)"),
        ("public/default/orders", "pay-orders", "pay-orders"),
        ("höhe", None, "(none: not a name Kafka allows)"),
        ("non-persistent://public/default/orders", None, "(none: not persistent)"),
    ],
)
def test_the_kafka_topic_that_a_topic_stands_for_is_shown(
    run: Run, client: Client, topic: str, kafka_name: str | None, shown: str
) -> None:
    client.create_topic(topic, kafka_name=kafka_name)
    lines = run("topics", "get", topic).out.splitlines()
    assert f"kafka name  {shown}" in lines


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "no topics in public/default\ntopicfold topics list -A lists those of all namespaces\n"),
        (["public/default"], "no topics in public/default\n"),
        (["--custom-labels", "a:b"], "no topics match\n"),
        (["-l", "a=b"], "no topics match\ntopicfold explain a=b tells what each requirement finds\n"),
        (["-A", "-l", "!a,b"], "no topics match\ntopicfold explain '!a,b' -A tells what each requirement finds\n"),
        (["--quiet"], ""),
    ],
)
def test_a_list_without_topics_says_so(run: Run, options: list[str], said: str) -> None:
    assert run("topics", "list", *options) == (0, "", said)


@pytest.mark.parametrize(("age_seconds", "is_warned"), [(14.4, True), (0.4, False), (None, False)])
def test_what_may_be_old_is_shown_with_a_warning(
    run: Run, monkeypatch: pytest.MonkeyPatch, age_seconds: float | None, is_warned: bool
) -> None:
    monkeypatch.setattr(Client, "age_seconds", age_seconds)
    told = run("tenants", "list", "--quiet")
    assert told.code == 0
    assert told.err == ("warning: this may be 14 s old; topicfold doctor tells why\n" if is_warned else "")


def test_partitioned_topics_are_made_grown_and_deleted_by_their_own_commands(run: Run) -> None:
    assert run("topics", "create-partitioned-topic", "orders", "-p", "3").code == 0
    assert run("topics", "update-partitioned-topic", "orders", "-p", "5").code == 0
    assert json.loads(run("topics", "get", "orders", "-o", "json").out)["partitions"] == 5
    assert run("topics", "delete", "orders").code == 4
    assert run("topics", "delete-partitioned-topic", "orders").code == 0


def test_a_topic_that_is_made_again_says_how_to_restore_what_it_had(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    client.create_topic("orders", labels={"tier": "gold"})
    client.delete_topic("orders")
    told = run("topics", "create", "orders").err.splitlines()
    assert told[1].startswith("a topic of that name was deleted before; topicfold rollback --to ")
    assert told[1].endswith(" persistent://public/default/orders restores its labels, properties and policies")
    assert run(*told[1].partition("; topicfold ")[2].split(" restores")[0].split()).code == 0
    assert client.get_labels("orders") == {"tier": "gold"}


@pytest.mark.usefixtures("nobody")
def test_a_script_that_makes_a_topic_again_does_not_ask_for_a_past_that_it_may_not_read(
    run: Run, client: Client
) -> None:
    client.create_topic("orders", labels={"tier": "gold"})
    client.delete_topic("orders")
    assert run("topics", "create", "orders").err == "created persistent://public/default/orders\n"


def test_a_topic_that_is_made_again_after_one_that_had_nothing_says_nothing_of_it(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal())
    client.create_topic("orders", partitions=2)
    client.delete_topic("orders")
    assert run("topics", "create", "orders").err == "created persistent://public/default/orders\n"


def test_a_change_passes_its_reason_etag_and_key_on(run: Run, client: Client) -> None:
    etag = client.create_topic("orders").etag
    change = ("topics", "set-custom-labels", "orders", "--labels", "a=b", "--if-match", etag)
    assert run(*change, "--reason", "SLA", "--idempotency-key", "k1").code == 0
    assert run(*change).code == 4


def test_a_change_in_json_tells_operation_position_and_etag(run: Run, client: Client) -> None:
    client.create_topic("orders")
    done = json.loads(run("topics", "set-custom-labels", "orders", "--labels", "a=b", "-o", "json").out)
    assert done["name"] == ORDERS
    assert done["etag"] == client.get_topic("orders").etag
    assert json.loads(run("operations", "get", done["operation"], "-o", "json").out)["id"] == done["operation"]


def test_a_change_that_was_not_seen_may_still_be(run: Run) -> None:
    example = run("operations", "get", "--help").out.partition("Example:")[2].split()[3]
    asked = run("operations", "get", example)
    assert (asked.code, "not_seen" in asked.out, "not_seen is not final" in asked.err) == (0, True, True)


def test_namespaces_and_tenants_live_from_creation_to_deletion(run: Run, client: Client) -> None:
    assert run("tenants", "create", "acme", "--admin-roles", "ops,sre").code == 0
    assert run("namespaces", "create", "acme/pay").code == 0
    assert run("namespaces", "list", "acme", "-o", "name").out == "acme/pay\n"
    client.create_topic("acme/pay/orders")
    assert run("namespaces", "delete", "acme/pay").code == 4
    assert run("namespaces", "delete", "acme/pay", "--force").code == 0
    assert run("tenants", "delete", "acme").code == 0
    assert json.loads(run("tenants", "list", "-o", "json").out) == ["public"]


def test_updating_a_tenant_keeps_what_is_not_given(run: Run, client: Client) -> None:
    for cluster in ("east", "west"):
        client.create_cluster(cluster, {"serviceUrl": f"http://{cluster}:8080"})
    client.create_tenant("acme", admin_roles=["ops"], allowed_clusters=["east"])
    assert run("tenants", "update", "acme", "-r", "sre").code == 0
    assert run("tenants", "update", "acme", "-c", "east,west").code == 0
    tenant = client.get_tenant("acme")
    assert (tenant.admin_roles, tenant.allowed_clusters) == (("sre",), ("east", "west"))


def test_values_with_commas_can_be_told_apart_among_the_labels_of_a_namespace(run: Run, client: Client) -> None:
    client.create_topic("orders", labels={"note": "a,b"})
    client.create_topic("refunds", labels={"note": "c"})
    shown = run("namespaces", "list-topic-custom-labels", "public/default").out
    assert shown.splitlines()[1].split() == ["note", "a\\,b,c"]
    assert run("topics", "list", "--custom-labels", "note:a\\,b", "-o", "name").out.endswith("/orders\n")


@pytest.mark.parametrize("spelling", ["list-topic-custom-labels", "list-topic-custome-labels"])
def test_labels_of_a_namespace_are_listed_under_both_spellings(run: Run, client: Client, spelling: str) -> None:
    client.create_topic("orders", labels={"team": "pay"})
    listed = run("namespaces", spelling, "public/default", "-o", "json")
    assert json.loads(listed.out) == {"team": ["pay"]}


def test_version_names_both_sides(run: Run) -> None:
    both = {"client": "0.1.0", "server": "0.1.0", "clientBuild": build_id(), "serverBuild": build_id()}
    assert json.loads(run("version", "-o", "json").out) == both


def test_shared_options_may_stand_before_the_command(run: Run, client: Client) -> None:
    client.create_topic("orders")
    assert run("-o", "name", "topics", "list").out == f"{ORDERS}\n"
    assert json.loads(run("-o", "name", "topics", "list", "-o", "json").out)[0]["name"] == ORDERS


def test_labels_are_removed_by_who_may_not_read_them(run: Run, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.create_topic("orders", labels={"team": "pay", "tier": "gold"})

    def refuse(*_: object) -> None:
        raise Forbidden("no")

    with monkeypatch.context() as patched:
        patched.setattr(Client, "get_labels", refuse)
        done = run("topics", "remove-custom-labels", "orders", "--labels", "team")
        again = run("topics", "remove-custom-labels", "orders", "--labels", "team")
    assert (done.err, again.err) == (f"removed team from {ORDERS}\n", f"unchanged {ORDERS}: it had no team\n")
    assert client.get_labels("orders") == {"tier": "gold"}


def test_pulsars_own_topics_are_listed_only_if_asked_for(run: Run, client: Client) -> None:
    for topic in ("orders", "__change_events", "__orders"):
        client.create_topic(topic)
    names = [f"persistent://public/default/{name}" for name in ("__change_events", "__orders", "orders")]
    assert run("topics", "list", "-o", "name").out.split() == names[1:]
    for flag in ("-ist", "--include-system-topic"):
        assert run("topics", "list", "-o", "name", flag).out.split() == names


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("set-custom-labels", "-l", "team=pay"), "it had team=pay before"),
        (("remove-custom-labels", "-l", "tier"), "it had no tier"),
        (("update-properties", "-p", "owner=ann"), "it already had these properties"),
        (("remove-properties", "-k", "runbook"), "it had no property runbook"),
        (("grant-permission", "--role", "ann", "--actions", "admin"), "ann had admin before"),
        (("revoke-permission", "--role", "bob"), "bob had nothing granted on it"),
    ],
)
def test_what_was_so_before_is_unchanged(run: Run, client: Client, words: tuple[str, ...], said: str) -> None:
    client.create_topic("orders", labels={"team": "pay"}, properties={"owner": "ann"})
    client.grant_on_topic("orders", "ann", ["admin"])
    before = client.get_topic("orders").etag
    command, *options = words
    done = run("topics", command, "orders", *options)
    assert (done.code, done.err) == (0, f"unchanged {ORDERS}: {said}\n")
    assert client.get_topic("orders").etag == before


@pytest.mark.parametrize("command", ["get-custom-labels", "get-properties", "permissions"])
def test_where_there_is_nothing_to_show_a_note_says_so_and_json_is_empty(
    run: Run, client: Client, command: str
) -> None:
    client.create_topic("orders")
    assert run("topics", command, "orders").out == ""
    assert run("topics", command, "orders").err != ""
    assert run("topics", command, "orders", "-o", "json").out == "{}\n"
