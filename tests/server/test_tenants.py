"""Tenants under `/admin/v2`."""

from __future__ import annotations

import pytest

from tests.server.rest import RestNode
from topicfold.model import updates
from topicfold.model.events import AggregateKind
from topicfold.model.records import NamespaceRecord, TenantRecord
from topicfold.runtime.writing.writing import Writing

ACME = "/admin/v2/tenants/acme"


async def test_tenant_public_exists_from_the_first_start(rest: RestNode) -> None:
    assert await rest.get("/admin/v2/tenants") == ["public"]
    assert await rest.get("/admin/v2/tenants/public") == {"adminRoles": [], "allowedClusters": []}


async def test_a_tenant_is_made_changed_and_deleted(rest: RestNode) -> None:
    await rest.done("PUT", ACME, {"adminRoles": ["ann"], "allowedClusters": ["standalone"], "more": 1})
    assert await rest.problem("PUT", ACME) == (409, "already_exists")
    await rest.done("POST", ACME, {"adminRoles": ["bob", "bob"]})
    assert await rest.get(ACME) == {"adminRoles": ["bob"], "allowedClusters": []}
    await rest.done("DELETE", ACME)
    assert await rest.problem("GET", ACME) == (404, "tenant_not_found")
    assert await rest.problem("POST", ACME, {}) == (404, "tenant_not_found")
    assert await rest.problem("DELETE", ACME) == (404, "tenant_not_found")


@pytest.mark.parametrize("body", [None, b"null"])
async def test_a_change_without_a_record_empties_none(rest: RestNode, body: object) -> None:
    await rest.done("PUT", "/admin/v2/tenants/acme", {"adminRoles": ["ann"]})
    assert await rest.problem("POST", "/admin/v2/tenants/acme", body) == (400, "invalid_request")
    assert (await rest.get("/admin/v2/tenants/acme"))["adminRoles"] == ["ann"]
    await rest.done("POST", "/admin/v2/tenants/acme", {})
    assert (await rest.get("/admin/v2/tenants/acme"))["adminRoles"] == []


async def test_a_tenant_with_namespaces_ends_by_force_only(rest: RestNode) -> None:
    await rest.done("PUT", ACME)
    for name in ("pay", "ads"):
        await rest.done("PUT", f"/admin/v2/namespaces/acme/{name}")
    await rest.done("PUT", "/admin/v2/persistent/acme/pay/orders")
    assert await rest.problem("DELETE", ACME) == (409, "not_empty")
    for condition in ("if_match", "if_none_match"):
        assert await rest.problem("DELETE", f"{ACME}?force=true", **{condition: "*"}) == (400, "invalid_request")
    await rest.done("DELETE", f"{ACME}?force=true")
    assert await rest.get("/admin/v2/tenants") == ["public"]


async def test_a_force_that_is_retried_ends_nothing_that_was_made_since(rest: RestNode) -> None:
    await rest.done("PUT", ACME)
    await rest.done("PUT", "/admin/v2/namespaces/acme/old")
    await rest.done("DELETE", f"{ACME}?force=true", idempotency_key="k")
    await rest.done("PUT", ACME)
    await rest.done("PUT", "/admin/v2/namespaces/acme/new")
    await rest.done("DELETE", f"{ACME}?force=true", idempotency_key="k")
    assert await rest.get("/admin/v2/namespaces/acme") == ["acme/new"]


async def test_a_tenant_that_exists_by_a_namespace_alone_can_be_ended(rest: RestNode) -> None:
    await rest.done("PUT", ACME)
    create, delete = updates.create(NamespaceRecord(), "acme/x"), updates.delete(updates.tenant_missing("acme"))
    engine = rest.node.engine
    asked = rest.node.asked()
    writing = Writing(engine)
    await writing._submit_once(engine.target(AggregateKind.NAMESPACE, "acme/x"), create, asked)
    await writing._submit_once(engine.target(AggregateKind.TENANT, "acme"), delete, asked)
    assert await rest.problem("DELETE", ACME) == (409, "not_empty")
    await rest.done("DELETE", f"{ACME}?force=true")
    assert await rest.problem("GET", ACME) == (404, "tenant_not_found")


@pytest.mark.parametrize("body", [[], "x", {"adminRoles": "ann"}, {"adminRoles": [1]}, {"allowedClusters": {}}])
async def test_a_body_that_is_no_tenant_is_400(rest: RestNode, body: object) -> None:
    assert await rest.problem("PUT", ACME, body) == (400, "invalid_request")


@pytest.mark.parametrize("method", ["PUT", "POST"])
@pytest.mark.parametrize("role", ["a\x00b", "ann\u202e", "x" * 200])
async def test_a_role_that_nobody_can_ask_by_is_no_admin(rest: RestNode, method: str, role: str) -> None:
    if method == "POST":
        await rest.done("PUT", ACME)
    assert await rest.problem(method, ACME, {"adminRoles": ["ann", role]}) == (400, "invalid_request")


async def test_an_empty_name_is_none_as_pulsars_go_tool_sends_one_for_each_option_that_is_not_given(
    rest: RestNode,
) -> None:
    await rest.done("PUT", ACME, {"name": "acme", "adminRoles": [""], "allowedClusters": [""]})
    assert await rest.get(ACME) == {"adminRoles": [], "allowedClusters": []}
    await rest.done("POST", ACME, {"adminRoles": ["", "ann"], "allowedClusters": ["standalone", ""]})
    assert await rest.get(ACME) == {"adminRoles": ["ann"], "allowedClusters": ["standalone"]}


async def test_all_that_is_wrong_with_admin_roles_is_said_at_once(rest: RestNode) -> None:
    answer = await rest.send("PUT", ACME, {"adminRoles": ["\t", "ann", "\u202e", 1, "y" * 129], "allowedClusters": 1})
    assert answer.status_code == 400
    wrong = {each["path"]: each["reason"] for each in answer.json()["violations"]}
    assert set(wrong) == {"adminRoles.0", "adminRoles.2", "adminRoles.3", "adminRoles.4", "allowedClusters"}
    assert wrong["adminRoles.2"] == (r"role '\u202e': expected 1 to 128 printable characters, no space around them")


async def test_of_very_many_that_are_no_text_the_first_is_told(rest: RestNode) -> None:
    answer = await rest.send("PUT", ACME, {"adminRoles": ["ann", *[0] * 50_000]})
    assert [each["path"] for each in answer.json()["violations"]] == ["adminRoles.1"]


async def test_a_space_around_an_admin_role_has_pulsars_status_and_the_others_are_said_with_it(rest: RestNode) -> None:
    answer = await rest.send("PUT", ACME, {"adminRoles": [" ann", "\u202e", "bob"]})
    assert (answer.status_code, answer.json()["code"]) == (412, "policy_unmet")
    assert answer.json()["reason"] == "AdminRoles contains whitespace in the beginning or end."
    assert [each["path"] for each in answer.json()["violations"]] == ["adminRoles.0", "adminRoles.1"]


async def test_of_very_many_wrong_admin_roles_the_first_hundred_are_told(rest: RestNode) -> None:
    answer = await rest.send("PUT", ACME, {"adminRoles": ["\u202e"] * 5_000})
    assert (answer.status_code, len(answer.json()["violations"])) == (400, 100)


async def test_admin_roles_that_were_stored_before_they_were_looked_at_stay_readable(rest: RestNode) -> None:
    await rest.node.writing.create_tenant("acme", TenantRecord(admin_roles=("", "a\x00b")), rest.node.asked())
    assert (await rest.get(ACME))["adminRoles"] == ["", "a\x00b"]
    await rest.done("POST", ACME, {"adminRoles": ["ann"]})
