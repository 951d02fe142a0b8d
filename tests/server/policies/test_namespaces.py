"""Policies of whole namespaces, each row of the table at Pulsar's path with Pulsar's body."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from tests.memory_log import MemoryStore
from tests.server.rest import RestNode, rest_node
from topicfold.model.policy.changes import change_namespace, set_value
from topicfold.model.policy.description import EMPTY_ANSWER, Empty, NamespaceRoute, Policy, Source
from topicfold.wire.namespace_document import policies_of_namespaces, unset_answer

PAY = "/admin/v2/namespaces/public/pay"
NOWHERE = "/admin/v2/namespaces/public/nowhere"
QUOTA = {"limit": 10, "limitSize": 10, "limitTime": -1, "policy": "producer_request_hold"}
RATE = {
    "dispatchThrottlingRateInMsg": 10,
    "dispatchThrottlingRateInByte": -1,
    "relativeToPublishRate": False,
    "ratePeriodInSecond": 1,
}
DELAY = {"tickTime": 1000, "active": True, "maxDeliveryDelayInMillis": 0}
INACTIVE = {
    "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
    "maxInactiveDurationSeconds": 3600,
    "deleteWhileInactive": True,
}
BOOKIES = {
    "bookkeeperEnsemble": 3,
    "bookkeeperWriteQuorum": 2,
    "bookkeeperAckQuorum": 1,
    "managedLedgerMaxMarkDeleteRate": 1.0,
}
SAMPLES: Mapping[str, Any] = {
    "backLogQuotaMap": QUOTA,
    "retentionPolicies": {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10},
    "messageTTLInSeconds": 600,
    "subscriptionExpirationTimeInMinutes": 5,
    "persistence": BOOKIES,
    "deduplicationEnabled": False,
    "deduplicationSnapshotIntervalSeconds": 5,
    "inactiveTopicPolicies": INACTIVE,
    "offloadPolicies": {"managedLedgerOffloadDriver": "aws-s3", "managedLedgerOffloadBucket": "attic"},
    "compactionThreshold": 0,
    "delayedDeliveryPolicies": DELAY,
    "dispatchRate": RATE,
    "subscriptionDispatchRate": RATE,
    "replicatorDispatchRate": RATE,
    "publishRate": {"publishThrottlingRateInMsg": 5, "publishThrottlingRateInByte": -1},
    "subscribeRate": {"subscribeThrottlingRatePerConsumer": 5, "ratePeriodInSecond": 30},
    "maxProducerPerTopic": 1,
    "maxConsumerPerTopic": 2,
    "maxConsumersPerSubscription": 3,
    "maxSubscriptionsPerTopic": 4,
    "maxUnackedMessagesOnConsumer": 5,
    "maxUnackedMessagesOnSubscription": 0,
    "subscriptionTypesEnabled": ["Shared", "Exclusive"],
    "schemaCompatibilityStrategy": "BACKWARD",
    "schemaValidationEnforced": True,
    "entryFilters": {"entryFilterNames": "a,b"},
    "autoSubscriptionCreationOverride": {"allowAutoSubscriptionCreation": False},
    "dispatcherPauseOnAckStatePersistentEnabled": True,
    "replicationClusters": ["standalone"],
}

ROWS = list(policies_of_namespaces())
each_row = pytest.mark.parametrize(("policy", "route"), ROWS, ids=[policy.name for policy, _ in ROWS])


async def read(rest: RestNode, route: NamespaceRoute) -> Any:
    """Return what a GET says, `EMPTY_ANSWER` for a 200 without a body."""
    answer = await rest.send("GET", f"{PAY}/{route.read_path or route.path}")
    assert answer.status_code == 200, answer.text
    if answer.content:
        return answer.json()
    assert "content-type" not in answer.headers
    return EMPTY_ANSWER


async def set_sample(rest: RestNode, policy: Policy, route: NamespaceRoute) -> None:
    """Set the policy to its sample."""
    body = None if route.source is Source.TRUE else SAMPLES[policy.name]
    await rest.done(route.method, f"{PAY}/{route.path}", body)


def shown(policy: Policy) -> Any:
    """Return what a GET shows of the sample."""
    return {"destination_storage": QUOTA} if policy.name == "backLogQuotaMap" else SAMPLES[policy.name]


@each_row
async def test_a_policy_is_unset_then_set_then_removed(rest: RestNode, policy: Policy, route: NamespaceRoute) -> None:
    await rest.done("PUT", PAY)
    unset = unset_answer(route, "standalone")
    assert await read(rest, route) == unset
    await set_sample(rest, policy, route)
    found = await read(rest, route)
    if policy.name == "offloadPolicies":
        found = {name: found[name] for name in SAMPLES[policy.name]}
    assert found == shown(policy)
    if route.has_delete:
        await rest.done("DELETE", f"{PAY}/{route.remove_path or route.path}")
        assert await read(rest, route) == unset
    else:
        answer = await rest.send("DELETE", f"{PAY}/{route.path}")
        assert (answer.status_code, answer.headers["allow"]) == (405, ", ".join(sorted(["GET", "HEAD", route.method])))


@each_row
async def test_a_removal_of_what_is_not_set_changes_nothing(
    rest: RestNode, policy: Policy, route: NamespaceRoute
) -> None:
    await rest.done("PUT", PAY)
    before = (await rest.send("GET", PAY)).headers["etag"]
    if route.has_delete:
        await rest.done("DELETE", f"{PAY}/{route.remove_path or route.path}")
    assert (await rest.send("GET", PAY)).headers["etag"] == before


@each_row
async def test_an_empty_body_does_what_the_table_says(rest: RestNode, policy: Policy, route: NamespaceRoute) -> None:
    await rest.done("PUT", PAY)
    await set_sample(rest, policy, route)
    answer = await rest.send(route.method, f"{PAY}/{route.path}")
    if route.source is Source.TRUE:
        assert answer.status_code == 204
    elif route.empty is Empty.REMOVES:
        assert answer.status_code == 204
        assert await read(rest, route) == unset_answer(route, "standalone")
    else:
        assert answer.status_code == {Empty.REFUSED: 400, Empty.UNMET: 412}[route.empty]
        assert await read(rest, route) != unset_answer(route, "nowhere")


@each_row
async def test_a_namespace_that_is_not_there_is_told_in_pulsars_words(
    rest: RestNode, policy: Policy, route: NamespaceRoute
) -> None:
    answer = await rest.send("GET", f"{NOWHERE}/{route.read_path or route.path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "namespace_not_found")
    assert answer.json()["reason"] == "Namespace does not exist: public/nowhere"
    body = None if route.source is Source.TRUE else SAMPLES[policy.name]
    answer = await rest.send(route.method, f"{NOWHERE}/{route.path}", body)
    assert (answer.status_code, answer.json()["reason"]) == (404, f"{route.missing}: public/nowhere")
    if route.has_delete:
        assert (await rest.send("DELETE", f"{NOWHERE}/{route.remove_path or route.path}")).status_code == 404


@each_row
async def test_a_body_of_the_wrong_kind_is_400_and_changes_nothing(
    rest: RestNode, policy: Policy, route: NamespaceRoute
) -> None:
    await rest.done("PUT", PAY)
    body = 17 if isinstance(SAMPLES[policy.name], (dict, list, str)) else [1]
    if route.source is not Source.TRUE:
        assert await rest.problem(route.method, f"{PAY}/{route.path}", body) == (400, "invalid_policy")
    assert await read(rest, route) == unset_answer(route, "standalone")


@each_row
async def test_the_document_has_every_policy_and_makes_the_same_namespace_again(
    rest: RestNode, policy: Policy, route: NamespaceRoute
) -> None:
    await rest.done("PUT", PAY)
    await set_sample(rest, policy, route)
    document = await rest.get(PAY)
    member = document[route.member]
    assert (member["standalone"] if route.by_cluster else member) == await read(rest, route)
    await rest.done("PUT", f"{PAY}2", document)
    assert await rest.get(f"{PAY}2") == document


@pytest.mark.parametrize(
    ("method", "path", "body", "reason"),
    [
        ("POST", "messageTTL", -1, "Invalid value for message TTL"),
        ("POST", "subscriptionExpirationTime", -1, "Invalid value for subscription expiration time"),
        ("POST", "maxProducersPerTopic", -1, "maxProducersPerTopic must be 0 or more"),
        ("POST", "maxConsumersPerTopic", -1, "maxConsumersPerTopic must be 0 or more"),
        ("POST", "maxSubscriptionsPerTopic", -1, "maxSubscriptionsPerTopic must be 0 or more"),
        ("POST", "maxUnackedMessagesPerConsumer", -1, "maxUnackedMessagesPerConsumer must be 0 or more"),
        ("POST", "deduplicationSnapshotInterval", -1, "interval must be greater than or equal to 0"),
        ("PUT", "compactionThreshold", -1, "compactionThreshold must be 0 or more"),
        ("POST", "replication", [], "ClusterIds should not be null or empty"),
        ("POST", "replication", None, "ClusterIds should not be null or empty"),
        ("POST", "offloadPolicies", {"managedLedgerOffloadDriver": "tape"}, "The driver is not supported"),
    ],
)
async def test_a_value_out_of_bounds_is_412(rest: RestNode, method: str, path: str, body: Any, reason: str) -> None:
    await rest.done("PUT", PAY)
    answer = await rest.send(method, f"{PAY}/{path}", body)
    assert answer.status_code == 412
    assert reason in answer.json()["reason"]


async def test_retention_and_quota_are_held_against_each_other(rest: RestNode) -> None:
    await rest.done("PUT", PAY)
    await rest.done("POST", f"{PAY}/retention", SAMPLES["retentionPolicies"])
    quota = {"limitSize": 10 * 1024 * 1024, "policy": "producer_request_hold"}
    answer = await rest.send("POST", f"{PAY}/backlogQuota", quota)
    assert answer.status_code == 412
    assert answer.json()["reason"].startswith("Backlog Quota exceeds configured retention quota for namespace.")
    await rest.done("POST", f"{PAY}/backlogQuota", {**quota, "limitSize": 9 * 1024 * 1024})
    answer = await rest.send("POST", f"{PAY}/retention", {"retentionTimeInMinutes": 10, "retentionSizeInMB": 9})
    assert answer.status_code == 412
    assert answer.json()["reason"].startswith("Retention Quota must exceed configured backlog quota for namespace.")
    assert await rest.get(f"{PAY}/retention") == SAMPLES["retentionPolicies"]


async def test_a_quota_is_not_refused_for_the_other_type(rest: RestNode) -> None:
    await rest.done("PUT", PAY)
    quota = {"limitTime": 600, "policy": "producer_request_hold"}
    await rest.done("POST", f"{PAY}/backlogQuota?backlogQuotaType=message_age", quota)
    update = change_namespace("public/pay", set_value("retentionPolicies", SAMPLES["retentionPolicies"]))
    await rest.node.writing.change_namespace("public/pay", update, rest.node.asked())
    await rest.done("POST", f"{PAY}/backlogQuota", {"limitSize": -1, "policy": "producer_request_hold"})


async def test_a_document_whose_policies_contradict_each_other_makes_no_namespace(rest: RestNode) -> None:
    quotas = {"destination_storage": {"limit": 1 << 30, "policy": "producer_exception"}}
    document = {"retention_policies": SAMPLES["retentionPolicies"], "backlog_quota_map": quotas}
    assert await rest.problem("PUT", PAY, document) == (412, "policy_unmet")
    assert await rest.problem("PUT", PAY, {"topicDispatchRate": [RATE]}) == (400, "invalid_policy")
    assert await rest.problem("PUT", PAY, {"max_producers_per_topic": -1}) == (412, "policy_unmet")
    assert await rest.get("/admin/v2/namespaces/public") == ["public/default"]


async def test_of_two_that_contradict_each_other_at_once_one_is_refused(nodes: list[RestNode]) -> None:
    await nodes[0].done("PUT", PAY)
    quota = {"limitSize": 20 * 1024 * 1024, "policy": "producer_request_hold"}
    answers = await asyncio.gather(
        nodes[1].send("POST", f"{PAY}/retention", SAMPLES["retentionPolicies"]),
        nodes[2].send("POST", f"{PAY}/backlogQuota", quota),
    )
    assert sorted(answer.status_code for answer in answers) == [204, 412]


async def test_quotas_are_set_and_removed_by_their_type(rest: RestNode) -> None:
    await rest.done("PUT", PAY)
    by_age = {"limit": -1, "limitSize": -1, "limitTime": 600, "policy": "producer_exception"}
    await rest.done("POST", f"{PAY}/backlogQuota?backlogQuotaType=message_age", by_age)
    await rest.done("POST", f"{PAY}/backlogQuota", QUOTA)
    assert await rest.get(f"{PAY}/backlogQuotaMap") == {"destination_storage": QUOTA, "message_age": by_age}
    await rest.done("DELETE", f"{PAY}/backlogQuota?backlogQuotaType=")
    assert await rest.get(f"{PAY}/backlogQuotaMap") == {"message_age": by_age}
    assert await rest.problem("DELETE", f"{PAY}/backlogQuota?backlogQuotaType=weight") == (404, "not_found")
    assert await rest.problem("POST", f"{PAY}/backlogQuota", {"limitSize": 1}) == (400, "invalid_policy")


async def test_an_undefined_strategy_is_none(rest: RestNode) -> None:
    await rest.done("PUT", PAY)
    await rest.done("PUT", f"{PAY}/schemaCompatibilityStrategy", "FULL")
    await rest.done("PUT", f"{PAY}/schemaCompatibilityStrategy", "UNDEFINED")
    assert await rest.get(f"{PAY}/schemaCompatibilityStrategy") == "UNDEFINED"
    document = await rest.get(PAY)
    assert document["schema_compatibility_strategy"] == "UNDEFINED"
    await rest.done("PUT", f"{PAY}2", document)
    for name in ("pay", "pay2"):
        topic = f"/admin/v2/persistent/public/{name}/orders"
        await rest.done("PUT", topic)
        assert await rest.get(f"{topic}/schemaCompatibilityStrategy?applied=true") == "FULL"


async def test_schema_validation_applied_is_the_nodes_where_the_namespace_asks_for_none(store: MemoryStore) -> None:
    async with rest_node(store, policy_defaults={"schemaValidationEnforced": True}) as rest:
        path = "/admin/v2/namespaces/public/default/schemaValidationEnforced"
        assert await rest.get(path) is False
        assert await rest.get(f"{path}?applied=true") is True


async def test_a_policy_of_the_namespace_holds_for_its_topics(rest: RestNode) -> None:
    await rest.done("PUT", PAY)
    await rest.done("PUT", "/admin/v2/persistent/public/pay/orders")
    await rest.done("POST", f"{PAY}/messageTTL", 600)
    assert await rest.get("/admin/v2/persistent/public/pay/orders/messageTTL?applied=true") == 600


@pytest.mark.parametrize(
    ("clusters", "status", "reason"),
    [
        (["nosuch"], 403, "Invalid cluster id: nosuch"),
        (["standalone", "eu"], 204, ""),
        (["us"], 403, "allowed clusters"),
    ],
)
async def test_topics_are_copied_to_known_and_allowed_clusters_only(
    rest: RestNode, clusters: list[str], status: int, reason: str
) -> None:
    for cluster in ("eu", "us"):
        await rest.done("PUT", f"/admin/v2/clusters/{cluster}", {"serviceUrl": f"http://{cluster}:8080"})
    await rest.done("PUT", "/admin/v2/tenants/acme", {"allowedClusters": ["standalone", "eu"]})
    await rest.done("PUT", "/admin/v2/namespaces/acme/pay")
    answer = await rest.send("POST", "/admin/v2/namespaces/acme/pay/replication", clusters)
    assert answer.status_code == status
    assert reason in answer.text
    answer = await rest.send("PUT", "/admin/v2/namespaces/acme/ads", {"replication_clusters": clusters})
    assert answer.status_code == status


async def test_a_version_condition_holds_for_policies_too(rest: RestNode) -> None:
    await rest.done("PUT", PAY)
    etag = (await rest.send("GET", f"{PAY}/retention")).headers["etag"]
    await rest.done("POST", f"{PAY}/messageTTL", 1, if_match=etag)
    assert await rest.problem("POST", f"{PAY}/messageTTL", 2, if_match=etag) == (412, "precondition_failed")
