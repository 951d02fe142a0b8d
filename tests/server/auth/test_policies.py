"""Policies and who asks: what a value names is only told to those who may see it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.auth.conftest import bearer
from tests.server.rest import RestNode

ADMIN = "/admin/v2"
ORDERS = f"{ADMIN}/persistent/public/default/orders"
REASON = "Unauthorized to validateTopicPolicyOperation for operation [{}] on topic [{}] on policy [RETENTION]"


@pytest.fixture
async def shop(closed: RestNode) -> RestNode:
    """A node with the topics `orders`, where `editor` may change policies, and `secret`, of which it may not know."""
    for method, path, body in (
        ("PUT", ORDERS, None),
        ("PUT", f"{ADMIN}/namespaces/public/hidden", None),
        ("PUT", f"{ADMIN}/persistent/public/hidden/secret", None),
        ("POST", f"{ORDERS}/permissions/editor", ["read-policies", "update-policies"]),
    ):
        assert (await closed.send(method, path, body, authorization=bearer())).status_code == 204
    return closed


async def answered(rest: RestNode, method: str, path: str, body: Any = None, role: str = "editor") -> tuple[int, str]:
    """Return status and reason of an answer."""
    answer = await rest.send(method, path, body, authorization=bearer(role))
    return answer.status_code, answer.json()["reason"] if answer.content else ""


async def test_a_shadow_topic_that_may_not_be_seen_is_told_like_one_that_is_not_there(shop: RestNode) -> None:
    said = []
    for name in ("secret", "nosuch"):
        path = f"persistent://public/hidden/{name}"
        status, reason = await answered(shop, "PUT", f"{ORDERS}/shadowTopics", [path])
        said.append((status, reason.replace(name, "")))
        body = {"policies": {"local": {"shadowTopics": [path]}}}
        status, reason = await answered(shop, "PATCH", "/api/v1/topics/public/default/orders", body)
        said.append((status, reason.replace(name, "")))
    assert said[:2] == said[2:]
    assert [status for status, _ in said] == [412, 400, 412, 400]
    path = "persistent://public/hidden/secret"
    assert (await answered(shop, "PUT", f"{ORDERS}/shadowTopics", [path], "root"))[0] == 204


@pytest.mark.parametrize(("method", "access"), [("GET", "READ"), ("POST", "WRITE"), ("DELETE", "WRITE")])
async def test_a_refusal_has_pulsars_words_and_comes_before_everything_else(
    shop: RestNode, method: str, access: str
) -> None:
    for local in ("orders", "nosuch", "orders-partition-0"):
        topic = f"persistent://public/default/{local}"
        path = f"{ADMIN}/persistent/public/default/{local}/retention"
        assert await answered(shop, method, path, None, "stranger") == (403, REASON.format(access, topic))


async def test_only_a_superuser_says_which_kafka_topic_a_record_stands_for(closed: RestNode) -> None:
    grant = f"{ADMIN}/namespaces/public/default/permissions/maker"
    assert (await closed.send("POST", grant, ["admin"], authorization=bearer())).status_code == 204
    path = "/api/v1/topics/public/default/mine"
    for query, body in (("", {"kafkaName": "acme..pay..orders"}), ("?adopt=true", {})):
        assert (await answered(closed, "PUT", path + query, body, "maker"))[0] == 403
        made = await closed.send("PUT", path + query, body, authorization=bearer())
        assert made.status_code == 201
        await closed.done("DELETE", path, authorization=bearer())
    assert (await closed.send("PUT", path, {}, authorization=bearer("maker"))).status_code == 201
