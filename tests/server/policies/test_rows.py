"""What single policies do otherwise than the rest, row by row of Pulsar's table."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.builders import retention
from tests.memory_log import MemoryStore
from tests.server.rest import NATIVE, ORDERS, RestNode, rest_node, say_of_namespace

MIB = 1024 * 1024
QUOTA = f"{ORDERS}/backlogQuota"
QUOTAS = f"{ORDERS}/backlogQuotaMap"
RETENTION = f"{ORDERS}/retention"
RATE = f"{ORDERS}/billing/dispatchRate"
REPLICATION = f"{ORDERS}/replication"
QUOTA_EXCEEDS = "Backlog Quota exceeds configured retention quota for topic. Please increase retention quota and retry"
RETENTION_BELOW = (
    "Retention Quota must exceed configured backlog quota for topic. Please increase retention quota and retry"
)


def quota(size: int = -1, seconds: int = 0) -> dict[str, Any]:
    """Return the body of a backlog quota."""
    return {"limitSize": size, "limitTime": seconds, "policy": "producer_request_hold"}


async def refused(rest: RestNode, method: str, path: str, body: Any = None) -> tuple[int, str]:
    """Return status and reason of a refusal."""
    answer = await rest.send(method, path, body)
    return answer.status_code, answer.json()["reason"]


async def test_each_type_of_quota_is_set_and_removed_by_itself(orders: RestNode) -> None:
    await orders.done("POST", QUOTA, quota(5))
    await orders.done("POST", f"{QUOTA}?backlogQuotaType=message_age", quota(seconds=9))
    assert set(await orders.get(QUOTAS)) == {"destination_storage", "message_age"}
    await orders.done("DELETE", f"{QUOTA}?backlogQuotaType=message_age")
    assert set(await orders.get(QUOTAS)) == {"destination_storage"}
    await orders.done("POST", QUOTA)
    assert await orders.get(QUOTAS) == {}


async def test_a_type_of_quota_that_is_none_is_404(orders: RestNode) -> None:
    for method in ("POST", "DELETE"):
        assert (await orders.problem(method, f"{QUOTA}?backlogQuotaType=foo", quota()))[0] == 404


async def test_applied_quotas_are_those_of_one_level_whole(orders: RestNode) -> None:
    await say_of_namespace(
        orders, "backLogQuotaMap", {"message_age": quota(seconds=7), "destination_storage": quota(7)}
    )
    await orders.done("POST", QUOTA, quota(5))
    assert set(await orders.get(f"{QUOTAS}?applied=true")) == {"destination_storage"}
    await orders.done("DELETE", QUOTA)
    assert (await orders.get(f"{QUOTAS}?applied=true"))["message_age"]["limitTime"] == 7


async def test_pulsars_own_session_behaves(orders: RestNode) -> None:
    await orders.done("POST", RETENTION, retention(10, 10))
    assert await orders.get(RETENTION) == retention(10, 10)
    assert await refused(orders, "POST", QUOTA, quota(10 * MIB)) == (412, QUOTA_EXCEEDS)
    await orders.done("POST", QUOTA, quota(9 * MIB))
    await orders.done("DELETE", RETENTION)
    answer = await orders.send("GET", RETENTION)
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("pair", [(0, 0), (-1, -1), (1, 1)])
async def test_retention_is_both_or_neither(orders: RestNode, pair: tuple[int, int]) -> None:
    await orders.done("POST", RETENTION, retention(*pair))
    assert await orders.get(RETENTION) == retention(*pair)


@pytest.mark.parametrize("pair", [(1, 0), (0, 1), (-1, 0), (0, -1), (-2, 1), (1, -2)])
async def test_other_retention_is_400_with_pulsars_reason(orders: RestNode, pair: tuple[int, int]) -> None:
    status, reason = await refused(orders, "POST", RETENTION, retention(*pair))
    assert status == 400
    assert "Invalid retention policy" in reason


async def test_a_quota_says_what_happens_at_its_limit(orders: RestNode) -> None:
    status, reason = await refused(orders, "POST", QUOTA, {"limitSize": 5})
    assert status == 400
    assert "policy cannot be null" in reason


async def test_a_topic_or_a_namespace_that_is_not_there_is_told_in_pulsars_words(rest: RestNode) -> None:
    for method, body in (("GET", None), ("POST", retention(1, 1)), ("POST", retention(1, 0)), ("DELETE", None)):
        status, reason = await refused(rest, method, RETENTION, body)
        assert (status, reason) == (404, "Topic persistent://public/default/orders not found")
        status, reason = await refused(rest, method, "/admin/v2/persistent/no/such/orders/retention", body)
        assert (status, reason) == (404, "Namespace not found: no/such")


@pytest.mark.parametrize("scope", ["", "isGlobal=true"])
@pytest.mark.parametrize(
    ("conflicting", "kind"), [(quota(10 * MIB), "destination_storage"), (quota(seconds=600), "message_age")]
)
async def test_retention_and_quota_are_held_against_each_other_in_each_scope(
    orders: RestNode, scope: str, conflicting: dict[str, Any], kind: str
) -> None:
    query = f"backlogQuotaType={kind}&{scope}"
    await orders.done("POST", f"{RETENTION}?{scope}", retention(10, 10))
    assert await refused(orders, "POST", f"{QUOTA}?{query}", conflicting) == (412, QUOTA_EXCEEDS)
    assert await orders.get(f"{QUOTAS}?{scope}") == {}
    await orders.done("DELETE", f"{RETENTION}?{scope}")
    await orders.done("POST", f"{QUOTA}?{query}", conflicting)
    assert await refused(orders, "POST", f"{RETENTION}?{scope}", retention(10, 10)) == (412, RETENTION_BELOW)
    assert (await orders.send("GET", f"{RETENTION}?{scope}")).content == b""
    await orders.done("POST", f"{RETENTION}?{scope}", retention(11, 11))


async def test_the_scopes_are_not_held_against_each_other(orders: RestNode) -> None:
    await orders.done("POST", f"{RETENTION}?isGlobal=true", retention(10, 10))
    await orders.done("POST", QUOTA, quota(1 << 40))


async def test_what_the_namespace_says_is_held_against_what_a_topic_says(orders: RestNode) -> None:
    await say_of_namespace(orders, "retentionPolicies", retention(10, 10))
    assert await refused(orders, "POST", QUOTA, quota(10 * MIB)) == (412, QUOTA_EXCEEDS)
    await orders.done("POST", RETENTION, retention(-1, -1))
    await orders.done("POST", QUOTA, quota(10 * MIB))


async def test_a_quota_is_not_refused_for_the_other_type_and_retention_is_for_each(orders: RestNode) -> None:
    await say_of_namespace(orders, "retentionPolicies", retention(1, 1))
    await say_of_namespace(orders, "backLogQuotaMap", {"message_age": quota(seconds=599)})
    await orders.done("POST", QUOTA, quota(-1))
    change = {"backLogQuotaMap": {"destination_storage": quota(5)}}
    await orders.done("PATCH", NATIVE, {"policies": {"local": change}})
    assert await refused(orders, "POST", QUOTA, quota(MIB)) == (412, QUOTA_EXCEEDS)
    assert await refused(orders, "POST", RETENTION, retention(2, 2)) == (412, RETENTION_BELOW)


async def test_what_the_node_says_is_held_against_what_a_topic_says(store: MemoryStore) -> None:
    defaults = {"backLogQuotaMap": {"destination_storage": quota(10 * MIB)}}
    async with rest_node(store, policy_defaults=defaults) as rest:
        await rest.done("PUT", ORDERS)
        assert await refused(rest, "POST", RETENTION, retention(10, 10)) == (412, RETENTION_BELOW)
        await rest.done("POST", RETENTION, retention(11, 11))


@pytest.mark.parametrize("text", ["x", "1.5", "", "2147483648", "-2147483649", "--5", "1e3", "%D9%A3"])
async def test_a_number_in_a_query_that_is_none_is_404(orders: RestNode, text: str) -> None:
    assert await orders.problem("POST", f"{ORDERS}/messageTTL?messageTTL={text}") == (404, "not_found")


async def test_a_ttl_is_removed_by_a_delete_that_names_one_and_by_a_set_that_names_none(orders: RestNode) -> None:
    for method, query in (("DELETE", "?messageTTL=0"), ("POST", "")):
        await orders.done("POST", f"{ORDERS}/messageTTL?messageTTL=%2B5")
        assert await orders.get(f"{ORDERS}/messageTTL") == 5
        await orders.done(method, f"{ORDERS}/messageTTL{query}")
        assert (await orders.send("GET", f"{ORDERS}/messageTTL")).content == b""


async def test_a_flag_in_a_query_that_is_none_is_refused_rather_than_taken_for_false(orders: RestNode) -> None:
    assert await orders.problem("POST", f"{RETENTION}?isGlobal=maybe", retention(1, 1)) == (400, "invalid_request")


async def test_each_subscription_has_a_rate_of_its_own(orders: RestNode) -> None:
    await orders.done("POST", RATE, {"dispatchThrottlingRateInMsg": 5})
    await orders.done("POST", f"{ORDERS}/odd+name/dispatchRate", {"dispatchThrottlingRateInMsg": 6})
    assert (await orders.get(RATE))["dispatchThrottlingRateInMsg"] == 5
    assert (await orders.get(f"{ORDERS}/odd%20name/dispatchRate"))["dispatchThrottlingRateInMsg"] == 6
    await orders.done("DELETE", RATE)
    assert (await orders.send("GET", RATE)).content == b""
    assert (await orders.send("GET", f"{ORDERS}/dispatchRate")).content == b""


async def test_a_subscriptions_rate_that_limits_nothing_is_passed_over(orders: RestNode) -> None:
    await orders.done("POST", RATE, {"dispatchThrottlingRateInMsg": 5})
    await orders.done("POST", RATE, {"dispatchThrottlingRateInMsg": 0, "dispatchThrottlingRateInByte": -1})
    assert (await orders.get(RATE))["dispatchThrottlingRateInMsg"] == 5


async def test_a_subscription_without_a_rate_has_that_of_all(orders: RestNode) -> None:
    await orders.done("POST", f"{ORDERS}/subscriptionDispatchRate", {"dispatchThrottlingRateInMsg": 7})
    assert (await orders.get(f"{RATE}?applied=true"))["dispatchThrottlingRateInMsg"] == 7
    assert (await orders.send("GET", RATE)).content == b""


@pytest.mark.parametrize("name", ["%00", "%20", "x" * 1025])
async def test_a_subscription_that_cannot_be_is_412(orders: RestNode, name: str) -> None:
    assert (await orders.problem("GET", f"{ORDERS}/{name}/dispatchRate"))[0] == 412


async def test_a_change_for_all_clusters_leaves_rates_of_subscriptions_alone(orders: RestNode) -> None:
    await orders.done("POST", RATE, {"dispatchThrottlingRateInMsg": 5})
    await orders.done("POST", f"{RETENTION}?isGlobal=true", retention(1, 1))
    assert (await orders.get(RATE))["dispatchThrottlingRateInMsg"] == 5


@pytest.mark.parametrize("scope", ["", "?isGlobal=true"])
async def test_subscription_types_tell_no_policies_from_none_of_them(orders: RestNode, scope: str) -> None:
    path = f"{ORDERS}/subscriptionTypesEnabled{scope}"
    assert (await orders.send("GET", path)).status_code == 204
    await orders.done("DELETE", path)
    assert await orders.get(path) == []
    await orders.done("DELETE", f"{ORDERS}/policies")
    assert (await orders.send("GET", path)).status_code == 204


async def test_an_undefined_schema_strategy_is_none(orders: RestNode) -> None:
    path = f"{ORDERS}/schemaCompatibilityStrategy"
    await orders.done("PUT", path, "BACKWARD")
    await orders.done("PUT", path, "UNDEFINED")
    assert (await orders.send("GET", path)).content == b""
    assert await orders.get(f"{path}?applied=true") == "FULL"


async def test_the_pause_is_set_without_a_body_and_removed_to_false(orders: RestNode) -> None:
    path = f"{ORDERS}/dispatcherPauseOnAckStatePersistent"
    native = "/api/v1/topics/public/default/orders"
    await orders.done("DELETE", path)
    assert (await orders.get(native))["policies"]["local"] is None
    await orders.done("POST", path, b"anything")
    assert await orders.get(path) is True
    await orders.done("DELETE", path)
    assert (await orders.get(native))["policies"]["local"] == {"dispatcherPauseOnAckStatePersistentEnabled": False}


async def test_clusters_are_those_of_the_settings_and_those_registered(orders: RestNode) -> None:
    assert (await refused(orders, "POST", REPLICATION, ["standalone", "west"])) == (403, "Invalid cluster id: west")
    await orders.done("PUT", "/admin/v2/clusters/west", {"serviceUrl": "http://west.example:8080"})
    await orders.done("POST", REPLICATION, ["standalone", "west"])


async def test_replication_is_refused_in_pulsars_order(orders: RestNode) -> None:
    assert (await refused(orders, "POST", REPLICATION, []))[1] == "ClusterIds should not be null or empty"
    assert (await refused(orders, "POST", REPLICATION, ["nosuch"]))[0] == 412
    assert (await refused(orders, "POST", f"{REPLICATION}?isGlobal=true", ["nosuch"]))[0] == 412
    assert (await refused(orders, "POST", f"{REPLICATION}?isGlobal=true", ["standalone"]))[0] == 412
    await orders.done("PUT", "/admin/v2/clusters/gone", {})
    await say_of_namespace(orders, "replicationClusters", ("standalone", "gone"))
    await orders.done("DELETE", "/admin/v2/clusters/gone")
    assert (await refused(orders, "POST", f"{REPLICATION}?isGlobal=true", ["nosuch"]))[0] == 412
    assert (await refused(orders, "POST", f"{REPLICATION}?isGlobal=true", ["gone"]))[0] == 403
    await orders.done("POST", f"{REPLICATION}?isGlobal=true", ["standalone"])


async def test_a_cluster_that_the_tenant_may_not_use_is_403(store: MemoryStore) -> None:
    async with rest_node(store, clusters=("east", "west")) as rest:
        await rest.done("PUT", ORDERS)
        await rest.done("POST", "/admin/v2/tenants/public", {"allowedClusters": ["standalone", "east"]})
        await rest.done("POST", REPLICATION, ["standalone", "east"])
        assert (await refused(rest, "POST", REPLICATION, ["standalone", "west"]))[0] == 403


async def test_applied_replication_looks_at_both_scopes(store: MemoryStore) -> None:
    async with rest_node(store, clusters=("east", "west")) as rest:
        await rest.done("PUT", ORDERS)
        assert await rest.get(f"{REPLICATION}?applied=true") == ["standalone"]
        await say_of_namespace(rest, "replicationClusters", ("standalone", "east", "west"))
        await rest.done("POST", f"{REPLICATION}?isGlobal=true", ["standalone", "east"])
        for scope in ("", "&isGlobal=true"):
            assert await rest.get(f"{REPLICATION}?applied=true{scope}") == ["standalone", "east"]
        await rest.done("POST", REPLICATION, ["standalone"])
        for scope in ("", "&isGlobal=true"):
            assert await rest.get(f"{REPLICATION}?applied=true{scope}") == ["standalone"]


async def test_a_shadow_topic_may_be_a_partition_that_there_is(orders: RestNode) -> None:
    await orders.done("PUT", "/admin/v2/persistent/public/default/logs/partitions", 2)
    await orders.done("PUT", f"{ORDERS}/shadowTopics", ["logs-partition-1"])
    assert (await refused(orders, "PUT", f"{ORDERS}/shadowTopics", ["logs-partition-2"]))[0] == 412


async def test_only_a_persistent_topic_has_shadow_topics(orders: RestNode) -> None:
    topic = ORDERS.replace("/persistent/", "/non-persistent/")
    await orders.done("PUT", topic)
    assert (await refused(orders, "PUT", f"{topic}/shadowTopics", ["orders"]))[0] == 412
    assert (await orders.send("GET", f"{topic}/shadowTopics")).status_code == 200


async def test_all_policies_are_deleted_in_both_scopes(orders: RestNode) -> None:
    for scope in ("", "?isGlobal=true"):
        await orders.done("POST", f"{RETENTION}{scope}", retention(5, 5))
    await orders.done("DELETE", f"{ORDERS}/policies")
    for scope in ("", "?isGlobal=true"):
        assert (await orders.send("GET", f"{RETENTION}{scope}")).content == b""
    assert (await orders.get("/api/v1/topics/public/default/orders"))["labels"] == {"team": "pay", "tier": "gold"}


@pytest.mark.parametrize("place", ["public/default/nosuch", "no/such/orders", "pulsar/broker:8080/orders"])
async def test_policies_of_what_is_not_there_are_deleted_without_a_word(rest: RestNode, place: str) -> None:
    await rest.done("DELETE", f"/admin/v2/persistent/{place}/policies")


async def test_the_answer_that_there_was_nothing_to_delete_says_up_to_where_that_was_seen(
    nodes: list[RestNode],
) -> None:
    await nodes[0].done("PUT", "/admin/v2/namespaces/public/lost")
    nodes[1].node.log.pause()
    ended = await nodes[0].done("DELETE", "/admin/v2/namespaces/public/lost")
    deletion = asyncio.create_task(nodes[1].done("DELETE", "/admin/v2/persistent/public/lost/orders/policies"))
    await asyncio.sleep(0.01)
    nodes[1].node.log.resume()
    assert (await deletion).headers["x-log-position"] == ended.headers["x-log-position"]
    tenants = (await nodes[0].send("GET", "/admin/v2/tenants")).headers["x-log-position"]
    seen = await nodes[1].done("DELETE", "/admin/v2/persistent/no/such/orders/policies", x_min_position=tenants)
    assert seen.headers["x-log-position"] == tenants


async def test_policies_are_not_deleted_by_the_name_of_a_partition(rest: RestNode) -> None:
    await rest.done("PUT", f"{ORDERS}/partitions", 2)
    await rest.done("POST", RETENTION, retention(5, 5))
    assert await rest.problem("DELETE", f"{ORDERS}-partition-0/policies") == (412, "invalid_name")
    assert await rest.get(RETENTION) == retention(5, 5)


async def test_a_brokers_heartbeat_topic_has_no_policies_set(rest: RestNode) -> None:
    heartbeat = "/admin/v2/persistent/pulsar/broker:8080/orders"
    await rest.done("PUT", "/admin/v2/tenants/pulsar")
    await rest.done("PUT", "/admin/v2/namespaces/pulsar/broker:8080")
    assert (await rest.problem("POST", f"{heartbeat}/retention", retention(5, 5)))[0] == 404
    await rest.done("PUT", heartbeat)
    for body in (retention(5, 5), retention(1, 0)):
        assert (await rest.problem("POST", f"{heartbeat}/retention", body))[0] == 409
    assert (await rest.problem("DELETE", f"{heartbeat}/retention"))[0] == 409
    assert (await rest.send("GET", f"{heartbeat}/retention")).status_code == 200
    await rest.done("DELETE", f"{heartbeat}/policies")


async def test_members_that_are_not_known_are_400_where_the_node_is_told_so(store: MemoryStore) -> None:
    body = {**retention(5, 5), "nosuch": 1}
    async with rest_node(store) as lenient:
        await lenient.done("PUT", ORDERS)
        await lenient.done("POST", RETENTION, body)
    async with rest_node(store, http_requests_fail_on_unknown_properties_enabled=True) as strict:
        answer = await strict.send("POST", RETENTION, body)
        assert answer.status_code == 400
        assert [each["path"] for each in answer.json()["violations"]] == ["nosuch"]


async def test_a_node_may_allow_smaller_messages_and_fewer_filters(store: MemoryStore) -> None:
    async with rest_node(store, max_message_size=100, entry_filters="a,b") as rest:
        await rest.done("PUT", ORDERS)
        assert (await rest.problem("POST", f"{ORDERS}/maxMessageSize", 101))[0] == 412
        assert (await rest.problem("POST", f"{ORDERS}/entryFilters", {"entryFilterNames": "c"}))[0] == 400
        await rest.done("POST", f"{ORDERS}/entryFilters", {"entryFilterNames": "b"})


async def test_a_whole_number_is_one_however_it_is_written_and_a_fraction_is_none(orders: RestNode) -> None:
    for body, number in (("7", 7), (b"8.0", 8), (b"1e3", 1000)):
        await orders.done("POST", f"{ORDERS}/maxProducers", body)
        assert await orders.get(f"{ORDERS}/maxProducers") == number
    for body in (1.9, b"99999999999999999999", True):
        assert await orders.problem("POST", f"{ORDERS}/maxProducers", body) == (400, "invalid_policy")
