"""Desired state through REST: a topic made with its policies, and patches merged into one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.nodes import turns
from tests.server.rest import LABELS, NATIVE, ORDERS, RestNode, rest_node
from topicfold.model.events import Verdict
from topicfold.model.labels import MAX_LABELS, MAX_VIOLATIONS, LabelRules
from topicfold.model.policy import whole
from topicfold.model.policy.limits import Limits
from topicfold.model.records import EMPTY, TopicRecord
from topicfold.model.updates import Refuse
from topicfold.server import desired
from topicfold.server.desired import merging
from topicfold.server.records import checked
from topicfold.wire.resources import TopicItem, TopicPatch

RETENTION = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10}
QUOTA = {"destination_storage": {"limitSize": 10 << 20, "limitTime": 0, "policy": "producer_exception"}}
LOCAL = {"retentionPolicies": RETENTION, "messageTTLInSeconds": 5}
GLOBAL = {"maxMessageSize": 7}
HOLD = {"policy": "producer_request_hold"}
ORDERS_LABELS = {"team": "pay", "tier": "gold"}


def local(policies: Any) -> dict[str, Any]:
    """Return a body about policies on this cluster."""
    return {"policies": {"local": policies}}


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


async def test_labels_properties_and_policies_merge_key_by_key_and_the_rest_stays(orders: RestNode) -> None:
    first = {"policies": {"local": LOCAL, "global": GLOBAL}, "properties": {"a": "1", "b": "2"}}
    await orders.done("PATCH", NATIVE, first)
    body = {
        "labels": {"env": "prod", "team": None, "nosuch": None},
        "properties": {"a": None, "c": "3"},
        "policies": {"local": {"maxProducerPerTopic": 3, "messageTTLInSeconds": None}},
    }
    answer = await orders.send("PATCH", NATIVE, body)
    item = await orders.get(NATIVE)
    assert (answer.status_code, answer.content) == (204, b"")
    assert item["etag"] == answer.headers["etag"].strip('"')
    assert item["labels"] == {"env": "prod", "tier": "gold"}
    assert item["properties"] == {"b": "2", "c": "3"}
    assert item["policies"] == {"local": {"retentionPolicies": RETENTION, "maxProducerPerTopic": 3}, "global": GLOBAL}


async def test_a_policy_that_is_an_object_merges_and_a_list_is_replaced(orders: RestNode) -> None:
    rates = {name: {"dispatchRate": {"dispatchThrottlingRateInMsg": 5}} for name in ("a", "b")}
    first = {"retentionPolicies": RETENTION, "backLogQuotaMap": {"message_age": {"limitTime": 9} | HOLD}}
    lists = {"subscriptionTypesEnabled": ["Shared", "Failover"], "subscriptionPolicies": rates}
    await orders.done("PATCH", NATIVE, local(first | lists))
    change = {
        "retentionPolicies": {"retentionTimeInMinutes": "20"},
        "backLogQuotaMap": {"message_age": {"limitTime": None, "limit": 7}},
        "subscriptionTypesEnabled": ["Exclusive"],
        "subscriptionPolicies": {"a": None, "b": {"dispatchRate": {"ratePeriodInSecond": 2}}},
    }
    await orders.done("PATCH", NATIVE, local(change))
    found = (await orders.get(NATIVE))["policies"]["local"]
    assert found["retentionPolicies"] == RETENTION | {"retentionTimeInMinutes": 20}
    assert found["backLogQuotaMap"] == {"message_age": {"limitSize": 7, "limitTime": 0} | HOLD}
    assert found["subscriptionTypesEnabled"] == ["Exclusive"]
    assert list(found["subscriptionPolicies"]) == ["b"]
    rate = found["subscriptionPolicies"]["b"]["dispatchRate"]
    assert (rate["dispatchThrottlingRateInMsg"], rate["ratePeriodInSecond"]) == (5, 2)


@pytest.mark.parametrize(
    ("body", "labels", "policies"),
    [
        ({"labels": None}, {}, {"local": LOCAL, "global": GLOBAL}),
        ({"labels": {}, "properties": {}}, ORDERS_LABELS, {"local": LOCAL, "global": GLOBAL}),
        ({"policies": None}, ORDERS_LABELS, {"local": None, "global": None}),
        ({"policies": {"local": None}}, ORDERS_LABELS, {"local": None, "global": GLOBAL}),
        ({"policies": {"local": {}, "global": {}}}, ORDERS_LABELS, {"local": LOCAL, "global": GLOBAL}),
        (local(dict.fromkeys(LOCAL)), ORDERS_LABELS, {"local": {}, "global": GLOBAL}),
    ],
)
async def test_null_takes_a_member_off_whole_and_an_empty_object_nothing(
    orders: RestNode, body: Any, labels: Any, policies: Any
) -> None:
    await orders.done("PATCH", NATIVE, {"policies": {"local": LOCAL, "global": GLOBAL}})
    await orders.done("PATCH", NATIVE, body)
    item = await orders.get(NATIVE)
    assert (item["labels"], item["policies"]) == (labels, policies)


@pytest.mark.parametrize(
    "nulls",
    [
        {"retentionPolicies": {"retentionTimeInMinutes": None}},
        {"retentionPolicies": {"retentionTimeInMinutes": None, "retentionSizeInMB": None}},
        {"dispatchRate": {"ratePeriodInSecond": None}},
        {"backLogQuotaMap": {"message_age": None}},
        {"messageTTLInSeconds": None},
    ],
)
async def test_nulls_alone_make_no_policy_and_leave_none_of_which_nothing_is_left(
    orders: RestNode, nulls: dict[str, Any]
) -> None:
    await orders.done("PATCH", NATIVE, local(nulls))
    assert (await orders.get(NATIVE))["policies"] == {"local": None, "global": None}
    whole = {"retentionPolicies": {"retentionTimeInMinutes": 1, "retentionSizeInMB": 1}, "maxMessageSize": 5}
    await orders.done("PATCH", NATIVE, local(whole))
    everything = {"retentionPolicies": {"retentionTimeInMinutes": None, "retentionSizeInMB": None}}
    await orders.done("PATCH", NATIVE, local(everything))
    assert (await orders.get(NATIVE))["policies"]["local"] == {"maxMessageSize": 5}


async def test_a_member_without_a_name_is_unknown(orders: RestNode) -> None:
    for value in (None, 30):
        assert await violations(orders, "PATCH", local({"retentionPolicies": {"": value}})) == [
            "policies.local.retentionPolicies"
        ]


async def test_a_merged_policy_is_checked_as_a_whole_one_and_is_told_at_its_place(orders: RestNode) -> None:
    await orders.done(
        "PATCH", NATIVE, local({"retentionPolicies": RETENTION, "backLogQuotaMap": {"message_age": HOLD}})
    )
    change = {"retentionPolicies": {"retentionSizeInMB": None}, "backLogQuotaMap": {"message_age": {"policy": None}}}
    assert await violations(orders, "PATCH", local(change)) == [
        "policies.local.backLogQuotaMap.message_age.policy",
        "policies.local.retentionPolicies",
    ]


async def test_beside_what_is_wrong_by_itself_is_told_what_is_wrong_once_merged(orders: RestNode) -> None:
    await orders.done("PATCH", NATIVE, local({"retentionPolicies": RETENTION}))
    body = local({"retentionPolicies": {"retentionSizeInMB": None}, "nosuch": None}) | {"lables": None}
    assert await violations(orders, "PATCH", body) == [
        "lables",
        "policies.local.nosuch",
        "policies.local.retentionPolicies",
    ]
    body = local({"retentionPolicies": {"retentionSizeInMB": 20}, "nosuch": None})
    assert await violations(orders, "PATCH", body) == ["policies.local.nosuch"]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"lables": None}, "lables"),
        ({"kafkaName": None}, "kafkaName"),
        ({"policies": {"locl": None}}, "policies.locl"),
        ({"policies": {"global_": {"maxMessageSize": 9}}}, "policies.global_"),
        (local({"retentionPolicies": {"nosuch": None}}), "policies.local.retentionPolicies.nosuch"),
        (local({"backLogQuotaMap": {"nosuch": None}}), "policies.local.backLogQuotaMap.nosuch"),
        (local({"subscriptionTypesEnabled": [None]}), "policies.local.subscriptionTypesEnabled.0"),
        (local({"retentionPolicies": 5}), "policies.local.retentionPolicies"),
        ({"policies": {"global": {"shadowTopics": None}}}, "policies.global.shadowTopics"),
    ],
)
async def test_what_is_not_known_is_refused_though_it_would_only_be_removed(
    orders: RestNode, body: Any, place: str
) -> None:
    assert await violations(orders, "PATCH", body) == [place]


async def test_what_the_rules_forbid_by_now_may_stay_and_go_and_is_not_set_anew(store: MemoryStore) -> None:
    async with rest_node(store) as free:
        await free.done("PUT", NATIVE, {"labels": {"a": "1", "b": "2", "c": "3"}} | local({"maxMessageSize": 9}))
    async with rest_node(store, 10**9, allowed_custom_label_keys="d", max_message_size=8) as strict:
        await strict.done("PATCH", NATIVE, {"labels": {"a": None, "d": "4"}} | local({"messageTTLInSeconds": 5}))
        assert await strict.problem("PATCH", NATIVE, {"labels": {"b": "5"}}) == (400, "invalid_labels")
        assert await violations(strict, "PATCH", local({"maxMessageSize": 10})) == ["policies.local.maxMessageSize"]
        await strict.done("PATCH", NATIVE, {"labels": {"b": None}} | local({"maxMessageSize": None}))
        item = await strict.get(NATIVE)
    assert (item["labels"], item["policies"]["local"]) == ({"c": "3", "d": "4"}, {"messageTTLInSeconds": 5})


async def test_as_many_labels_may_be_merged_as_fit_with_those_that_go(rest: RestNode) -> None:
    full = {f"l{each}": "x" for each in range(MAX_LABELS)}
    await rest.done("PUT", NATIVE, {"labels": full})
    assert await violations(rest, "PATCH", {"labels": {"more": "x"}}) == ["labels"]
    await rest.done("PATCH", NATIVE, {"labels": {"more": "x", "l0": None}})
    await rest.done(
        "PATCH", NATIVE, {"labels": dict.fromkeys(full) | {f"m{each}": "x" for each in range(MAX_LABELS - 1)}}
    )
    assert len(await rest.get(LABELS)) == MAX_LABELS


def test_a_topic_that_has_too_many_labels_by_now_may_have_others_in_their_place_and_no_more() -> None:
    old = TopicRecord(labels={"a": "1", "b": "2"})
    patches: list[dict[str, str | None]] = [{"a": None, "c": "3"}, {"c": "3"}]
    same, more = (
        merging("orders", {"labels": patch}, LabelRules(max_labels=1), Limits(), lambda: EMPTY)(old)
        for patch in patches
    )
    assert same == TopicRecord(labels={"b": "2", "c": "3"})
    assert more == Refuse(Verdict.TOO_MANY_LABELS, "topic orders would have 3 labels, at most 1 are allowed on a topic")


@pytest.mark.parametrize("media_type", ["application/merge-patch+json", "application/json; charset=utf-8"])
async def test_a_patch_is_taken_as_either_type(orders: RestNode, media_type: str) -> None:
    await orders.done("PATCH", NATIVE, {"labels": {"team": None}}, content_type=media_type)
    assert await orders.get(LABELS) == {"tier": "gold"}


async def test_nothing_but_a_patch_is_taken_as_a_merge_patch(rest: RestNode) -> None:
    answer = await rest.problem("PUT", NATIVE, {}, content_type="application/merge-patch+json")
    assert answer == (415, "unsupported_media_type")


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
    assert await orders.get(LABELS) == ORDERS_LABELS | {"a": "b"}


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


@pytest.mark.parametrize("body", [[], "x", 5, {"labels": []}, {"labels": {"a": 5}}, {"policies": {"local": []}}])
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
    for other in ({"policies": {"local": {}}}, local(LOCAL | {"maxMessageSize": None}), body | {"labels": {"a": None}}):
        assert await orders.problem("PATCH", NATIVE, other, idempotency_key="k") == (422, "idempotency_key_reused")


async def test_a_retried_patch_is_not_merged_again_and_its_spelling_does_not_matter(orders: RestNode) -> None:
    first = await orders.done("PATCH", NATIVE, local({"maxMessageSize": 5}), idempotency_key="k")
    await orders.done("PATCH", NATIVE, local({"maxMessageSize": 6}))
    again = await orders.done("PATCH", NATIVE, local({"maxMessageSize": "5"}), idempotency_key="k")
    assert first.headers["etag"] == again.headers["etag"]
    assert (await orders.get(NATIVE))["policies"]["local"] == {"maxMessageSize": 6}


async def test_a_merge_that_was_refused_under_a_key_stays_refused(orders: RestNode) -> None:
    half = local({"retentionPolicies": {"retentionTimeInMinutes": 20}})
    assert (await orders.problem("PATCH", NATIVE, half, idempotency_key="k"))[0] == 400
    await orders.done("PATCH", NATIVE, local({"retentionPolicies": RETENTION}))
    assert (await orders.problem("PATCH", NATIVE, half, idempotency_key="k"))[0] == 400
    await orders.done("PATCH", NATIVE, half, idempotency_key="another")


async def test_patches_of_different_keys_at_once_on_two_nodes_are_all_there(nodes: list[RestNode]) -> None:
    await nodes[0].done("PUT", NATIVE, {"labels": {f"old{each}": "x" for each in range(20)}})
    patches = [
        {"labels": {f"old{each}": None, f"new{each}": "y"}, "properties": {f"p{each}": "z"}} for each in range(20)
    ]
    await asyncio.gather(*(nodes[each % 2].done("PATCH", NATIVE, body) for each, body in enumerate(patches)))
    item = await nodes[2].get(NATIVE, x_consistency="linearizable")
    assert item["labels"] == {f"new{each}": "y" for each in range(20)}
    assert item["properties"] == {f"p{each}": "z" for each in range(20)}


async def test_a_merge_is_not_refused_for_what_another_node_has_changed_already(nodes: list[RestNode]) -> None:
    one, other = nodes[:2]
    await one.done("PUT", NATIVE)
    await other.node.caught_up()
    other.node.log.pause()
    await one.done("PATCH", NATIVE, local({"retentionPolicies": RETENTION}))
    half = local({"retentionPolicies": {"retentionTimeInMinutes": 20}})
    patching = asyncio.create_task(other.send("PATCH", NATIVE, half))
    await turns()
    assert not patching.done()
    other.node.log.resume()
    assert (await patching).status_code == 204


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
    found = await violations(orders, method, {"policies": {"local": unknown, "global": unknown}})
    assert len(found) == len(set(asked)) == MAX_VIOLATIONS


async def test_a_body_that_is_no_patch_is_read_once_and_what_is_wrong_once_merged_is_told_beside(
    orders: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []

    def reading(shape: type[TopicPatch], body: object) -> TopicPatch:
        read.append(body)
        return checked(shape, body)

    monkeypatch.setattr(desired, "checked", reading)
    half = {"retentionPolicies": {"retentionTimeInMinutes": 20}}
    found = await violations(orders, "PATCH", {"label": {}, "labels": {"-": "x"}, "policies": {"local": half}})
    assert (found, len(read)) == (["label", "labels.-", "policies.local.retentionPolicies"], 1)
