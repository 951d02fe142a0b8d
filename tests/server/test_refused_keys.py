"""A no under an Idempotency-Key is the log's, and stays: an earlier attempt may not land after it was told.

So does a yes, whatever becomes of what it was about.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.rest import NATIVE, ORDERS, RestNode

EAST = "/admin/v2/clusters/east"
PAY = "/admin/v2/namespaces/public/pay"
BOTH = ["standalone", "east"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", f"{ORDERS}/replication", BOTH, 403),
        ("PATCH", NATIVE, {"policies": {"local": {"replicationClusters": BOTH}}}, 400),
        ("PUT", f"{NATIVE}2", {"policies": {"local": {"replicationClusters": BOTH}}}, 400),
        ("POST", "/admin/v2/namespaces/public/default/replication", BOTH, 403),
        ("PUT", PAY, {"replication_clusters": BOTH}, 403),
        ("POST", "/admin/v2/tenants/public", {"allowedClusters": BOTH}, 412),
        ("POST", f"{EAST}/peers", ["standalone"], 404),
    ],
)
async def test_what_a_cluster_stood_against_stays_refused_once_it_is_there(
    orders: RestNode, method: str, path: str, body: Any, status: int
) -> None:
    assert (await orders.problem(method, path, body, idempotency_key="k"))[0] == status
    await orders.done("PUT", EAST, {})
    assert (await orders.problem(method, path, body, idempotency_key="k"))[0] == status
    await orders.done(method, path, body, idempotency_key="another")


async def test_a_missing_shadow_topic_stays_missing_for_the_key(orders: RestNode) -> None:
    path, body = f"{ORDERS}/shadowTopics", ["persistent://public/default/orders2"]
    assert await orders.problem("PUT", path, body, idempotency_key="k") == (412, "policy_unmet")
    await orders.done("PUT", f"{ORDERS}2")
    assert await orders.problem("PUT", path, body, idempotency_key="k") == (412, "policy_unmet")


async def test_a_rollback_of_a_topic_that_is_gone_stays_refused_when_it_is_back(orders: RestNode) -> None:
    etag = (await orders.get(f"{NATIVE}/history"))["items"][0]["etag"]
    await orders.done("DELETE", NATIVE)
    rollback = (f"{NATIVE}/rollback", {"to": etag})
    assert (await orders.problem("POST", *rollback, idempotency_key="k"))[0] == 404
    await orders.done("PUT", NATIVE)
    assert (await orders.problem("POST", *rollback, idempotency_key="k"))[0] == 404


async def test_a_property_of_a_namespace_that_was_not_there_stays_refused(orders: RestNode) -> None:
    assert (await orders.problem("DELETE", f"{PAY}/property/a", idempotency_key="k"))[0] == 404
    await orders.done("PUT", PAY)
    assert (await orders.problem("DELETE", f"{PAY}/property/a", idempotency_key="k"))[0] == 404
    await orders.done("DELETE", f"{PAY}/property/a")


async def test_a_rollback_that_was_made_is_told_to_have_been_though_its_namespace_is_gone(rest: RestNode) -> None:
    orders = "/api/v1/topics/public/pay/orders"
    await rest.done("PUT", PAY)
    await rest.done("PUT", orders)
    made = (await rest.get(f"{orders}/history"))["items"][0]["etag"]
    await rest.done("PATCH", orders, {"labels": {"a": "1"}})
    rollback = ("POST", f"{orders}/rollback", {"to": made})
    first = await rest.done(*rollback, idempotency_key="k")
    await rest.done("DELETE", f"{PAY}?force=true")
    again = await rest.done(*rollback, idempotency_key="k")
    assert {again.headers[each] for each in ("etag", "x-operation-id")} == {
        first.headers[each] for each in ("etag", "x-operation-id")
    }
    other = ("POST", f"{orders}/rollback", {"to": "0"})
    assert await rest.problem(*other, idempotency_key="k") == (422, "idempotency_key_reused")
    assert (await rest.problem(*rollback, idempotency_key="another"))[0] == 404
