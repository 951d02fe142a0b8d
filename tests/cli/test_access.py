"""The commands about grants, clusters, properties and what is set on a namespace."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run
from topicfold.client import Client


@pytest.mark.parametrize(
    ("group", "on"), [("tenants", "public"), ("namespaces", "public/default"), ("topics", "orders")]
)
def test_what_a_role_was_granted_is_shown_and_revoked(run: Run, client: Client, group: str, on: str) -> None:
    client.create_topic("orders")
    name = client.get_topic("orders").name if group == "topics" else on
    done = run(group, "grant-permission", on, "--role", "ann", "--actions", "list-topics,watch")
    assert (done.code, done.err) == (0, f"granted list-topics,watch to ann on {name}\n")
    assert run(group, "permissions", on) == (0, "ROLE  ACTIONS\nann   list-topics,watch\n", "")
    assert json.loads(run(group, "permissions", on, "-o", "json").out) == {"ann": ["list-topics", "watch"]}
    assert run(group, "revoke-permission", on, "-r", "ann").err == f"revoked all from ann on {name}\n"
    assert run(group, "permissions", on) == (0, "", f"no role has anything granted on {name}\n")


def test_an_action_that_does_not_exist_is_refused_and_those_that_do_are_named(run: Run, client: Client) -> None:
    failed = run("namespaces", "grant-permission", "public/default", "-r", "ann", "-a", "fly")
    assert failed.code == 2
    assert "'fly' is not an action; the actions are admin, consume" in failed.err
    failed = run("namespaces", "grant-permission", "public/default", "-r", "ann", "-a", "")
    assert (failed.code, failed.err.splitlines()[1]) == (2, "hint: revoke-permission takes all away")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("tenants", "grant-permission", "public", "-a", "admin", "-r", ""), "role"),
        (("namespaces", "grant-permission", "public/default", "-a", "admin", "-r", ""), "role"),
        (("topics", "grant-permission", "orders", "-a", "watch", "-r", ""), "role"),
        (("namespaces", "revoke-permission", "public/default", "-r", ""), "role"),
        (("topics", "revoke-permission", "orders", "-r", ""), "role"),
        (("clusters", "get", ""), "cluster"),
        (("clusters", "delete", ""), "cluster"),
        (("operations", "get", ""), "operation"),
    ],
)
def test_what_a_path_ends_in_is_not_left_empty(run: Run, words: tuple[str, ...], what: str) -> None:
    failed = run(*words)
    assert (failed.code, failed.err.splitlines()) == (
        2,
        [f"error: the {what} is empty", f"hint: Name the {what}; is a variable not set?"],
    )


@pytest.mark.parametrize("role", [".", ".."])
def test_a_role_that_would_make_the_path_one_of_its_namespace_is_refused(run: Run, client: Client, role: str) -> None:
    failed = run("namespaces", "revoke-permission", "public/default", "-r", role)
    assert (failed.code, "is not a role that a path can contain" in failed.err) == (2, True)
    assert client.list_namespaces("public") == ("public/default",)


def test_a_cluster_is_registered_shown_and_forgotten(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("clusters", "create", "west", "--url", "http://west.example.com:8080").err == "created west\n"
    assert run("clusters", "list", "-o", "name").out == "standalone\nwest\n"
    assert run("clusters", "get", "west").out.splitlines()[1] == "serviceUrl  http://west.example.com:8080"
    assert run("clusters", "get", "west", "-o", "name").out == "west\n"
    assert run("clusters", "delete", "west").err == "deleted west\n"
    assert run("clusters", "get", "west").code == 3


def test_a_cluster_is_shown_with_its_peers(run: Run, client: Client) -> None:
    for name, peers in (("east", []), ("north", []), ("west", ["east", "north"])):
        client.create_cluster(name, {"serviceUrl": f"http://{name}.example.com:8080", "peerClusterNames": peers})
    assert run("clusters", "get", "west").out.splitlines()[1].split() == ["peerClusterNames", "east,north"]


def test_a_cluster_of_which_nothing_is_known_is_said_to_have_nothing(run: Run) -> None:
    shown = run("clusters", "get", "standalone")
    assert (shown.code, shown.out, shown.err) == (0, "", "it has no addresses and no peers\n")


def test_properties_are_set_beside_others_shown_and_removed(run: Run, client: Client) -> None:
    client.create_topic("orders", properties={"team": "pay"})
    assert run("topics", "update-properties", "orders", "-p", "owner=ann", "-p", "note=a,b=c").code == 0
    assert run("topics", "get-properties", "orders")[1:] == (
        "PROPERTY  VALUE\nnote      a,b=c\nowner     ann\nteam      pay\n",
        "",
    )
    assert run("topics", "remove-properties", "orders", "-k", "owner").code == 0
    assert json.loads(run("topics", "get-properties", "orders", "-o", "json").out) == {"team": "pay", "note": "a,b=c"}


def test_what_is_set_on_a_namespace_is_shown_together(run: Run) -> None:
    run("namespaces", "set-retention", "public/default", "-t", "1h", "-s", "1G")
    shown = json.loads(run("namespaces", "policies", "public/default", "-o", "json").out)
    assert shown["retention_policies"] == {"retentionTimeInMinutes": 60, "retentionSizeInMB": 1024}
    assert "retention_policies.retentionSizeInMB" in run("namespaces", "policies", "public/default").out
