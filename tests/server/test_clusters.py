"""Clusters under `/admin/v2`: the one that is served, and those that are registered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.nodes import turns
from tests.server.rest import RestNode, rest_node
from topicfold.model.clusters import CLUSTERS, MAX_CLUSTERS

EU = "/admin/v2/clusters/eu"
ADDRESSES = {"serviceUrl": "http://eu:8080", "brokerServiceUrl": "pulsar://eu-1:6650,eu-2:6650"}


async def test_the_cluster_that_is_served_is_there_from_the_start(rest: RestNode) -> None:
    assert await rest.get("/admin/v2/clusters") == ["standalone"]
    assert await rest.get("/admin/v2/clusters/standalone") == {}
    assert await rest.get("/admin/v2/brokers/configuration/runtime") == {"clusterName": "standalone"}


async def test_a_cluster_is_registered_changed_and_forgotten(rest: RestNode) -> None:
    await rest.done("PUT", EU, {**ADDRESSES, "brokerClientTlsTrustStorePassword": "secret", "peerClusterNames": []})
    assert await rest.get("/admin/v2/clusters") == ["eu", "standalone"]
    assert await rest.get(EU) == ADDRESSES
    assert await rest.problem("PUT", EU, ADDRESSES) == (409, "already_exists")
    await rest.done("POST", EU, {"serviceUrl": "http://eu:9090"})
    assert await rest.get(EU) == {"serviceUrl": "http://eu:9090"}
    await rest.done("DELETE", EU)
    for method, body in (("GET", None), ("POST", ADDRESSES), ("DELETE", None)):
        assert await rest.problem(method, EU, body) == (404, "not_found")


async def test_an_address_that_is_empty_is_none(rest: RestNode) -> None:
    others = {"serviceUrlTls": "", "brokerServiceUrlTls": "", "proxyServiceUrl": "", "peerClusterNames": None}
    await rest.done("PUT", EU, ADDRESSES | others)
    assert await rest.get(EU) == ADDRESSES
    await rest.done("POST", EU, others)
    assert await rest.get(EU) == {}


async def test_a_peer_that_is_empty_is_none_and_takes_none_away(rest: RestNode) -> None:
    await rest.done("PUT", EU, ADDRESSES | {"peerClusterNames": [""]})
    assert await rest.get(EU) == ADDRESSES
    await rest.done("POST", EU, {"peerClusterNames": ["", "standalone"]})
    assert await rest.problem("POST", f"{EU}/peers", [""]) == (412, "invalid_name")
    assert await rest.get(EU) == {"peerClusterNames": ["standalone"]}


async def test_the_cluster_that_is_served_can_have_addresses_and_cannot_go(rest: RestNode) -> None:
    assert await rest.problem("PUT", "/admin/v2/clusters/standalone", ADDRESSES) == (409, "already_exists")
    await rest.done("POST", "/admin/v2/clusters/standalone", ADDRESSES)
    assert await rest.get("/admin/v2/clusters/standalone") == ADDRESSES
    assert await rest.problem("DELETE", "/admin/v2/clusters/standalone") == (412, "policy_unmet")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (None, ""),
        ([], ""),
        ({"serviceUrl": "eu:8080"}, "serviceUrl"),
        ({"serviceUrl": "https://eu:8080"}, "serviceUrl"),
        ({"brokerServiceUrl": 5}, "brokerServiceUrl"),
        ({"serviceUrlTls": "https://"}, "serviceUrlTls"),
        ({"proxyServiceUrl": "pulsar://eu\n"}, "proxyServiceUrl"),
        ({"brokerServiceUrlTls": f"pulsar+ssl://{'e' * 2000}"}, "brokerServiceUrlTls"),
    ],
)
async def test_what_is_no_address_is_400(rest: RestNode, body: Any, path: str) -> None:
    answer = await rest.send("PUT", EU, body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert path in answer.json()["reason"]
    assert await rest.get("/admin/v2/clusters") == ["standalone"]


async def test_a_cluster_that_one_node_registered_is_known_to_all_at_once(nodes: list[RestNode]) -> None:
    late = nodes[1].node.log
    late.pause()
    await nodes[0].done("PUT", EU, ADDRESSES)
    asking = asyncio.create_task(nodes[1].send("PUT", "/admin/v2/tenants/acme", {"allowedClusters": ["eu"]}))
    await turns(100)
    assert not asking.done()
    late.resume()
    assert (await asking).status_code == 204


async def test_a_cluster_that_one_node_allowed_is_allowed_on_all_at_once(nodes: list[RestNode]) -> None:
    await nodes[0].done("PUT", EU, ADDRESSES)
    await nodes[0].done("PUT", "/admin/v2/tenants/acme", {"allowedClusters": ["standalone"]})
    await nodes[1].done("PUT", "/admin/v2/namespaces/acme/pay")
    late = nodes[1].node.log
    late.pause()
    await nodes[0].done("POST", "/admin/v2/tenants/acme", {"allowedClusters": ["eu"]})
    asking = asyncio.create_task(nodes[1].send("POST", "/admin/v2/namespaces/acme/pay/replication", ["eu"]))
    await turns(100)
    assert not asking.done()
    late.resume()
    assert (await asking).status_code == 204


async def test_what_cannot_be_seen_is_not_called_unknown(store: MemoryStore) -> None:
    async with rest_node(store, request_timeout_seconds=0.2) as rest:
        rest.node.log.is_cut = True
        path = "/admin/v2/namespaces/public/default/replication"
        assert await rest.problem("POST", path, ["eu"]) == (503, "log_unavailable")


async def test_where_clusters_are_kept_is_no_tenant(rest: RestNode) -> None:
    await rest.done("PUT", EU, ADDRESSES)
    assert await rest.get("/admin/v2/tenants") == ["public"]
    for path in (f"/admin/v2/tenants/{CLUSTERS}", f"/admin/v2/namespaces/{CLUSTERS}"):
        assert await rest.problem("GET", path) == (412, "invalid_name")
    assert await rest.problem("DELETE", f"/admin/v2/tenants/{CLUSTERS}?force=true") == (412, "invalid_name")


async def test_clusters_survive_a_restart(store: MemoryStore) -> None:
    async with rest_node(store) as rest:
        await rest.done("PUT", EU, ADDRESSES)
    async with rest_node(store, 10**9) as rest:
        assert await rest.get(EU) == ADDRESSES


async def test_clusters_may_be_named_by_settings(store: MemoryStore) -> None:
    async with rest_node(store, cluster_name="home", clusters=("eu",)) as rest:
        assert await rest.get("/admin/v2/clusters") == ["eu", "home"]
        await rest.done("POST", "/admin/v2/namespaces/public/default/replication", ["home", "eu"])


async def test_there_is_an_end_to_clusters(rest: RestNode) -> None:
    for number in range(MAX_CLUSTERS):
        await rest.done("PUT", f"/admin/v2/clusters/c{number}", {})
    assert await rest.problem("PUT", EU, ADDRESSES) == (413, "too_large")
    await rest.done("POST", "/admin/v2/clusters/c0", ADDRESSES)


async def test_a_tenant_may_be_allowed_known_clusters_only(rest: RestNode) -> None:
    answer = await rest.send("PUT", "/admin/v2/tenants/acme", {"allowedClusters": ["standalone", "mars"]})
    assert (answer.status_code, answer.json()["reason"]) == (412, "Clusters do not exist: mars")
    await rest.done("PUT", "/admin/v2/tenants/acme", {"allowedClusters": ["standalone"]})
    assert await rest.problem("POST", "/admin/v2/tenants/acme", {"allowedClusters": ["mars"]}) == (412, "policy_unmet")
    assert await rest.problem("POST", "/admin/v2/tenants/acme", {"adminRoles": [" ann"]}) == (412, "policy_unmet")


async def test_clusters_have_peers_that_are_clusters_too(rest: RestNode) -> None:
    for name in ("eu", "us"):
        await rest.done("PUT", f"/admin/v2/clusters/{name}", ADDRESSES)
    peers = f"{EU}/peers"
    assert await rest.get(peers) == []
    await rest.done("POST", peers, ["us", "standalone", "us"])
    assert await rest.get(peers) == ["us", "standalone"]
    assert await rest.get(EU) == {**ADDRESSES, "peerClusterNames": ["us", "standalone"]}
    for wrong, reason in (
        (["eu"], "eu itself can't be part of peer-list"),
        (["mars"], "Peer cluster mars does not exist"),
    ):
        answer = await rest.send("POST", peers, wrong)
        assert (answer.status_code, answer.json()["reason"]) == (412, reason)
    assert await rest.problem("POST", peers, "us") == (400, "invalid_request")
    assert await rest.problem("POST", "/admin/v2/clusters/mars/peers", []) == (404, "not_found")
    assert await rest.problem("GET", "/admin/v2/clusters/mars/peers") == (404, "not_found")
    await rest.done("POST", peers, b"")
    assert await rest.get(EU) == ADDRESSES


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("PUT", "", ADDRESSES), ("POST", "", ADDRESSES), ("POST", "/peers", ["standalone"]), ("DELETE", "", None)],
)
async def test_a_key_used_for_one_cluster_is_refused_for_another_and_not_answered_by_what_became_of_that(
    rest: RestNode, method: str, path: str, body: Any
) -> None:
    us = "/admin/v2/clusters/us"
    for each in (EU, us) if method != "PUT" else ():
        await rest.done("PUT", each, {})
    before = await rest.get("/admin/v2/clusters")
    await rest.done(method, f"{EU}{path}", body, idempotency_key="k")
    other = (method, f"{us}{path}", body)
    assert await rest.problem(*other, idempotency_key="k") == (422, "idempotency_key_reused")
    assert ("us" in await rest.get("/admin/v2/clusters")) == ("us" in before)
    await rest.done(*other, idempotency_key="another")


async def test_replication_to_a_cluster_and_its_peer_is_409_in_pulsars_words(rest: RestNode) -> None:
    await rest.done("PUT", "/admin/v2/clusters/us", ADDRESSES)
    await rest.done("PUT", EU, {**ADDRESSES, "peerClusterNames": ["us"]})
    await rest.done("PUT", "/admin/v2/persistent/public/default/orders")
    for path in ("persistent/public/default/orders/replication", "namespaces/public/default/replication"):
        answer = await rest.send("POST", f"/admin/v2/{path}", ["standalone", "eu", "us"])
        assert (answer.status_code, answer.json()["code"]) == (409, "peer_cluster")
        assert answer.json()["reason"] == (
            "eu's peer-clusters [us] can't be part of replication-clusters [standalone, eu, us]"
        )
