"""Listeners who register before the log is folded: told what there is then, of nothing that was before."""

from __future__ import annotations

import pytest

from tests.builders import NAMESPACE
from tests.memory_log import MemoryStore
from tests.runtime.listening import GLOBAL, LOCAL, TTL, Told, telling, ttl
from tests.runtime.nodes import ORDERS, WilfulLog, running, turns
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.runtime.engine import Engine
from topicfold.runtime.policy_service import TopicPoliciesService


async def test_until_the_log_is_folded_nothing_is_told_and_then_the_newest(store: MemoryStore) -> None:
    async with running(store) as node:
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        before = TopicPoliciesService(node.engine)
        for seconds in (1, 2, 3):
            await ttl(before, seconds)
    told, engine = await _registered_before_the_fold(store)
    assert told.seen == [(LOCAL, 3)]
    await engine.stop()


async def test_what_was_deleted_before_the_log_is_folded_is_not_told_at_all(store: MemoryStore) -> None:
    async with running(store) as node:
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        before = TopicPoliciesService(node.engine)
        await ttl(before, 1)
        await before.delete("orders")
        await ttl(before, 2, is_global=True)
    told, engine = await _registered_before_the_fold(store)
    assert told.seen == [(GLOBAL, 2)]
    await engine.stop()


@pytest.mark.parametrize("ends_with_its_namespace", [False, True])
async def test_what_ended_before_the_node_started_ends_no_listening(
    store: MemoryStore, ends_with_its_namespace: bool
) -> None:
    async with running(store) as node:
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        if ends_with_its_namespace:
            await node.writing.delete_namespace(NAMESPACE, node.asked(), force=True)
            await node.writing.create_namespace(NAMESPACE, NamespaceRecord(), node.asked())
        else:
            await node.writing.delete_topic(ORDERS, node.asked())
        await node.writing.create_topic(ORDERS, TopicRecord(local={TTL: 1}), node.asked())
    told, engine = await _registered_before_the_fold(store)
    assert told.seen == [(LOCAL, 1)]
    service = TopicPoliciesService(engine)
    await ttl(service, 2)
    assert told.seen == [(LOCAL, 1), (LOCAL, 2)]
    await engine.stop()


async def test_without_replay_what_was_before_the_node_started_is_no_news(store: MemoryStore) -> None:
    async with running(store) as node:
        await node.writing.create_topic(ORDERS, TopicRecord(local={TTL: 1}), node.asked())
    told, engine = await _registered_before_the_fold(store, replay=False)
    assert told.seen == []
    await ttl(TopicPoliciesService(engine), 2)
    assert told.seen == [(LOCAL, 2)]
    await engine.stop()


async def _registered_before_the_fold(store: MemoryStore, *, replay: bool = True) -> tuple[Told, Engine]:
    """Start a node on `store`, register while nothing is folded, and return once it has folded everything."""
    log, told = WilfulLog(store), Told()
    log.pause()
    engine = await Engine.start(log)
    TopicPoliciesService(engine).register_listener("orders", told, replay=replay)
    await turns()
    assert told.seen == []
    log.resume()
    await engine.readiness.wait([0], 5)
    await turns()
    return told, engine


@pytest.mark.parametrize("is_stopped", [True, False])
async def test_who_waits_for_the_fold_waits_no_more_when_told_to_stop(store: MemoryStore, is_stopped: bool) -> None:
    async with running(store):
        pass
    log, told = WilfulLog(store), Told()
    log.pause()
    engine = await Engine.start(log)
    service = TopicPoliciesService(engine)
    service.register_listener("orders", told)
    await turns()
    assert telling() == 1
    await service.stop() if is_stopped else service.unregister_listener("orders", told)
    await turns()
    assert telling() == 0
    await engine.stop()
