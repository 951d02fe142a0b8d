"""Grants under `/admin/v2`: to a role, on a tenant, a namespace or a topic."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.memory_log import MemoryStore
from tests.server.rest import LABELS, ORDERS, RestNode, rest_node
from topicfold.model.grants import MAX_ROLE_LENGTH, MAX_ROLES
from topicfold.model.permissions import ACTIONS
from topicfold.runtime import slices

TENANT = "/admin/v2/tenants/public/permissions"
NAMESPACE = "/admin/v2/namespaces/public/default/permissions"
TOPIC = f"{ORDERS}/permissions"
LEVELS = pytest.mark.parametrize("level", [TENANT, NAMESPACE, TOPIC])


@LEVELS
async def test_a_role_is_granted_actions_and_loses_them(orders: RestNode, level: str) -> None:
    assert await orders.get(level) == {}
    await orders.done("POST", f"{level}/ann", ["produce", "consume", "produce"])
    await orders.done("POST", f"{level}/bob", ["list-topics"])
    assert await orders.get(level) == {"ann": ["consume", "produce"], "bob": ["list-topics"]}
    await orders.done("POST", f"{level}/ann", ["read-policies"])
    await orders.done("DELETE", f"{level}/bob")
    assert await orders.get(level) == {"ann": ["read-policies"]}
    await orders.done("DELETE", f"{level}/nobody")


@LEVELS
async def test_every_action_may_be_granted_and_no_other(orders: RestNode, level: str) -> None:
    await orders.done("POST", f"{level}/ann", sorted(ACTIONS))
    assert await orders.get(level) == {"ann": sorted(ACTIONS)}
    answer = await orders.send("POST", f"{level}/ann", ["produce", "fly", 7])
    assert answer.status_code == 400
    assert [each["path"] for each in answer.json()["violations"]] == ["1", "2"]
    assert "update-policies" in answer.json()["reason"]
    assert await orders.get(level) == {"ann": sorted(ACTIONS)}


@LEVELS
@pytest.mark.parametrize("body", [None, [], {}, "produce", [["produce"]], [None]])
async def test_what_is_no_list_of_actions_is_400(orders: RestNode, level: str, body: Any) -> None:
    assert await orders.problem("POST", f"{level}/ann", body) == (400, "invalid_request")
    assert await orders.get(level) == {}


@LEVELS
@pytest.mark.parametrize("role", ["ann@acme.io", "a/b", "CN=ann, O=acme", "ünï", "100%25", "x" * MAX_ROLE_LENGTH])
async def test_a_role_is_decoded_once(orders: RestNode, level: str, role: str) -> None:
    await orders.done("POST", f"{level}/{quote(role, safe='')}", ["watch"])
    assert await orders.get(level) == {role: ["watch"]}
    await orders.done("DELETE", f"{level}/{quote(role, safe='')}")
    assert await orders.get(level) == {}


@LEVELS
@pytest.mark.parametrize("role", ["%0a", "%00", "%20ann", "x" * (MAX_ROLE_LENGTH + 1), "%E2%80%AE"])
async def test_a_role_that_cannot_be_printed_is_400(orders: RestNode, level: str, role: str) -> None:
    assert await orders.problem("POST", f"{level}/{role}", ["watch"]) == (400, "invalid_request")
    assert await orders.problem("DELETE", f"{level}/{role}") == (400, "invalid_request")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/admin/v2/tenants/nobody/permissions", "tenant_not_found"),
        ("/admin/v2/namespaces/public/nowhere/permissions", "namespace_not_found"),
        ("/admin/v2/persistent/public/nowhere/orders/permissions", "namespace_not_found"),
        ("/admin/v2/persistent/public/default/nothing/permissions", "topic_not_found"),
        ("/admin/v2/non-persistent/public/default/orders/permissions", "topic_not_found"),
    ],
)
async def test_nothing_can_be_granted_on_what_is_not_there(orders: RestNode, path: str, code: str) -> None:
    assert await orders.problem("GET", path) == (404, code)
    assert await orders.problem("POST", f"{path}/ann", ["watch"]) == (404, code)
    assert await orders.problem("DELETE", f"{path}/ann") == (404, code)


async def test_a_partition_has_no_grants_of_its_own(orders: RestNode) -> None:
    assert await orders.problem("POST", f"{ORDERS}-partition-0/permissions/ann", ["watch"]) == (412, "invalid_name")


async def test_a_topic_shows_its_namespaces_grants_too(orders: RestNode) -> None:
    await orders.done("POST", f"{NAMESPACE}/ann", ["produce"])
    await orders.done("POST", f"{TOPIC}/ann", ["consume"])
    await orders.done("POST", f"{TOPIC}/bob", ["watch"])
    assert await orders.get(TOPIC) == {"ann": ["consume", "produce"], "bob": ["watch"]}
    assert await orders.get(NAMESPACE) == {"ann": ["produce"]}


async def test_a_namespaces_document_holds_all_grants_in_it(orders: RestNode) -> None:
    await orders.done("POST", f"{NAMESPACE}/ann", ["produce"])
    await orders.done("POST", f"{TOPIC}/bob", ["watch"])
    document = await orders.get("/admin/v2/namespaces/public/default")
    topics = {"persistent://public/default/orders": {"bob": ["watch"]}}
    expected = {"namespace_auth": {"ann": ["produce"]}, "destination_auth": topics, "subscription_auth_roles": {}}
    assert document["auth_policies"] == expected
    await orders.done("PUT", "/admin/v2/namespaces/public/copy", document)
    assert await orders.get("/admin/v2/namespaces/public/copy/permissions") == {"ann": ["produce"]}


TOO_MANY = {f"r{number}": ["watch"] for number in range(MAX_ROLES + 1)}


@pytest.mark.parametrize(
    "grants", [[], {"ann": ["fly"]}, {"ann": "produce"}, {"\n": ["produce"]}, {"": ["produce"]}, TOO_MANY]
)
async def test_a_document_with_malformed_grants_is_400(rest: RestNode, grants: Any) -> None:
    body = {"auth_policies": {"namespace_auth": grants}}
    assert await rest.problem("PUT", "/admin/v2/namespaces/public/pay", body) == (400, "invalid_request")


@LEVELS
async def test_there_is_an_end_to_roles(orders: RestNode, level: str) -> None:
    for number in range(MAX_ROLES):
        await orders.done("POST", f"{level}/r{number}", ["watch"])
    assert await orders.problem("POST", f"{level}/ann", ["watch"]) == (413, "too_large")
    await orders.done("POST", f"{level}/r0", ["produce"])


async def test_grants_outlive_changes_of_what_they_are_on(orders: RestNode) -> None:
    for level in (TENANT, NAMESPACE, TOPIC):
        await orders.done("POST", f"{level}/ann", ["watch"])
    await orders.done("POST", "/admin/v2/tenants/public", {"adminRoles": ["root"]})
    await orders.done("POST", "/admin/v2/namespaces/public/default/messageTTL", 5)
    await orders.done("POST", LABELS, {"labels": {"a": "b"}})
    for level in (TENANT, NAMESPACE, TOPIC):
        assert await orders.get(level) == {"ann": ["watch"]}


async def test_grants_end_with_what_they_are_on(orders: RestNode) -> None:
    await orders.done("POST", f"{TOPIC}/ann", ["watch"])
    await orders.done("DELETE", ORDERS)
    await orders.done("PUT", ORDERS)
    assert await orders.get(TOPIC) == {}
    await orders.done("POST", f"{NAMESPACE}/ann", ["watch"])
    await orders.done("DELETE", "/admin/v2/namespaces/public/default?force=true")
    await orders.done("PUT", "/admin/v2/namespaces/public/default")
    assert await orders.get(NAMESPACE) == {}


async def test_grants_made_at_once_on_several_nodes_are_all_kept(nodes: list[RestNode]) -> None:
    roles = [f"r{number}" for number in range(30)]
    calls = (nodes[number % 3].done("POST", f"{NAMESPACE}/{role}", ["watch"]) for number, role in enumerate(roles))
    await asyncio.gather(*calls)
    for node in nodes:
        assert sorted(await node.get(NAMESPACE)) == sorted(roles)


async def test_grants_survive_a_restart(store: MemoryStore) -> None:
    async with rest_node(store) as rest:
        await rest.done("POST", f"{TENANT}/ann", ["admin"])
    async with rest_node(store, 10**9) as rest:
        assert await rest.get(TENANT) == {"ann": ["admin"]}


async def test_others_have_their_turn_while_the_grants_of_many_topics_are_written(
    orders: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [(f"t{number}", {"ann": ("watch",)}) for number in range(100)]
    monkeypatch.setattr(orders.node.reading.__class__, "topic_grants", lambda reading, namespace: many)
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    taken, asking = 0, asyncio.create_task(orders.get("/admin/v2/namespaces/public/default"))
    while not asking.done():
        await asyncio.sleep(0)
        taken += 1
    written = {f"persistent://public/default/{key}": {"ann": ["watch"]} for key, _ in many}
    assert asking.result()["auth_policies"]["destination_auth"] == written
    assert taken > 100


async def test_grants_are_shown_to_who_may_change_them_only(store: MemoryStore, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("t-root root\nt-ann ann\nt-bob bob\n")
    tokens.chmod(0o600)
    root = {"authorization": "Bearer t-root"}
    async with rest_node(store, auth_static_tokens_file=tokens, superusers=("root",)) as rest:
        await rest.done("PUT", ORDERS, **root)
        await rest.done("POST", f"{NAMESPACE}/ann", ["read-policies"], **root)
        await rest.done("POST", f"{TOPIC}/bob", ["admin"], **root)
        document = await rest.get("/admin/v2/namespaces/public/default", authorization="Bearer t-ann")
        assert (document["auth_policies"]["namespace_auth"], document["auth_policies"]["destination_auth"]) == ({}, {})
        assert await rest.get(TOPIC, authorization="Bearer t-bob") == {"bob": ["admin"]}
        assert await rest.get(TOPIC, **root) == {"ann": ["read-policies"], "bob": ["admin"]}
        assert await rest.problem("GET", NAMESPACE, authorization="Bearer t-ann") == (403, "forbidden")
