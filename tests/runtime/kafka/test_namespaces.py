"""Namespaces and tenants that end take their Kafka topics along."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.kafka_nodes import KafkaNode, WilfulCluster, attached
from tests.runtime.nodes import running, turns
from topicfold.errors import (
    ClusterUnavailable,
    NamespaceNotFound,
    NotEmpty,
    OutcomeUnknown,
    PreconditionFailed,
)
from topicfold.model.events import AggregateKind
from topicfold.model.kafka.adoption import KafkaTopic
from topicfold.model.names import TopicName, parse_topic
from topicfold.model.records import NamespaceRecord, TenantRecord, TopicRecord
from topicfold.runtime.asking import Asked, Written
from topicfold.runtime.kafka.writing import _AT_ONCE


async def test_a_namespace_that_is_forced_to_end_takes_its_kafka_topics_along(kafka_node: KafkaNode) -> None:
    for name in ("a", "b", "non-persistent://public/default/c"):
        await kafka_node.create(name)
    await kafka_node.cluster.create("bystander", 1)
    await kafka_node.writing.delete_namespace("public/default", kafka_node.asked(), force=True)
    assert kafka_node.cluster.partitions() == {"bystander": 1}
    with pytest.raises(NamespaceNotFound):
        kafka_node.reading.namespace("public/default")


async def test_a_namespace_that_ends_without_force_must_be_empty(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders")
    with pytest.raises(NotEmpty) as refused:
        await kafka_node.writing.delete_namespace("public/default", kafka_node.asked())
    assert "deleted" not in refused.value.reason
    assert kafka_node.cluster.partitions() == {"orders": 1}


async def test_a_namespace_of_the_version_that_was_asked_for_ends_with_its_topics(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders")
    owner = kafka_node.engine.states[0].current(AggregateKind.NAMESPACE, "public/default")
    asked = kafka_node.asked(if_match=str(owner.etag))
    await kafka_node.writing.delete_namespace("public/default", asked, force=True)
    assert kafka_node.cluster.partitions() == {}


async def test_a_namespace_that_is_not_there_cannot_be_forced_to_end(kafka_node: KafkaNode) -> None:
    with pytest.raises(NamespaceNotFound):
        await kafka_node.writing.delete_namespace("public/none", kafka_node.asked(), force=True)


async def test_a_namespace_ends_with_the_topics_that_another_node_has_just_made(store: MemoryStore) -> None:
    cluster = WilfulCluster()
    async with attached(store, cluster) as here, attached(store, cluster, first_id=1 << 40) as there:
        there.log.pause()
        await here.writing.create_namespace("public/new", NamespaceRecord(), here.asked())
        await here.create("public/new/orders")
        ending = asyncio.create_task(there.writing.delete_namespace("public/new", there.asked(), force=True))
        await turns(50)
        there.log.resume()
        await ending
        assert cluster.partitions() == {}


@pytest.mark.parametrize("condition", [{"if_match": "old.1"}, {"if_none_match": True}])
async def test_a_namespace_of_another_version_keeps_its_topics(
    kafka_node: KafkaNode, condition: dict[str, Any]
) -> None:
    await kafka_node.create("orders")
    with pytest.raises(PreconditionFailed):
        await kafka_node.writing.delete_namespace("public/default", kafka_node.asked(**condition), force=True)
    assert kafka_node.cluster.partitions() == {"orders": 1}


async def test_a_namespace_that_ends_half_way_says_how_far_it_came_and_goes_on(kafka_node: KafkaNode) -> None:
    for name in ("a", "b", "c"):
        await kafka_node.create(name)
    delete = kafka_node.cluster.delete

    async def refuse_b(name: str) -> None:
        if name == "b":
            raise ClusterUnavailable("not now")
        await delete(name)

    kafka_node.cluster.delete = refuse_b
    asked = kafka_node.asked(key="k", method="DELETE", actor="a")
    with pytest.raises(OutcomeUnknown, match="of its 3 topics, 2 were"):
        await kafka_node.writing.delete_namespace("public/default", asked, force=True)
    kafka_node.cluster.delete = delete
    await kafka_node.writing.delete_namespace("public/default", asked, force=True)
    await kafka_node.writing.delete_namespace("public/default", asked._replace(deadline=asked.deadline + 5), force=True)
    assert kafka_node.cluster.partitions() == {}


async def test_a_namespace_of_many_topics_ends_with_a_few_of_them_at_a_time(kafka_node: KafkaNode) -> None:
    for number in range(60):
        await kafka_node.create(f"t{number}")
    delete, before = kafka_node.cluster.delete, len(asyncio.all_tasks())
    tasks: list[int] = []

    async def counted(name: str) -> None:
        tasks.append(len(asyncio.all_tasks()) - before)
        await delete(name)

    kafka_node.cluster.delete = counted
    await kafka_node.writing.delete_namespace("public/default", kafka_node.asked(), force=True)
    assert len(tasks) == 60
    assert max(tasks) <= 20


async def test_where_a_topic_cannot_be_ended_the_others_that_are_not_begun_keep_their_messages(
    kafka_node: KafkaNode,
) -> None:
    for number in range(60):
        await kafka_node.create(f"t{number}")

    async def refuse(name: str) -> None:
        raise ClusterUnavailable("not now")

    kafka_node.cluster.delete = refuse
    with pytest.raises(OutcomeUnknown, match="of its 60 topics, 0 were"):
        await kafka_node.writing.delete_namespace("public/default", kafka_node.asked(), force=True)
    table = kafka_node.engine.tables.of("public/default")
    assert table is not None
    assert len(table.ending) <= 20


async def test_where_kafka_does_not_allow_the_end_of_a_topic_it_is_said_how_it_would(kafka_node: KafkaNode) -> None:
    await kafka_node.writing.create_tenant("acme", TenantRecord(), kafka_node.asked())
    await kafka_node.writing.create_namespace("acme/pay", NamespaceRecord(), kafka_node.asked())
    await kafka_node.create("acme/pay/orders")
    kafka_node.cluster.refuses_deletion = True
    for end in (
        kafka_node.writing.delete_namespace("acme/pay", kafka_node.asked(), force=True),
        kafka_node.writing.delete_tenant("acme", kafka_node.asked(), force=True),
    ):
        with pytest.raises(OutcomeUnknown, match="not allowed") as told:
            await end
        assert told.value.hint == "let us. Delete it again: what was deleted stays deleted."


@pytest.mark.parametrize("is_deleted", [True, False])
async def test_a_namespace_is_not_said_to_be_as_it_was_where_a_topic_of_it_is_ended_or_may_be(
    kafka_node: KafkaNode, monkeypatch: pytest.MonkeyPatch, is_deleted: bool
) -> None:
    for name in ("a", "b"):
        await kafka_node.create(name)
    delete, topic = kafka_node.cluster.delete, kafka_node.cluster.topic

    async def delete_perhaps(name: str) -> None:
        if not is_deleted:
            raise ClusterUnavailable("not now")
        await delete(name)

    async def look(name: str) -> KafkaTopic | None:
        if name == "a":
            raise ClusterUnavailable("not now")
        return await topic(name)

    monkeypatch.setattr(kafka_node.cluster, "delete", delete_perhaps)
    monkeypatch.setattr(kafka_node.cluster, "topic", look)
    with pytest.raises(OutcomeUnknown, match=f"of its 2 topics, {int(is_deleted)} were"):
        await kafka_node.writing.delete_namespace("public/default", kafka_node.asked(), force=True)


async def test_a_namespace_whose_cluster_is_away_does_not_try_topic_after_topic(kafka_node: KafkaNode) -> None:
    names = {f"t{number}" for number in range(_AT_ONCE + 4)}
    for name in names:
        await kafka_node.create(name)
    tried: list[str] = []

    async def look(name: str) -> KafkaTopic | None:
        tried.append(name)
        await asyncio.sleep(0)
        raise ClusterUnavailable("not now")

    kafka_node.cluster.topic = look
    with pytest.raises(ClusterUnavailable):
        await kafka_node.writing.delete_namespace("public/default", kafka_node.asked(), force=True)
    assert len(tried) == _AT_ONCE
    assert kafka_node.cluster.partitions().keys() == names


async def test_topics_that_are_ended_count_though_their_end_was_not_told(kafka_node: KafkaNode) -> None:
    for name in ("a", "b"):
        await kafka_node.create(name)
    delete_topic = kafka_node.writing.delete_topic

    async def delete_untold(name: TopicName, asked: Asked) -> Written:
        if name.local == "a":
            await delete_topic(name, asked)
        raise OutcomeUnknown("the answer was lost", operation="0-00")

    kafka_node.writing.delete_topic = delete_untold  # type: ignore[method-assign]
    with pytest.raises(OutcomeUnknown, match="of its 2 topics, 1 were") as failed:
        await kafka_node.writing.delete_namespace("public/default", kafka_node.asked(), force=True)
    assert failed.value.hint == "Delete it again: what was deleted stays deleted."


async def test_a_namespace_ended_under_a_key_is_not_ended_again_under_it(kafka_node: KafkaNode) -> None:
    asked = kafka_node.asked(key="k", method="DELETE", actor="a")
    await kafka_node.writing.delete_namespace("public/default", asked, force=True)
    await kafka_node.writing.create_namespace("public/default", NamespaceRecord(), kafka_node.asked())
    await kafka_node.create("orders")
    await kafka_node.writing.delete_namespace("public/default", asked, force=True)
    assert kafka_node.cluster.partitions() == {"orders": 1}


async def test_a_topic_made_while_its_namespace_ends_is_not_lost_sight_of(store: MemoryStore) -> None:
    cluster = WilfulCluster()
    async with attached(store, cluster) as node, running(store) as plain:
        await node.create("orders")
        delete = cluster.delete

        async def make_meanwhile(name: str) -> None:
            await delete(name)
            await plain.writing.create_topic(parse_topic("late"), TopicRecord(), plain.asked())

        cluster.delete = make_meanwhile
        with pytest.raises(NotEmpty):
            await node.writing.delete_namespace("public/default", node.asked(), force=True)
        assert (node.record("orders"), node.record("late")) == (None, TopicRecord())


async def test_a_tenant_that_is_forced_to_end_takes_its_kafka_topics_along(kafka_node: KafkaNode) -> None:
    await kafka_node.writing.create_tenant("acme", TenantRecord(), kafka_node.asked())
    await kafka_node.writing.create_namespace("acme/pay", NamespaceRecord(), kafka_node.asked())
    await kafka_node.create("acme/pay/orders")
    await kafka_node.writing.delete_tenant("acme", kafka_node.asked(), force=True)
    assert kafka_node.cluster.partitions() == {}
