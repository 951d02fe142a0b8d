"""What values must fit beside themselves: looked at inside every update, whoever asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import MappingProxyType

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.nodes import ORDERS, Node, running, turns
from topicfold.errors import (
    Forbidden,
    InvalidRequest,
    LogGap,
    LogUnavailable,
    OperatorNeeded,
    PeerCluster,
    PolicyUnmet,
    Wait,
    WrongKind,
)
from topicfold.model.clusters import CLUSTERS, create_cluster, delete_cluster, set_peers
from topicfold.model.desired import replace_members
from topicfold.model.names import parse_topic
from topicfold.model.policy.changes import change_namespace, change_topic, set_value
from topicfold.model.records import EMPTY, NamespaceRecord, TenantRecord, TopicRecord
from topicfold.runtime.past.rollback import roll_back
from topicfold.runtime.policy_service import TopicPoliciesService

REPLICATION = "replicationClusters"
BOTH = ("standalone", "east")


async def register(node: Node, *names: str) -> None:
    """Register clusters."""
    for name in names:
        await node.writing.change_tenant(CLUSTERS, create_cluster(name, {}, "standalone"), node.asked())


async def replicate(node: Node, *clusters: str, is_global: bool = False, **asked: str) -> None:
    """Set the replication clusters of the topic `orders`."""
    updater = change_topic(str(ORDERS), set_value(REPLICATION, clusters), is_global=is_global)
    await node.writing.change_topic(ORDERS, updater, node.asked(**asked), stated=REPLICATION)


async def patched(node: Node) -> None:
    updater = replace_members(str(ORDERS), {"local": MappingProxyType({REPLICATION: BOTH})}, lambda: EMPTY)
    await node.writing.change_topic(ORDERS, updater, node.asked())


async def rolled_back(node: Node) -> None:
    version = (1, TopicRecord(local=MappingProxyType({REPLICATION: BOTH})))
    await roll_back(node.engine, node.writing, ORDERS, version, node.asked())


async def served(node: Node) -> None:
    await TopicPoliciesService(node.engine).update("orders", lambda old: {REPLICATION: list(BOTH)})


async def created(node: Node) -> None:
    record = TopicRecord(local=MappingProxyType({REPLICATION: BOTH}))
    await node.writing.create_topic(parse_topic("orders2"), record, node.asked())


async def recorded(node: Node) -> None:
    record = TopicRecord(local=MappingProxyType({REPLICATION: BOTH}))
    await node.writing.record_topic(parse_topic("orders2"), record, node.asked())


@pytest.mark.parametrize("change", [patched, rolled_back, served, created, recorded])
async def test_whoever_replaces_policies_is_held_to_the_conditions_of_each(
    orders: Node, change: Callable[[Node], Awaitable[None]]
) -> None:
    with pytest.raises(InvalidRequest, match=r"policies\.local\.replicationClusters: Invalid cluster id: east"):
        await change(orders)
    await register(orders, "east")
    await change(orders)


async def test_a_value_that_stays_as_it_is_may_stay_and_may_not_be_set_again(orders: Node) -> None:
    await register(orders, "east")
    await replicate(orders, *BOTH)
    await orders.writing.change_tenant(CLUSTERS, delete_cluster("east"), orders.asked())
    await TopicPoliciesService(orders.engine).update("orders", lambda old: old.update(maxMessageSize=7))
    with pytest.raises(Forbidden, match="Invalid cluster id: east"):
        await replicate(orders, *BOTH)


async def test_a_refusal_under_a_key_kills_the_attempt_before_it(orders: Node, store: MemoryStore) -> None:
    await register(orders, "east")
    async with running(store, 10**9) as other:
        orders.log.fate = orders.log.hold
        first = asyncio.create_task(replicate(orders, *BOTH, key="k"))
        await turns()
        await other.writing.change_tenant(CLUSTERS, delete_cluster("east"), other.asked())
        with pytest.raises(Forbidden):
            await replicate(other, *BOTH, key="k")
        orders.log.release()
        with pytest.raises(Forbidden):
            await first
        await other.caught_up()
        assert other.reading.topic(ORDERS).record == TopicRecord()


async def test_a_no_that_leans_on_another_partition_is_not_said_before_a_look_there() -> None:
    store = MemoryStore(partitions=8)
    async with running(store) as one, running(store, 10**9) as other:
        await one.writing.create_topic(ORDERS, TopicRecord(), one.asked())
        await other.caught_up()
        other.log.pause()
        await register(one, "east")
        asking = asyncio.create_task(replicate(other, *BOTH))
        await turns()
        assert not asking.done()
        other.log.resume()
        await asking


async def test_what_cannot_be_looked_at_is_unavailable_and_not_refused(orders: Node) -> None:
    orders.log.is_cut = True
    with pytest.raises(LogUnavailable):
        await replicate(orders, *BOTH)


async def test_a_cluster_and_its_peer_are_not_replicated_to_both(orders: Node) -> None:
    await register(orders, "east", "west")
    peers = set_peers("east", ("west",), ("standalone",))
    await orders.writing.change_tenant(CLUSTERS, peers, orders.asked())
    reason = r"east's peer-clusters \[west\] can't be part of replication-clusters \[standalone, east, west\]"
    with pytest.raises(PeerCluster, match=reason):
        await replicate(orders, "standalone", "east", "west")
    await replicate(orders, "standalone", "west")
    updater = change_namespace("public/default", set_value(REPLICATION, ("east", "west")))
    with pytest.raises(PeerCluster):
        await orders.writing.change_namespace("public/default", updater, orders.asked())


async def test_namespaces_and_tenants_are_held_to_the_clusters_there_are(orders: Node) -> None:
    record = NamespaceRecord(policies=MappingProxyType({REPLICATION: ("east",)}))
    with pytest.raises(Forbidden):
        await orders.writing.create_namespace("public/far", record, orders.asked())
    with pytest.raises(PolicyUnmet, match="Clusters do not exist: east"):
        await orders.writing.create_tenant("acme", TenantRecord(allowed_clusters=("east",)), orders.asked())


async def test_a_shadow_topic_that_who_asks_may_not_know_of_is_none(orders: Node) -> None:
    shadow = "persistent://public/default/shadow"
    await orders.writing.create_topic(parse_topic(shadow), TopicRecord(), orders.asked())
    updater = change_topic(str(ORDERS), set_value("shadowTopics", (shadow,)))
    blind = orders.asked()._replace(sees=lambda name: False)
    with pytest.raises(PolicyUnmet, match="not exists"):
        await orders.writing.change_topic(ORDERS, updater, blind, stated="shadowTopics")
    await orders.writing.change_topic(ORDERS, updater, orders.asked(), stated="shadowTopics")


async def test_a_new_topic_whose_retention_and_quota_contradict_each_other_is_refused(orders: Node) -> None:
    quota = {"limitSize": 10**9, "limitTime": 0, "policy": "producer_exception"}
    policies = MappingProxyType({
        "retentionPolicies": {"retentionTimeInMinutes": 1, "retentionSizeInMB": 1},
        "backLogQuotaMap": {"destination_storage": quota},
    })  # fmt: skip
    with pytest.raises(InvalidRequest, match=r"policies\.local: Retention Quota must exceed"):
        await orders.writing.create_topic(parse_topic("orders2"), TopicRecord(local=policies), orders.asked())


async def test_a_heartbeat_topic_has_no_policies_set_by_anybody(node: Node) -> None:
    heartbeat = parse_topic("persistent://pulsar/broker:8080/orders")
    await node.writing.create_tenant("pulsar", TenantRecord(), node.asked())
    await node.writing.create_namespace("pulsar/broker:8080", NamespaceRecord(), node.asked())
    await node.writing.create_topic(heartbeat, TopicRecord(), node.asked())
    with pytest.raises(WrongKind, match="heartbeat"):
        await TopicPoliciesService(node.engine).update(heartbeat, lambda old: {"maxMessageSize": 7})
    await node.writing.delete_topic(heartbeat, node.asked())
    everywhere = TopicRecord(global_=MappingProxyType({"maxMessageSize": 7}))
    with pytest.raises(WrongKind, match="heartbeat"):
        await node.writing.create_topic(heartbeat, everywhere, node.asked())


async def test_clusters_of_a_namespace_may_stay_as_they_are_and_may_not_be_set_again(orders: Node) -> None:
    def change(policy: str, value: object) -> Awaitable[object]:
        updater = change_namespace("public/default", set_value(policy, value))
        return orders.writing.change_namespace("public/default", updater, orders.asked(), stated=policy)

    await register(orders, "east")
    await change(REPLICATION, BOTH)
    await orders.writing.change_tenant(CLUSTERS, delete_cluster("east"), orders.asked())
    await change("messageTTLInSeconds", 7)
    with pytest.raises(Forbidden, match="Invalid cluster id: east"):
        await change(REPLICATION, BOTH)


async def test_a_topic_is_copied_everywhere_only_to_clusters_of_its_namespace(orders: Node) -> None:
    await register(orders, "east", "west")
    with pytest.raises(PolicyUnmet, match="replicates to fewer than two clusters: standalone"):
        await replicate(orders, *BOTH, is_global=True)
    updater = change_namespace("public/default", set_value(REPLICATION, BOTH))
    await orders.writing.change_namespace("public/default", updater, orders.asked())
    with pytest.raises(
        PolicyUnmet, match="Cluster west is not among the clusters of namespace public/default: standalone, east"
    ):
        await replicate(orders, "standalone", "west", is_global=True)
    await replicate(orders, *BOTH, is_global=True)


async def test_nothing_is_allowed_for_want_of_a_partition_that_says_what_is() -> None:
    store = MemoryStore(partitions=8)
    async with running(store) as node:
        where = node.engine.partition
        tenant = next(each for each in "abcdefgh" if where(each) not in (where(CLUSTERS), where(f"{each}/n")))
        topic = parse_topic(f"{tenant}/n/orders")
        await node.writing.create_tenant(tenant, TenantRecord(), node.asked())
        await node.writing.create_namespace(f"{tenant}/n", NamespaceRecord(), node.asked())
        await node.writing.create_topic(topic, TopicRecord(), node.asked())
        await register(node, "east")
        node.engine.reader.stop(LogGap("trimmed"), where(tenant))
        store.append(where(tenant), b"what may say which clusters are allowed")
        updater = change_topic(str(topic), set_value(REPLICATION, BOTH))
        with pytest.raises((OperatorNeeded, Wait)):
            await node.writing.change_topic(topic, updater, node.asked(0.5), stated=REPLICATION)
        assert node.reading.topic(topic).record == TopicRecord()
