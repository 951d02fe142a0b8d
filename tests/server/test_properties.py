"""Properties of topics under `/admin/v2`: row 34 of Pulsar's table."""

from __future__ import annotations

import pytest

from tests.server.rest import LABELS, ORDERS, RestNode

PROPERTIES = f"{ORDERS}/properties"


async def test_properties_are_merged_and_removed_one_by_one(orders: RestNode) -> None:
    assert await orders.get(PROPERTIES) == {}
    await orders.done("PUT", PROPERTIES, {"a": "1", "b": "2"})
    await orders.done("PUT", PROPERTIES, {"b": "3", "n": 5, "live": True})
    assert await orders.get(PROPERTIES) == {"a": "1", "b": "3", "n": "5", "live": "true"}
    await orders.done("DELETE", f"{PROPERTIES}?key=a&authoritative=false")
    await orders.done("DELETE", f"{PROPERTIES}?key=nosuch")
    assert await orders.get(PROPERTIES) == {"b": "3", "n": "5", "live": "true"}


@pytest.mark.parametrize("body", [None, {}, b"null"])
async def test_no_properties_change_none(orders: RestNode, body: object) -> None:
    await orders.done("PUT", PROPERTIES, {"a": "1"})
    await orders.done("PUT", PROPERTIES, body)
    assert await orders.get(PROPERTIES) == {"a": "1"}


@pytest.mark.parametrize("body", [{"n": None}, {"n": {}}, [], "text", 5])
async def test_properties_that_are_no_texts_are_400(orders: RestNode, body: object) -> None:
    assert await orders.problem("PUT", PROPERTIES, body) == (400, "invalid_request")


async def test_a_removal_names_its_property(orders: RestNode) -> None:
    assert await orders.problem("DELETE", PROPERTIES) == (400, "invalid_request")


async def test_labels_and_policies_are_not_properties(orders: RestNode) -> None:
    before = await orders.get(LABELS)
    await orders.done("PUT", PROPERTIES, {"team": "other"})
    assert await orders.get(LABELS) == before


async def test_properties_given_at_creation_are_shown_and_go_with_the_topic(rest: RestNode) -> None:
    await rest.done("PUT", ORDERS, {"owner": "ann"})
    assert await rest.get(PROPERTIES) == {"owner": "ann"}
    await rest.done("DELETE", ORDERS)
    await rest.done("PUT", ORDERS)
    assert await rest.get(PROPERTIES) == {}


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_properties_of_what_is_not_there_are_404(rest: RestNode, method: str) -> None:
    body = {"a": "1"} if method == "PUT" else None
    assert await rest.problem(method, f"{PROPERTIES}?key=a", body) == (404, "topic_not_found")
    path = "/admin/v2/persistent/no/such/orders/properties?key=a"
    assert await rest.problem(method, path, body) == (404, "namespace_not_found")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_a_topic_that_is_not_persistent_has_none(rest: RestNode, method: str) -> None:
    path = PROPERTIES.replace("/persistent/", "/non-persistent/")
    assert await rest.problem(method, path, {} if method == "PUT" else None) == (406, "not_acceptable")


async def test_a_partition_has_its_topics_and_none_of_its_own(rest: RestNode) -> None:
    await rest.done("PUT", f"{ORDERS}/partitions", 2)
    await rest.done("PUT", PROPERTIES, {"a": "1"})
    (first, second) = await rest.get("/admin/v2/persistent/public/default")
    for each in (first, second):
        assert await rest.get(f"/admin/v2/persistent/{each.removeprefix('persistent://')}/properties") == {"a": "1"}
    assert await rest.problem("GET", f"{ORDERS}-partition-2/properties") == (404, "topic_not_found")
    assert await rest.problem("PUT", f"{ORDERS}-partition-0/properties", {"a": "2"}) == (412, "invalid_name")
    assert await rest.problem("DELETE", f"{ORDERS}-partition-0/properties?key=a") == (412, "invalid_name")
