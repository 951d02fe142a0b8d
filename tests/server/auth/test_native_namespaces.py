"""Who may see the record and the history of a namespace, and change it as a whole."""

from __future__ import annotations

import pytest

from tests.server.auth.acme import ADMIN, done, grant, make_acme, seen
from tests.server.auth.conftest import bearer
from tests.server.rest import RestNode

PAY = "/api/v1/namespaces/acme/pay"


@pytest.fixture
async def acme(closed: RestNode) -> RestNode:
    """A node with the namespace `acme/pay`, on which `app` may read policies and `chief` may do everything."""
    await make_acme(closed)
    await grant(closed, "namespaces/acme/pay", "app", "read-policies")
    await grant(closed, "namespaces/acme/pay", "chief", "admin")
    return closed


async def test_who_may_read_policies_sees_the_history_and_grants_are_for_who_administers(acme: RestNode) -> None:
    of_app, of_chief = [await seen(acme, f"{PAY}/history", role) for role in ("app", "chief")]
    assert [each["changes"] for each in of_app["items"]] == [[], [], []]
    assert of_chief["items"][0]["changes"][0]["path"] == ["grants", "chief"]
    assert [await seen(acme, path, "stranger") for path in (PAY, f"{PAY}/history")] == [403, 403]
    for role, status in (("app", 403), ("chief", 204)):
        for method, path, body in (("PATCH", PAY, {}), ("POST", f"{PAY}/rollback", {"to": of_app["items"][0]["etag"]})):
            answer = await acme.send(method, path, body, authorization=bearer(role))
            assert answer.status_code == status, (role, method)


async def test_a_former_life_of_a_namespace_is_for_superusers(acme: RestNode) -> None:
    former = (await seen(acme, f"{PAY}/history", "root"))["items"][0]
    await done(acme, "DELETE", f"{ADMIN}/namespaces/acme/pay?force=true")
    await done(acme, "PUT", f"{ADMIN}/namespaces/acme/pay")
    await grant(acme, "namespaces/acme/pay", "app", "admin")
    for role in ("app", "boss"):
        assert [each["kind"] for each in (await seen(acme, f"{PAY}/history", role))["items"]] == ["changed", "created"]
        assert await seen(acme, f"{PAY}?at={former['offset']}", role) == 404
        answer = await acme.send("POST", f"{PAY}/rollback", {"to": former["etag"]}, authorization=bearer(role))
        assert answer.status_code == 404
        assert former["etag"] not in answer.json()["nearest"]
    kinds = [each["kind"] for each in (await seen(acme, f"{PAY}/history", "root"))["items"]]
    assert kinds == ["changed", "created", "deleted", "changed", "changed", "created"]
    assert (await seen(acme, f"{PAY}?at={former['offset']}", "root"))["name"] == "acme/pay"


async def test_the_history_of_a_tenant_is_for_who_administers_its_present_life(acme: RestNode) -> None:
    await grant(acme, "tenants/acme", "app", "list-topics")
    history = "/api/v1/tenants/acme/history"
    assert [await seen(acme, history, role) for role in ("app", "chief", "stranger")] == [403, 403, 403]
    newest, oldest = (await seen(acme, history, "boss"))["items"]
    assert newest["changes"] == [{"path": ["grants", "app"], "old": None, "new": ["list-topics"]}]
    assert {"path": ["adminRoles"], "old": None, "new": ["boss"]} in oldest["changes"]
    await done(acme, "DELETE", f"{ADMIN}/tenants/acme?force=true")
    await done(acme, "PUT", f"{ADMIN}/tenants/acme", {"adminRoles": ["boss"]})
    assert [each["kind"] for each in (await seen(acme, history, "boss"))["items"]] == ["created"]
    kinds = [each["kind"] for each in (await seen(acme, history, "root"))["items"]]
    assert kinds == ["created", "deleted", "changed", "created"]
    assert await seen(acme, "/api/v1/tenants/none/history", "root") == 404
