"""`topicfold tenants` and `topicfold namespaces`: what is shown of them, and what a change leaves as it was."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Run
from topicfold.client import Client


def test_a_tenant_is_created_changed_shown_and_deleted(run: Run, client: Client) -> None:
    client.create_cluster("west", {"serviceUrl": "http://west.example.com:8080"})
    assert run("tenants", "create", "acme", "-r", "ops,sre", "-c", "west").err == "created acme\n"
    assert run("tenants", "update", "acme", "-c", "standalone,west").err == "updated acme\n"
    assert run("tenants", "get", "acme").out.splitlines() == [
        "FIELD             VALUE",
        "name              acme",
        "admin roles       ops,sre",
        "allowed clusters  standalone,west",
        f"etag              {client.get_tenant('acme').etag}",
    ]
    assert run("tenants", "update", "acme", "-r", "ops").code == 0
    assert (run("tenants", "get", "acme", "-o", "name").out, run("tenants", "list").err) == ("acme\n", "")
    changed = client.get_tenant("acme")
    assert (changed.admin_roles, changed.allowed_clusters) == (("ops",), ("standalone", "west"))
    assert run("tenants", "delete", "acme").err == "deleted acme\n"


def test_a_change_of_a_tenant_undoes_none_that_was_made_meanwhile(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.create_tenant("acme", admin_roles=["ops"])
    read = client.get_tenant("acme")
    client.update_tenant("acme", admin_roles=["sre"], allowed_clusters=[])
    monkeypatch.setattr(Client, "get_tenant", lambda *_: read)
    assert run("tenants", "update", "acme", "-c", "standalone").code == 4
    monkeypatch.undo()
    assert client.get_tenant("acme").admin_roles == ("sre",)


def test_a_change_of_a_certain_version_of_a_tenant_is_of_no_other(run: Run, client: Client) -> None:
    client.create_tenant("acme")
    read = client.get_tenant("acme").etag
    client.update_tenant("acme", admin_roles=["sre"], allowed_clusters=[])
    assert run("tenants", "update", "acme", "-r", "ops", "--if-match", read).code == 4
    assert run("tenants", "update", "acme", "-r", "ops", "--if-match", client.get_tenant("acme").etag).code == 0


def test_who_names_no_tenant_is_told_that_there_are_others(run: Run, client: Client) -> None:
    listed = "NAMESPACE\npublic/default\n"
    assert run("namespaces", "list") == (0, listed, "")
    client.create_tenant("acme")
    told = "these are those of tenant public; topicfold tenants list shows all tenants\n"
    assert run("namespaces", "list") == (0, listed, told)
    assert run("namespaces", "list", "public") == (0, listed, "")


def test_a_tenant_whose_name_was_left_empty_by_mistake_is_not_the_default_one(run: Run) -> None:
    listed = run("namespaces", "list", "")
    assert (listed.code, listed.out) == (2, "")


def test_where_there_is_nothing_to_list_that_is_said(run: Run, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.create_tenant("acme")
    assert run("namespaces", "list", "acme") == (0, "", "tenant acme has no namespaces\n")
    assert run("namespaces", "create", "acme/pay").err == "created acme/pay\n"
    assert run("namespaces", "list", "acme") == (0, "NAMESPACE\nacme/pay\n", "")
    listed = "namespaces", "list-topic-custom-labels", "acme/pay"
    assert run(*listed) == (0, "", "no topic in acme/pay has labels\n")
    client.create_topic("acme/pay/orders", labels={"team": "pay"})
    assert run(*listed) == (0, "KEY   VALUES\nteam  pay\n", "")
    monkeypatch.setattr(Client, "list_tenants", lambda *_: ())
    assert run("tenants", "list") == (0, "", "there are no tenants, or none that you may see\n")
