"""Namespaces under `/admin/v2`."""

from __future__ import annotations

import pytest

from tests.server.rest import LABELS, ORDERS, RestNode

PAY = "/admin/v2/namespaces/public/pay"


async def test_public_default_exists_from_the_first_start(rest: RestNode) -> None:
    assert await rest.get("/admin/v2/namespaces/public") == ["public/default"]
    assert (await rest.get("/admin/v2/namespaces/public/default"))["properties"] == {}


async def test_a_namespace_is_made_once_and_deleted(rest: RestNode) -> None:
    await rest.done("PUT", PAY)
    assert await rest.problem("PUT", PAY) == (409, "already_exists")
    assert await rest.get("/admin/v2/namespaces/public") == ["public/default", "public/pay"]
    await rest.done("DELETE", PAY)
    assert await rest.problem("DELETE", PAY) == (404, "namespace_not_found")
    assert await rest.problem("GET", PAY) == (404, "namespace_not_found")


async def test_pulsars_policies_are_taken_as_the_body(rest: RestNode) -> None:
    await rest.done("PUT", PAY, {"bundles": {"numBundles": 4}, "properties": {"a": "b"}})
    assert (await rest.get(PAY))["properties"] == {"a": "b"}


async def test_a_document_whose_strategy_is_empty_sets_none(rest: RestNode) -> None:
    await rest.done("PUT", PAY, {"bundles": {"numBundles": 4}, "schema_compatibility_strategy": ""})
    assert (await rest.get(PAY))["schema_compatibility_strategy"] == "UNDEFINED"


async def test_an_empty_text_that_is_no_strategy_is_refused(rest: RestNode) -> None:
    assert await rest.problem("PUT", PAY, {"retention_policies": ""}) == (400, "invalid_policy")


async def test_a_namespace_needs_its_tenant(rest: RestNode) -> None:
    assert await rest.problem("PUT", "/admin/v2/namespaces/nobody/pay") == (404, "tenant_not_found")
    assert await rest.problem("GET", "/admin/v2/namespaces/nobody") == (404, "tenant_not_found")


async def test_a_namespace_with_topics_ends_by_force_only(orders: RestNode) -> None:
    path = "/admin/v2/namespaces/public/default"
    assert await orders.problem("DELETE", path) == (409, "not_empty")
    for force in ("force=perhaps", "force=", "force"):
        assert await orders.problem("DELETE", f"{path}?{force}") == (400, "invalid_request"), force
    await orders.done("DELETE", f"{path}?force=true")
    assert await orders.problem("GET", LABELS) == (404, "namespace_not_found")


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["persistent://public/default/orders"]),
        ("?mode=", ["persistent://public/default/orders"]),
        ("?mode=PERSISTENT", ["persistent://public/default/orders"]),
        ("?mode=NON_PERSISTENT", ["non-persistent://public/default/news"]),
        ("?mode=ALL", ["non-persistent://public/default/news", "persistent://public/default/orders"]),
    ],
)
async def test_topics_are_listed_by_mode(orders: RestNode, query: str, names: list[str]) -> None:
    await orders.done("PUT", "/admin/v2/non-persistent/public/default/news")
    assert await orders.get(f"/admin/v2/namespaces/public/default/topics{query}") == names


async def test_an_unknown_mode_is_404_as_pulsar_has_it(rest: RestNode) -> None:
    path = "/admin/v2/namespaces/public/default/topics"
    assert await rest.problem("GET", f"{path}?mode=both") == (404, "not_found")
    assert await rest.problem("GET", f"{path}?mode=ALL&mode=ALL") == (400, "invalid_request")


@pytest.mark.parametrize(
    "spelling", ["topicCustomeLabels", "topicCustomLabels", "topic-custome-labels", "topic-custom-labels"]
)
async def test_all_labels_of_a_namespace_in_every_spelling(orders: RestNode, spelling: str) -> None:
    await orders.done("PUT", f"{ORDERS}2")
    await orders.done("POST", f"{ORDERS}2/custom-labels", {"labels": {"team": "ads"}})
    assert await orders.get(f"/admin/v2/namespaces/public/default/{spelling}") == {
        "team": ["ads", "pay"],
        "tier": ["gold"],
    }
