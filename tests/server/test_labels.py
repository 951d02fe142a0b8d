"""PIP-451's routes, in every spelling its text has."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.server.rest import LABELS, ORDERS, RestNode

SPELLINGS = [
    f"/admin/v2/{domain}/public/default/orders/{labels}"
    for domain in ("persistent", "topics")
    for labels in ("custom-labels", "custome-labels", "customLabels")
]


@pytest.mark.parametrize("path", SPELLINGS)
async def test_labels_are_set_read_and_removed_in_every_spelling(orders: RestNode, path: str) -> None:
    await orders.done("POST", path, {"labels": {"tier": "silver", "env": "prod"}})
    assert await orders.get(path) == {"env": "prod", "team": "pay", "tier": "silver"}
    await orders.done("DELETE", f"{path}?keys=env&keys=tier")
    assert await orders.get(LABELS) == {"team": "pay"}
    await orders.done("DELETE", f"{path}?all=true")
    assert await orders.get(LABELS) == {}


async def test_keys_may_be_parted_by_commas(orders: RestNode) -> None:
    await orders.done("DELETE", f"{LABELS}?keys=team,tier,none")
    assert await orders.get(LABELS) == {}


async def test_a_topic_of_the_other_domain_is_another_topic(orders: RestNode) -> None:
    await orders.done("PUT", "/admin/v2/non-persistent/public/default/orders")
    assert await orders.get("/admin/v2/non-persistent/public/default/orders/custom-labels") == {}


async def test_labels_of_a_missing_topic_are_404(rest: RestNode) -> None:
    assert await rest.problem("GET", LABELS) == (404, "topic_not_found")
    assert await rest.problem("POST", LABELS, {"labels": {"a": "b"}}) == (404, "topic_not_found")
    assert await rest.problem("DELETE", f"{LABELS}?all=true") == (404, "topic_not_found")


async def test_labels_in_a_missing_namespace_are_404(rest: RestNode) -> None:
    path = "/admin/v2/topics/no/such/orders/custom-labels"
    assert await rest.problem("GET", path) == (404, "namespace_not_found")
    assert await rest.problem("POST", path, {"labels": {"a": "b"}}) == (404, "namespace_not_found")


async def test_labels_of_one_partition_are_412(orders: RestNode) -> None:
    path = f"{ORDERS}-partition-0/custom-labels"
    assert await orders.problem("GET", path) == (412, "invalid_name")
    assert await orders.problem("POST", path, {"labels": {"a": "b"}}) == (412, "invalid_name")
    assert await orders.problem("DELETE", f"{path}?all=true") == (412, "invalid_name")


@pytest.mark.parametrize(
    "query", ["", "?keys=", "?all=false", "?all=true&keys=a", "?all=perhaps", "?all=true&all=true"]
)
async def test_removing_names_keys_or_all_and_not_both(orders: RestNode, query: str) -> None:
    assert await orders.problem("DELETE", LABELS + query) == (400, "invalid_request")
    assert await orders.get(LABELS) == {"team": "pay", "tier": "gold"}


@pytest.mark.parametrize("body", [None, {"team": "pay"}, [], "x", 1, {"labels": None}, {"labels": ["a"]}])
async def test_a_body_that_is_no_labels_object_is_400(orders: RestNode, body: object) -> None:
    assert await orders.problem("POST", LABELS, body) == (400, "invalid_request")


async def test_unknown_members_beside_labels_are_passed_over(orders: RestNode) -> None:
    await orders.done("POST", LABELS, {"labels": {"env": "prod"}, "isGlobal": False})
    assert (await orders.get(LABELS))["env"] == "prod"


async def test_an_answer_about_very_many_wrong_labels_is_not_longer_than_they_are(orders: RestNode) -> None:
    for value in ("v", 1):
        answer = await orders.send("POST", LABELS, {"labels": {f"-{number}": value for number in range(10_000)}})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_labels")
        assert len(answer.content) < 50_000


async def test_all_that_is_wrong_with_labels_is_said_at_once(orders: RestNode) -> None:
    answer = await orders.send("POST", LABELS, {"labels": {"a": 1, "b": None, "-c": "x", "d": "y" * 129, "e": "fine"}})
    assert answer.status_code == 400
    paths = [violation["path"] for violation in answer.json()["violations"]]
    assert sorted(paths) == ["labels.-c", "labels.a", "labels.b", "labels.d"]


async def test_ten_thousand_labels_are_400(orders: RestNode) -> None:
    labels = {f"k{number}": "v" for number in range(10_000)}
    assert await orders.problem("POST", LABELS, {"labels": labels}) == (400, "invalid_labels")


async def test_more_labels_than_a_topic_may_bear_are_400(orders: RestNode) -> None:
    for start in (0, 60):
        answer = await orders.send("POST", LABELS, {"labels": {f"k{start + each}": "v" for each in range(60)}})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_labels")


@pytest.mark.parametrize("wrong", [{"-c": "x"}, {"c": "y" * 129}, {"c": 1}])
async def test_labels_that_are_wrong_and_too_many_with_those_there_are_told_of_both(
    nodes: list[RestNode], wrong: dict[str, Any]
) -> None:
    await nodes[0].done("PUT", ORDERS)
    nodes[1].node.log.pause()
    await nodes[0].done("POST", LABELS, {"labels": {f"k{number}": "v" for number in range(60)}})
    post = nodes[1].send("POST", LABELS, {"labels": {**wrong, **{f"k{58 + each}": "v" for each in range(6)}}})
    refusal = asyncio.create_task(post)
    await asyncio.sleep(0.01)
    nodes[1].node.log.resume()
    violations = {each["path"]: each["reason"] for each in (await refusal).json()["violations"]}
    assert set(violations) == {f"labels.{next(iter(wrong))}", "labels"}
    assert violations["labels"].endswith("orders would have 65 labels, at most 64 are allowed on a topic")


async def test_wrong_labels_are_not_too_many_where_the_topic_has_room_or_is_not_there(orders: RestNode) -> None:
    for path in (LABELS, LABELS.replace("orders", "lost")):
        answer = await orders.send("POST", path, {"labels": {"-c": "x"}})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_labels")
        assert [each["path"] for each in answer.json()["violations"]] == ["labels.-c"]


async def test_too_many_labels_are_told_of_once(orders: RestNode) -> None:
    answer = await orders.send("POST", LABELS, {"labels": {f"-{number}": "v" for number in range(65)}})
    assert [each["path"] for each in answer.json()["violations"]].count("labels") == 1


async def test_wrong_labels_are_refused_where_the_log_does_not_answer_too(orders: RestNode) -> None:
    orders.node.log.is_cut = True
    assert await orders.problem("POST", LABELS, {"labels": {"-c": "x"}}) == (400, "invalid_labels")


async def test_an_empty_map_of_labels_changes_nothing(orders: RestNode) -> None:
    before = (await orders.send("GET", LABELS)).headers["etag"]
    assert (await orders.done("POST", LABELS, {"labels": {}})).headers["etag"] == before
