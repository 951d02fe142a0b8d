"""What takes effect on a topic, and why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import TOPIC, namespace_put, topic_put
from tests.memory_log import MemoryStore
from tests.server.rest import NATIVE, ORDERS, RestNode, rest_node, say_of_namespace
from topicfold.log.codec import encode_event
from topicfold.model.events import AggregateKind
from topicfold.model.policy.table import BY_NAME
from topicfold.wire.resources import EffectiveTopic

EFFECTIVE = f"{NATIVE}/effective"
TTL = "messageTTLInSeconds"


async def effective(rest: RestNode, policy: str) -> dict[str, Any]:
    """Return what takes effect of one policy on the topic `orders`."""
    found: dict[str, Any] = (await rest.get(EFFECTIVE))["policies"][policy]
    return found


async def test_every_policy_is_there_with_who_enforces_it(orders: RestNode) -> None:
    found = await orders.get(EFFECTIVE)
    EffectiveTopic.model_validate_json(json.dumps(found))
    assert found["labels"] == {"team": "pay", "tier": "gold"}
    assert list(found["policies"]) == list(BY_NAME)
    assert {each["enforcedBy"] for each in found["policies"].values()} == {"nothing"}


async def enforced_by_kafka(rest: RestNode, path: str = EFFECTIVE) -> set[str]:
    """Return the policies that are said to be enforced by Kafka."""
    policies = (await rest.get(path))["policies"]
    return {name for name, each in policies.items() if each["enforcedBy"] == "kafka"}


async def test_kafka_enforces_what_it_is_told_and_no_built_in_default(orders: RestNode) -> None:
    assert await enforced_by_kafka(orders) == set()
    await orders.done("POST", f"{ORDERS}/maxMessageSize", 7)
    await orders.done("POST", f"{ORDERS}/compactionThreshold", 0)
    await orders.done("POST", f"{ORDERS}/retention", {"retentionTimeInMinutes": 0, "retentionSizeInMB": 0})
    assert await enforced_by_kafka(orders) == {"maxMessageSize", "compactionThreshold"}


@pytest.mark.parametrize(("domain", "topic"), [("non-persistent", "calls"), ("persistent", "_schemas")])
async def test_kafka_enforces_nothing_of_a_topic_that_it_does_not_have_or_keeps_for_others(
    rest: RestNode, domain: str, topic: str
) -> None:
    await rest.done("PUT", f"/admin/v2/{domain}/public/default/{topic}")
    await rest.done("POST", f"/admin/v2/{domain}/public/default/{topic}/maxMessageSize", 7)
    path = f"/api/v1/topics/public/default/{topic}/effective?domain={domain}"
    assert await enforced_by_kafka(rest, path) == set()


async def test_kafka_enforces_defaults_by_settings(store: MemoryStore) -> None:
    async with rest_node(store, policy_defaults={"maxMessageSize": 7}) as rest:
        await rest.done("PUT", ORDERS)
        assert await enforced_by_kafka(rest) == {"maxMessageSize"}


async def test_removing_a_value_uncovers_what_lies_below(orders: RestNode) -> None:
    path = f"{ORDERS}/messageTTL"
    await say_of_namespace(orders, TTL, 3)
    await orders.done("POST", f"{path}?messageTTL=2&isGlobal=true")
    await orders.done("POST", f"{path}?messageTTL=1")
    found = await effective(orders, TTL)
    assert (found["value"], found["origin"]) == (1, "topic")
    assert found["chain"] == {"topic": 1, "global": 2, "namespace": 3, "broker": 0}
    await orders.done("DELETE", path)
    assert (await effective(orders, TTL))["origin"] == "global"
    await orders.done("DELETE", f"{path}?isGlobal=true")
    assert (await effective(orders, TTL))["origin"] == "namespace"


async def test_applied_passes_over_the_other_scope_and_effective_does_not(orders: RestNode) -> None:
    await orders.done("POST", f"{ORDERS}/messageTTL?messageTTL=2&isGlobal=true")
    assert await orders.get(f"{ORDERS}/messageTTL?applied=true") == 0
    assert (await effective(orders, TTL))["value"] == 2


async def test_merged_policies_say_where_each_member_comes_from(orders: RestNode) -> None:
    quota = {"limitSize": 5, "policy": "producer_exception"}
    await orders.done("POST", f"{ORDERS}/backlogQuota", quota)
    found = await effective(orders, "backLogQuotaMap")
    assert found["origins"] == {"destination_storage": "topic", "message_age": "broker"}
    assert found["value"]["destination_storage"]["limitSize"] == 5
    for subscription, scope in (("a", ""), ("a", "?isGlobal=true"), ("b", "?isGlobal=true")):
        await orders.done("POST", f"{ORDERS}/{subscription}/dispatchRate{scope}", {"dispatchThrottlingRateInMsg": 1})
    found = await effective(orders, "subscriptionPolicies")
    assert found["origins"] == {"a": "topic", "b": "global"}


async def test_the_nodes_settings_are_the_lowest_level(store: MemoryStore) -> None:
    async with rest_node(store, policy_defaults={TTL: 9}, cluster_name="east", max_message_size=7) as rest:
        await rest.done("PUT", ORDERS)
        assert (await effective(rest, TTL))["chain"] == {"broker": 9}
        assert (await effective(rest, "replicationClusters"))["value"] == ["east"]
        assert (await effective(rest, "maxMessageSize"))["value"] == 7


async def test_a_node_without_policies_of_topics_passes_over_them(store: MemoryStore) -> None:
    async with rest_node(store) as on:
        await on.done("PUT", ORDERS)
        await on.done("POST", f"{ORDERS}/messageTTL?messageTTL=2")
    async with rest_node(store, topic_level_policies_enabled=False) as off:
        assert (await effective(off, TTL))["chain"] == {"broker": 0}


async def test_a_node_that_allows_no_other_filters_passes_over_them(store: MemoryStore) -> None:
    async with rest_node(store, allow_override_entry_filters=False) as rest:
        await rest.done("PUT", ORDERS)
        await rest.done("POST", f"{ORDERS}/entryFilters", {"entryFilterNames": "a"})
        assert (await effective(rest, "entryFilters"))["origin"] == "broker"
        assert await rest.get(f"{ORDERS}/entryFilters?applied=true") == {"entryFilterNames": ""}
        assert await rest.get(f"{ORDERS}/entryFilters") == {"entryFilterNames": "a"}


async def test_a_system_topic_keeps_its_namespaces_rates_away(rest: RestNode) -> None:
    await rest.done("PUT", "/admin/v2/persistent/public/default/__change_events")
    rate = {"dispatchThrottlingRateInMsg": 5, "dispatchThrottlingRateInByte": 5}
    await say_of_namespace(rest, "dispatchRate", BY_NAME["dispatchRate"].default | rate)
    found = await rest.get("/api/v1/topics/public/default/__change_events/effective")
    assert found["policies"]["dispatchRate"]["origin"] == "broker"


async def test_what_is_not_there_is_404_and_a_partition_400(rest: RestNode) -> None:
    assert await rest.problem("GET", EFFECTIVE) == (404, "topic_not_found")
    assert await rest.problem("GET", f"{NATIVE}-partition-0/effective") == (400, "invalid_name")
    assert await rest.problem("GET", f"{EFFECTIVE}?applied=true") == (400, "invalid_request")


async def test_a_record_that_cannot_be_read_is_an_error_and_never_counts_as_unset(
    orders: RestNode, store: MemoryStore
) -> None:
    state = orders.node.engine.states[3]
    namespace_id = state.namespaces["public/default"].incarnation
    base = state.current(AggregateKind.TOPIC, TOPIC).version
    store.append(3, encode_event(topic_put(7, namespace_id, base, payload=b"\xff")))
    await orders.node.caught_up()
    for path in (EFFECTIVE, f"{ORDERS}/retention", f"{ORDERS}/retention?applied=true", f"{ORDERS}/properties"):
        assert await orders.problem("GET", path) == (409, "undecodable")


async def test_a_namespace_that_cannot_be_read_is_an_error_and_never_counts_as_silent(
    orders: RestNode, store: MemoryStore
) -> None:
    owner = orders.node.engine.states[3].namespaces["public/default"]
    store.append(3, encode_event(namespace_put(7, owner.version, payload=b"\xff")))
    await orders.node.caught_up()
    for path in (EFFECTIVE, f"{ORDERS}/retention?applied=true"):
        assert await orders.problem("GET", path) == (409, "undecodable")
    assert (await orders.send("GET", f"{ORDERS}/retention")).status_code == 200
    body = {"retentionTimeInMinutes": 1, "retentionSizeInMB": 1}
    assert await orders.problem("POST", f"{ORDERS}/retention", body) == (409, "undecodable")


async def test_what_took_effect_once_is_told_by_topic_and_namespace_as_they_were(orders: RestNode) -> None:
    path = f"{ORDERS}/messageTTL"
    await say_of_namespace(orders, TTL, 3)
    await orders.done("POST", f"{path}?messageTTL=1")
    then = (await orders.send("GET", EFFECTIVE)).headers["x-log-position"]
    await say_of_namespace(orders, TTL, 4)
    await orders.done("DELETE", path)
    assert (await effective(orders, TTL))["chain"] == {"namespace": 4, "broker": 0}
    once = (await orders.get(f"{EFFECTIVE}?at={then}"))["policies"][TTL]
    assert (once["value"], once["origin"], once["chain"]) == (1, "topic", {"topic": 1, "namespace": 3, "broker": 0})


@pytest.mark.parametrize(("at", "status"), [("999999", 400), ("nonsense", 400), ("0", 404)])
async def test_what_took_effect_at_no_place_of_the_log_is_refused(orders: RestNode, at: str, status: int) -> None:
    assert (await orders.send("GET", f"{EFFECTIVE}?at={at}")).status_code == status
