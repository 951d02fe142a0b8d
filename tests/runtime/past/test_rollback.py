"""Rollback: a topic gets back what an earlier version of it said."""

from __future__ import annotations

import asyncio

import pytest

from tests.builders import NAMESPACE, TOPIC
from tests.memory_log import MemoryStore
from tests.runtime.histories import TTL, append_unreadable, back, etags, history
from tests.runtime.nodes import ORDERS, Node, held_up, running, turns
from topicfold import errors
from topicfold.model.events import Audit
from topicfold.model.labels import LabelRules
from topicfold.model.policy.changes import change_topic, remove_value, set_value
from topicfold.model.policy.limits import Limits
from topicfold.model.records import NamespaceRecord, TopicRecord


async def test_a_rollback_restores_all_but_grants_in_one_update(node: Node) -> None:
    old = TopicRecord(3, None, {"p": "1"}, {"team": "pay"}, {TTL: 5}, {TTL: 6}, {"ann": ("admin",)})
    new = TopicRecord(4, labels={"x": "y"}, grants={"eve": ("watch",)})
    await node.writing.create_topic(ORDERS, old, node.asked())
    await node.writing.grow_partitions(ORDERS, 4, node.asked())
    await node.writing.change_topic(ORDERS, lambda _: new, node.asked())
    with node.events() as appended:
        assert await back(node, (await etags(node))[0], actor="bob")
    found = node.reading.topic(ORDERS).record
    assert found == TopicRecord(4, None, old.properties, old.labels, old.local, old.global_, new.grants)
    assert len(appended) == 1
    newest, *_, oldest = (await history(node)).entries
    assert newest.made_by == (Audit("bob", f"rollback to version {oldest.version.offset}", ""),)


async def test_a_rollback_to_what_is_there_already_changes_nothing(orders: Node) -> None:
    await orders.label(team="pay")
    with orders.events() as appended:
        assert not await back(orders, (await etags(orders))[-1])
    assert appended == []


async def test_a_rollback_to_no_policies_changes_nothing_once_all_are_removed(orders: Node) -> None:
    for change in (set_value(TTL, 5), remove_value(TTL)):
        await orders.writing.change_topic(ORDERS, change_topic(str(ORDERS), change), orders.asked())
    assert not await back(orders, (await etags(orders))[-1])


async def test_a_version_that_was_just_made_on_another_node_is_found(store: MemoryStore) -> None:
    async with running(store) as one, running(store) as other:
        await one.writing.create_topic(ORDERS, TopicRecord(), one.asked())
        await other.caught_up()
        other.log.pause()
        await one.label(team="pay")
        going_back = asyncio.create_task(back(other, (await etags(one))[-1]))
        await turns()
        other.log.resume()
        assert not await going_back


async def test_a_node_that_has_not_folded_the_log_is_not_ready_to_go_back(orders: Node, store: MemoryStore) -> None:
    version = (await etags(orders))[0]
    async with held_up(store) as node:
        with pytest.raises(errors.NotReady, match="folded up to 0 of"):
            await back(node, version)


async def test_a_rollback_keeps_its_condition_and_is_applied_once_for_a_key(orders: Node) -> None:
    await orders.label(team="pay")
    await orders.label(team="ops")
    first, second, _ = await etags(orders)
    with pytest.raises(errors.PreconditionFailed):
        await back(orders, first, if_match=second)
    assert await back(orders, second, key="k", body=b"second")
    await orders.label(team="dev")
    assert await back(orders, second, key="k", body=b"second")
    assert orders.labels() == {"team": "dev"}


async def test_a_rollback_reaches_through_the_end_of_a_topic_and_never_revives_one(orders: Node) -> None:
    await orders.label(team="pay")
    version = (await etags(orders))[-1]
    await orders.writing.delete_topic(ORDERS, orders.asked())
    with pytest.raises(errors.TopicNotFound):
        await back(orders, version)
    end = (await etags(orders))[-1]
    await orders.writing.create_topic(ORDERS, TopicRecord(), orders.asked())
    with pytest.raises(errors.InvalidRequest, match="is the end of"):
        await back(orders, end)
    assert await back(orders, version)
    assert orders.labels() == {"team": "pay"}


async def test_a_version_that_cannot_be_read_is_no_place_to_go_back_to(orders: Node, store: MemoryStore) -> None:
    append_unreadable(orders, store)
    await orders.caught_up()
    offset = str(orders.engine.states[0].position - 1)
    await orders.writing.delete_topic(ORDERS, orders.asked())
    await orders.writing.create_topic(ORDERS, TopicRecord(), orders.asked())
    with pytest.raises(errors.Undecodable):
        await back(orders, offset)


async def test_who_may_not_change_global_policies_does_not_by_going_back(node: Node) -> None:
    await node.writing.create_topic(ORDERS, TopicRecord(global_={TTL: 5}), node.asked())
    await node.writing.change_topic(ORDERS, lambda _: TopicRecord(labels={"a": "b"}), node.asked())
    first = (await etags(node))[0]
    with pytest.raises(errors.Forbidden):
        await back(node, first, may_change_global=False)
    assert await back(node, first)
    await node.label(c="d")
    assert await back(node, first, may_change_global=False)


async def test_what_may_no_longer_be_set_is_not_gone_back_to(store: MemoryStore) -> None:
    async with running(store) as lax:
        size = {"maxMessageSize": 2000}
        for record in (TopicRecord(labels={"x": "y"}), TopicRecord(local=size), TopicRecord(global_=size)):
            await lax.writing.create_topic(ORDERS, record, lax.asked())
            await lax.writing.delete_topic(ORDERS, lax.asked())
        await lax.writing.create_topic(ORDERS, TopicRecord(), lax.asked())
        labelled, _, sized, _, sized_globally, *_ = await etags(lax)
    rules, limits = LabelRules(allowed_keys=frozenset({"team"})), Limits(max_message_bytes=1000)
    async with running(store, label_rules=rules, limits=limits) as strict:
        with pytest.raises(errors.InvalidLabels):
            await back(strict, labelled)
        for version in (sized, sized_globally):
            with pytest.raises(errors.PolicyUnmet):
                await back(strict, version)


async def test_what_is_there_now_may_stay_though_it_may_no_longer_be_set(store: MemoryStore) -> None:
    size = {"maxMessageSize": 2000}
    async with running(store) as lax:
        await lax.writing.create_topic(ORDERS, TopicRecord(labels={"x": "y"}, local=size, global_=size), lax.asked())
        await lax.label(team="pay")
        await lax.writing.remove_labels(ORDERS, ["team"], lax.asked())
        _, labelled, _ = await etags(lax)
    rules, limits = LabelRules(allowed_keys=frozenset({"team"})), Limits(max_message_bytes=1000)
    async with running(store, label_rules=rules, limits=limits) as strict:
        assert await back(strict, labelled, reason="it was right")
        assert strict.labels() == {"x": "y", "team": "pay"}
        newest, *_ = (await history(strict)).entries
        assert [each.reason for each in newest.made_by or ()] == ["it was right"]


async def test_a_rollback_gives_a_topic_no_more_labels_than_are_allowed_now(store: MemoryStore) -> None:
    async with running(store) as lax:
        await lax.writing.create_topic(ORDERS, TopicRecord(labels={"a": "1", "b": "1", "c": "1"}), lax.asked())
        await lax.writing.remove_labels(ORDERS, ["a"], lax.asked())
        three, two = await etags(lax)
        await lax.writing.remove_labels(ORDERS, ["b"], lax.asked())
    async with running(store, label_rules=LabelRules(max_labels=2)) as strict:
        with pytest.raises(errors.InvalidLabels, match="3 labels, at most 2"):
            await back(strict, three)
        assert await back(strict, two)


async def test_where_topics_have_no_policies_going_back_changes_none(store: MemoryStore) -> None:
    async with running(store, limits=Limits(policies_enabled=False)) as node:
        for record in (TopicRecord(local={TTL: 5}), TopicRecord(labels={"a": "b"}), TopicRecord()):
            await node.writing.create_topic(ORDERS, record, node.asked())
            await node.writing.delete_topic(ORDERS, node.asked())
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        with_policies, _, labelled, *_ = await etags(node)
        with pytest.raises(errors.PoliciesDisabled):
            await back(node, with_policies)
        assert await back(node, labelled)


async def test_a_rollback_that_makes_retention_and_quota_contradict_each_other_is_refused(orders: Node) -> None:
    retention = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10}
    quota = {"destination_storage": {"limitSize": 2**30, "limitTime": 0, "policy": "producer_exception"}}
    await orders.writing.change_topic(
        ORDERS, change_topic(TOPIC, set_value("retentionPolicies", retention)), orders.asked()
    )
    await orders.writing.change_topic(ORDERS, lambda old: TopicRecord(), orders.asked())
    version = (await etags(orders))[1]
    await orders.writing.change_namespace(
        NAMESPACE, lambda old: NamespaceRecord(policies={"backLogQuotaMap": quota}), orders.asked()
    )
    with pytest.raises(errors.PolicyUnmet):
        await back(orders, version)
