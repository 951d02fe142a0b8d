"""Tenants under `/admin/v2`."""

from __future__ import annotations

import pytest

from tests.server.rest import RestNode

ACME = "/admin/v2/tenants/acme"


async def test_tenant_public_exists_from_the_first_start(rest: RestNode) -> None:
    assert await rest.get("/admin/v2/tenants") == ["public"]
    assert await rest.get("/admin/v2/tenants/public") == {"adminRoles": [], "allowedClusters": []}


async def test_a_tenant_is_made_changed_and_deleted(rest: RestNode) -> None:
    await rest.done("PUT", ACME, {"adminRoles": ["ann"], "allowedClusters": ["eu"], "more": 1})
    assert await rest.problem("PUT", ACME) == (409, "already_exists")
    await rest.done("POST", ACME, {"adminRoles": ["bob", "bob"]})
    assert await rest.get(ACME) == {"adminRoles": ["bob"], "allowedClusters": []}
    await rest.done("DELETE", ACME)
    assert await rest.problem("GET", ACME) == (404, "tenant_not_found")
    assert await rest.problem("POST", ACME) == (404, "tenant_not_found")
    assert await rest.problem("DELETE", ACME) == (404, "tenant_not_found")


async def test_a_tenant_with_namespaces_ends_by_force_only(rest: RestNode) -> None:
    await rest.done("PUT", ACME)
    for name in ("pay", "ads"):
        await rest.done("PUT", f"/admin/v2/namespaces/acme/{name}")
    await rest.done("PUT", "/admin/v2/persistent/acme/pay/orders")
    assert await rest.problem("DELETE", ACME) == (409, "not_empty")
    assert await rest.problem("DELETE", f"{ACME}?force=true", if_match="*") == (400, "invalid_request")
    await rest.done("DELETE", f"{ACME}?force=true")
    assert await rest.get("/admin/v2/tenants") == ["public"]


@pytest.mark.parametrize("body", [[], "x", {"adminRoles": "ann"}, {"adminRoles": [1]}, {"allowedClusters": {}}])
async def test_a_body_that_is_no_tenant_is_400(rest: RestNode, body: object) -> None:
    assert await rest.problem("PUT", ACME, body) == (400, "invalid_request")
