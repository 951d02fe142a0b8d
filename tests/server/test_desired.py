"""Desired state through REST: a topic made with its policies, and members of a topic replaced whole in one update."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.server.rest import LABELS, NATIVE, ORDERS, RestNode, rest_node
from topicfold.log.memory import MemoryStore
from topicfold.model.policy import whole
from topicfold.server.records import MAX_VIOLATIONS
from topicfold.wire.resources import TopicItem

RETENTION = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10}
QUOTA = {"destination_storage": {"limitSize": 10 << 20, "limitTime": 0, "policy": "producer_exception"}}
LOCAL = {"retentionPolicies": RETENTION, "messageTTLInSeconds": 5}
GLOBAL = {"maxMessageSize": 7}


async def violations(rest: RestNode, method: str, body: Any) -> list[str]:
    """Return the places that are wrong in a body."""
    answer = await rest.send(method, NATIVE, body)
    assert answer.status_code == 400, answer.text
    return sorted(each["path"] for each in answer.json()["violations"])


async def test_a_topic_is_made_with_its_policies(rest: RestNode) -> None:
    body = {"labels": {"team": "pay"}, "policies": {"local": LOCAL, "global": GLOBAL}}
    item = (await rest.done("PUT", NATIVE, body)).json()
    TopicItem.model_validate(item)
    assert item["policies"] == {"local": LOCAL, "global": GLOBAL}
    assert await rest.get(NATIVE) == item
    assert await rest.get(f"{ORDERS}/retention") == RETENTION
    assert await rest.get(f"{ORDERS}/maxMessageSize?isGlobal=true") == 7


async def test_what_is_given_is_replaced_whole_and_the_rest_stays(orders: RestNode) -> None:
    await orders.send("PATCH", NATIVE, {"policies": {"local": LOCAL, "global": GLOBAL}, "properties": {"a": "1"}})
    answer = await orders.send(
        "PATCH", NATIVE, {"labels": {"env": "prod"}, "policies": {"local": {"maxProducerPerTopic": 3}}}
    )
    item = await orders.get(NATIVE)
    assert (answer.status_code, answer.content) == (204, b"")
    assert item["etag"] == answer.headers["etag"].strip('"')
    assert item["labels"] == {"env": "prod"}
    assert item["properties"] == {"a": "1"}
    assert item["policies"] == {"local": {"maxProducerPerTopic": 3}, "global": GLOBAL}


async def test_null_takes_a_scope_off_and_an_empty_object_empties_it(orders: RestNode) -> None:
    await orders.send("PATCH", NATIVE, {"policies": {"local": LOCAL, "global": GLOBAL}})
    await orders.done("PATCH", NATIVE, {"policies": {"local": None, "global": {}}})
    assert (await orders.get(NATIVE))["policies"] == {"local": None, "global": {}}


async def test_nothing_given_changes_nothing(orders: RestNode) -> None:
    before = await orders.get(NATIVE)
    for body in (None, {}, {"policies": {}}):
        await orders.done("PATCH", NATIVE, body)
        assert await orders.get(NATIVE) == before


async def test_a_patch_is_one_update_on_the_version_that_was_read(orders: RestNode) -> None:
    read = (await orders.send("GET", NATIVE)).headers["etag"]
    body = {"labels": {"a": "b"}, "properties": {"c": "d"}, "policies": {"local": LOCAL, "global": GLOBAL}}
    with orders.node.events() as events:
        assert (await orders.send("PATCH", NATIVE, body, if_match=read)).status_code == 204
    assert len(events) == 1
    assert await orders.problem("PATCH", NATIVE, {"labels": {}}, if_match=read) == (412, "precondition_failed")
    assert await orders.get(LABELS) == {"a": "b"}


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_all_that_is_wrong_is_said_at_once(rest: RestNode, method: str) -> None:
    body = {
        "lables": {},
        "labels": {"-a": "x", "b": 5},
        "policies": {
            "local": {
                "retentionPolicies": {"retentionTimeInMinutes": "x", "retentionSizeInMB": 1.5},
                "persistence": {"nosuch": 1},
                "maxMessageSize": -1,
                "messageTTL": 5,
            },
            "global": {"retentionPolicies": {"retentionTimeInMinutes": 1, "retentionSizeInMB": 0}},
            "locl": {},
        },
    }
    assert await violations(rest, method, body) == [
        "labels.-a",
        "labels.b",
        "lables",
        "policies.global.retentionPolicies",
        "policies.local.maxMessageSize",
        "policies.local.messageTTL",
        "policies.local.persistence.nosuch",
        "policies.local.retentionPolicies.retentionSizeInMB",
        "policies.local.retentionPolicies.retentionTimeInMinutes",
        "policies.locl",
    ]


async def test_a_misspelt_member_is_told_its_neighbour(rest: RestNode) -> None:
    reason = (await rest.send("PATCH", NATIVE, {"policies": {"locl": {}}})).json()["reason"]
    assert "did you mean local?" in reason


@pytest.mark.parametrize("body", [[], "x", 5, {"labels": None}, {"labels": []}, {"policies": {"local": []}}])
async def test_a_body_of_another_shape_is_400(orders: RestNode, body: object) -> None:
    assert (await orders.problem("PATCH", NATIVE, body))[0] == 400


@pytest.mark.parametrize("scope", ["local", "global"])
async def test_retention_and_quota_that_contradict_each_other_are_refused(rest: RestNode, scope: str) -> None:
    policies = {"policies": {scope: {"retentionPolicies": RETENTION, "backLogQuotaMap": QUOTA}}}
    assert await violations(rest, "PUT", policies) == [f"policies.{scope}"]
    await rest.done("PUT", NATIVE)
    answer = await rest.send("PATCH", NATIVE, policies)
    assert (answer.status_code, answer.json()["code"]) == (400, "policy_unmet")
    assert (await rest.get(NATIVE))["policies"] == {"local": None, "global": None}


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_clusters_and_shadow_topics_must_be_there(rest: RestNode, method: str) -> None:
    if method == "PATCH":
        await rest.done("PUT", NATIVE)
    local = {"replicationClusters": ["standalone", "nosuch"], "shadowTopics": ["nosuch"]}
    body = {"policies": {"local": local, "global": {"replicationClusters": ["standalone"]}}}
    assert await violations(rest, method, body) == [
        "policies.global.replicationClusters",
        "policies.local.replicationClusters",
        "policies.local.shadowTopics",
    ]


async def test_a_retried_making_is_answered_as_the_first_was(rest: RestNode) -> None:
    body = {"policies": {"local": LOCAL}}
    first, again = [await rest.send("PUT", NATIVE, body, idempotency_key="k") for _ in range(2)]
    assert (first.status_code, first.json()) == (again.status_code, again.json())


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_what_no_cluster_shares_is_not_set_for_all(rest: RestNode, method: str) -> None:
    of_one_cluster = {"schemaCompatibilityStrategy": "FULL", "schemaValidationEnforced": True, "shadowTopics": ["x"]}
    assert await violations(rest, method, {"policies": {"global": of_one_cluster}}) == [
        f"policies.global.{name}" for name in of_one_cluster
    ]


async def test_what_says_nothing_is_not_stored(rest: RestNode) -> None:
    rates = {"a": {"dispatchRate": {"dispatchThrottlingRateInMsg": 0, "dispatchThrottlingRateInByte": -1}}}
    local = {"schemaCompatibilityStrategy": "UNDEFINED", "subscriptionPolicies": rates, "maxMessageSize": 7}
    item = (await rest.done("PUT", NATIVE, {"policies": {"local": local}})).json()
    assert item["policies"]["local"] == {"maxMessageSize": 7}


async def test_what_is_not_there_is_404(rest: RestNode) -> None:
    assert await rest.problem("PATCH", NATIVE, {"policies": {"local": LOCAL}}) == (404, "topic_not_found")
    path = "/api/v1/topics/no/such/orders"
    assert await rest.problem("PATCH", path, {"labels": {}}) == (404, "namespace_not_found")
    assert await rest.problem("PUT", path, {"policies": {"local": LOCAL}}) == (404, "namespace_not_found")
    assert await rest.problem("PATCH", f"{NATIVE}-partition-0", {"labels": {}}) == (400, "invalid_name")


async def test_without_policies_of_topics_only_they_are_refused(store: MemoryStore) -> None:
    async with rest_node(store, topic_level_policies_enabled=False) as off:
        assert await off.problem("PUT", NATIVE, {"policies": {"local": LOCAL}}) == (405, "policies_disabled")
        await off.done("PUT", NATIVE)
        assert await off.problem("PATCH", NATIVE, {"policies": {"local": None}}) == (405, "policies_disabled")
        assert (await off.send("PATCH", NATIVE, {"labels": {"a": "b"}})).status_code == 204


async def test_a_retried_patch_is_one_and_the_key_with_another_body_is_422(orders: RestNode) -> None:
    body = {"policies": {"local": LOCAL}}
    first = await orders.send("PATCH", NATIVE, body, idempotency_key="k")
    again = await orders.send("PATCH", NATIVE, body, idempotency_key="k")
    assert first.headers["etag"] == again.headers["etag"]
    assert (first.status_code, first.content) == (again.status_code, again.content) == (204, b"")
    other = {"policies": {"local": {}}}
    assert await orders.problem("PATCH", NATIVE, other, idempotency_key="k") == (422, "idempotency_key_reused")


async def test_patches_of_different_members_at_once_on_several_nodes_are_all_there(nodes: list[RestNode]) -> None:
    await nodes[0].done("PUT", NATIVE)
    members = ({"labels": {"a": "b"}}, {"properties": {"c": "d"}}, {"policies": {"local": LOCAL}})
    await asyncio.gather(*(each.send("PATCH", NATIVE, body) for each, body in zip(nodes, members, strict=True)))
    item = await nodes[0].get(NATIVE, x_consistency="linearizable")
    assert (item["labels"], item["properties"], item["policies"]["local"]) == ({"a": "b"}, {"c": "d"}, LOCAL)


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_of_thousands_of_unknown_policies_only_those_are_looked_into_that_are_told(
    orders: RestNode, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(whole, "get_close_matches", lambda name, known, n: asked.append(name) or [])
    unknown = {f"maxUnackedMessagesOn{number}": 1 for number in range(2_000)}
    assert len(await violations(orders, method, {"policies": {"local": unknown, "global": unknown}})) == len(asked)
    assert len(asked) == MAX_VIOLATIONS
