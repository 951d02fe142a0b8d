"""Topics that are made and ended in Kafka too: nothing half done, whatever dies, or comes, in between."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.kafka_nodes import Crash, KafkaNode, WilfulCluster, attached, id_of
from tests.runtime.nodes import ORDERS, running, turns
from topicfold.errors import (
    ClusterRefused,
    ClusterUnavailable,
    OutcomeUnknown,
    Overloaded,
    TopicNotFound,
)
from topicfold.model.kafka.adoption import KafkaTopic
from topicfold.model.names import TopicName, parse_topic
from topicfold.model.records import Pending, Step, TopicRecord
from topicfold.runtime.asking import Written
from topicfold.runtime.kafka import writing as kafka_writing
from topicfold.runtime.kafka.repair import KafkaRepair
from topicfold.runtime.writing.writing import Writing


async def test_an_outage_after_the_log_decided_is_an_unknown_outcome_and_the_same_key_settles_it(
    kafka_node: KafkaNode,
) -> None:
    kafka_node.cluster.goes_away_at = {"create"}
    asked = kafka_node.asked(key="k", method="PUT", actor="a")
    with pytest.raises(OutcomeUnknown, match="Kafka topic has not followed") as unknown:
        await kafka_node.writing.create_topic(ORDERS, TopicRecord(), asked)
    assert kafka_node.pending("orders") == Pending(Step.MAKE)
    kafka_node.cluster.heal()
    written = await kafka_node.writing.create_topic(ORDERS, TopicRecord(), asked)
    assert written.operation == unknown.value.values["operation"]
    assert kafka_node.cluster.partitions() == {"orders": 1}


async def test_a_deletion_cut_off_in_the_middle_is_finished_under_the_same_key(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders", 2)
    kafka_node.cluster.goes_away_at = {"delete"}
    asked = kafka_node.asked(key="k", method="DELETE", actor="a")
    with pytest.raises(OutcomeUnknown):
        await kafka_node.writing.delete_topic(ORDERS, asked)
    kafka_node.cluster.heal()
    await kafka_node.writing.delete_topic(ORDERS, asked)
    assert (kafka_node.record("orders"), kafka_node.cluster.partitions()) == (None, {})
    await kafka_node.writing.delete_topic(ORDERS, asked)


async def test_a_deletion_that_kafka_does_not_allow_is_not_said_to_be_done(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders")
    kafka_node.cluster.refuses_deletion = True
    with pytest.raises(OutcomeUnknown, match="not allowed") as told:
        await kafka_node.writing.delete_topic(ORDERS, kafka_node.asked())
    assert told.value.hint.startswith("let us. GET /api/v1/operations/")
    assert kafka_node.pending("orders") == Pending(Step.END, await id_of(kafka_node, "orders"))


@pytest.mark.parametrize("when", ["crashes_before", "crashes_after"])
async def test_a_crash_while_a_topic_is_made_leaves_a_note_that_another_node_finishes(
    store: MemoryStore, when: str
) -> None:
    cluster = WilfulCluster()
    async with attached(store, cluster) as node:
        setattr(cluster, when, {"create"})
        with pytest.raises(Crash):
            await node.create("orders", 3)
    cluster.heal()
    async with attached(store, cluster) as other:
        await other.writing.finish(ORDERS, Step.MAKE)
        assert other.record("orders") == TopicRecord(3)
    assert cluster.partitions() == {"orders": 3}


@pytest.mark.parametrize("is_anothers", [False, True])
async def test_a_kafka_topic_whose_record_ended_while_it_was_made_goes_unless_another_record_stands_for_it(
    kafka_node: KafkaNode, monkeypatch: pytest.MonkeyPatch, is_anothers: bool
) -> None:
    create, knows_no_kafka = kafka_node.cluster.create, Writing(kafka_node.engine)

    async def create_slowly(name: str, partitions: int) -> None:
        await create(name, partitions)
        await knows_no_kafka.delete_topic(ORDERS, kafka_node.asked())
        if is_anothers:
            twin = TopicRecord(kafka_name="orders")
            await knows_no_kafka.record_topic(parse_topic("twin"), twin, kafka_node.asked())

    monkeypatch.setattr(kafka_node.cluster, "create", create_slowly)
    await kafka_node.create("orders")
    assert kafka_node.cluster.partitions() == ({"orders": 1} if is_anothers else {})


async def test_a_kafka_topic_that_was_there_outlives_a_record_that_ended_while_it_was_taken(
    kafka_node: KafkaNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, knows_no_kafka = kafka_node.cluster.topic, Writing(kafka_node.engine)
    await kafka_node.cluster.create("orders", 1)

    async def look_slowly(name: str) -> KafkaTopic | None:
        if kafka_node.record("orders"):
            await knows_no_kafka.delete_topic(ORDERS, kafka_node.asked())
        return await topic(name)

    monkeypatch.setattr(kafka_node.cluster, "topic", look_slowly)
    await kafka_node.create("orders")
    assert (kafka_node.record("orders"), kafka_node.cluster.partitions()) == (None, {"orders": 1})


async def test_a_kafka_topic_that_another_record_stands_for_by_now_is_not_made_again(kafka_node: KafkaNode) -> None:
    kafka_node.cluster.crashes_before = {"create"}
    with pytest.raises(Crash):
        await kafka_node.create("orders")
    kafka_node.cluster.heal()
    twin = TopicRecord(kafka_name="orders")
    await Writing(kafka_node.engine).record_topic(parse_topic("twin"), twin, kafka_node.asked())
    await kafka_node.writing.finish(ORDERS, Step.MAKE)
    assert (kafka_node.pending("orders"), kafka_node.cluster.partitions()) == (None, {})


async def test_a_topic_that_waits_for_its_end_is_not_made_by_who_would_finish_making_it(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders")
    kafka_node.cluster.crashes_after = {"delete"}
    with pytest.raises(Crash):
        await kafka_node.writing.delete_topic(ORDERS, kafka_node.asked())
    kafka_node.cluster.heal()
    ending = kafka_node.pending("orders")
    assert await kafka_node.writing.finish(ORDERS, Step.MAKE) is None
    assert (kafka_node.pending("orders"), kafka_node.cluster.partitions()) == (ending, {})


async def test_who_cannot_delete_a_topic_that_others_keep_making_anew_is_told_so(
    kafka_node: KafkaNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, knows_no_kafka, names = kafka_node.cluster.topic, Writing(kafka_node.engine), count()
    await kafka_node.create("orders")

    async def look_while_it_is_made_anew(name: str) -> KafkaTopic | None:
        await knows_no_kafka.delete_topic(ORDERS, kafka_node.asked())
        another = TopicRecord(kafka_name=f"orders-{next(names)}")
        await knows_no_kafka.record_topic(ORDERS, another, kafka_node.asked())
        return await topic(name)

    monkeypatch.setattr(kafka_node.cluster, "topic", look_while_it_is_made_anew)
    with pytest.raises(Overloaded, match="keeps being created and deleted by others"):
        await kafka_node.writing.delete_topic(ORDERS, kafka_node.asked())


async def test_a_topic_that_others_are_making_anew_is_not_ended_for_the_one_before_it(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_writing, "PAUSE_SECONDS", 0.001)
    cluster, making, is_asked = WilfulCluster(), list[asyncio.Task[None]](), asyncio.Event()
    create = cluster.create
    async with attached(store, cluster) as here, attached(store, cluster, first_id=1 << 40) as there:
        look = here.writing._kafka_topics.look

        async def create_later(name: str, partitions: int) -> None:
            is_asked.set()
            await turns(50)
            assert here.pending("orders") == Pending(Step.MAKE)
            await create(name, partitions)

        async def look_before_it_is_made_anew(name: str) -> KafkaTopic | None:
            found = await look(name)
            if not making:
                await there.writing.delete_topic(ORDERS, there.asked())
                monkeypatch.setattr(cluster, "create", create_later)
                making.append(asyncio.create_task(there.create("orders")))
                await is_asked.wait()
                await here.caught_up()
            return found

        cluster.crashes_before = {"create"}
        with pytest.raises(Crash):
            await here.create("orders")
        cluster.heal()
        monkeypatch.setattr(here.writing._kafka_topics, "look", look_before_it_is_made_anew)
        await here.writing.delete_topic(ORDERS, here.asked())
        await making[0]
        assert (here.record("orders"), cluster.partitions()) == (None, {})


@pytest.mark.parametrize("refused", ["create", "grow"])
async def test_a_topic_that_kafka_does_not_make_after_all_can_be_deleted(
    kafka_node: KafkaNode, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    async def refuse(name: str, partitions: int) -> None:
        raise ClusterRefused("its policy forbids it", kafka_topic=name)

    monkeypatch.setattr(kafka_writing, "PAUSE_SECONDS", 0)
    if refused == "grow":
        await kafka_node.create("orders", 2)
    monkeypatch.setattr(kafka_node.cluster, refused, refuse)
    writing, asked = kafka_node.writing, kafka_node.asked()
    with pytest.raises(OutcomeUnknown, match="its policy forbids it"):
        await (
            writing.grow_partitions(ORDERS, 3, asked)
            if refused == "grow"
            else writing.create_topic(ORDERS, TopicRecord(3), asked)
        )
    await kafka_node.writing.delete_topic(ORDERS, kafka_node.asked())
    assert (kafka_node.record("orders"), kafka_node.cluster.partitions()) == (None, {})


@pytest.mark.parametrize("when", ["crashes_before", "crashes_after"])
async def test_a_crash_while_a_topic_is_ended_leaves_a_note_that_another_node_finishes(
    store: MemoryStore, when: str
) -> None:
    cluster = WilfulCluster()
    async with attached(store, cluster) as node:
        await node.create("orders", 3)
        setattr(cluster, when, {"delete"})
        with pytest.raises(Crash):
            await node.writing.delete_topic(ORDERS, node.asked())
    cluster.heal()
    async with attached(store, cluster) as other:
        assert other.pending("orders") is not None
        await other.writing.finish(ORDERS, Step.END)
        assert (other.record("orders"), cluster.partitions()) == (None, {})


@pytest.mark.parametrize("when", ["crashes_before", "crashes_after"])
async def test_a_crash_while_a_topic_grows_leaves_a_note_that_another_node_finishes(
    store: MemoryStore, when: str
) -> None:
    cluster = WilfulCluster()
    async with attached(store, cluster) as node:
        await node.create("orders", 3)
        setattr(cluster, when, {"grow"})
        with pytest.raises(Crash):
            await node.writing.grow_partitions(ORDERS, 7, node.asked())
    cluster.heal()
    async with attached(store, cluster) as other:
        await other.writing.finish(ORDERS, Step.MAKE)
        assert other.record("orders") == TopicRecord(7)
    assert cluster.partitions() == {"orders": 7}


async def test_a_kafka_topic_made_anew_is_not_deleted_in_the_place_of_the_old_one(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders")
    kafka_node.cluster.crashes_before = {"delete"}
    with pytest.raises(Crash):
        await kafka_node.writing.delete_topic(ORDERS, kafka_node.asked())
    kafka_node.cluster.heal()
    await kafka_node.cluster.delete("orders")
    await kafka_node.cluster.create("orders", 4)
    await kafka_node.writing.finish(ORDERS, Step.END)
    assert (kafka_node.record("orders"), kafka_node.cluster.partitions()) == (None, {"orders": 4})


async def test_labels_set_while_a_step_is_pending_stay_and_so_does_the_step(kafka_node: KafkaNode) -> None:
    kafka_node.cluster.goes_away_at = {"create"}
    with pytest.raises(OutcomeUnknown):
        await kafka_node.create("orders")
    await kafka_node.label(team="pay")
    kafka_node.cluster.heal()
    await kafka_node.writing.finish(ORDERS, Step.MAKE)
    assert kafka_node.labels() == {"team": "pay"}
    assert kafka_node.pending("orders") is None


async def test_growth_during_another_growth_is_not_noted_as_done_by_it(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders", 2)
    await asyncio.gather(
        *(kafka_node.writing.grow_partitions(ORDERS, count, kafka_node.asked()) for count in (3, 5, 8)),
        return_exceptions=True,
    )
    assert kafka_node.record("orders") == TopicRecord(8)
    assert kafka_node.cluster.partitions() == {"orders": 8}


async def test_two_nodes_that_make_one_topic_make_it_once(store: MemoryStore) -> None:
    cluster = WilfulCluster()
    async with attached(store, cluster) as here, attached(store, cluster) as there:
        outcomes = await asyncio.gather(here.create("orders", 3), there.create("orders", 3), return_exceptions=True)
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AlreadyExists", "NoneType"]
        assert here.record("orders") == TopicRecord(3)
    assert cluster.partitions() == {"orders": 3}


async def test_two_nodes_that_end_one_topic_end_it_once(store: MemoryStore) -> None:
    cluster = WilfulCluster()
    async with attached(store, cluster) as here, attached(store, cluster) as there:
        await here.create("orders", 3)
        delete, deletions = cluster.delete, []

        async def slowly(name: str) -> None:
            deletions.append(name)
            await asyncio.sleep(0.05)
            await delete(name)

        cluster.delete = slowly
        outcomes = await asyncio.gather(
            *(node.writing.delete_topic(ORDERS, node.asked()) for node in (here, there)), return_exceptions=True
        )
        assert all(isinstance(outcome, Written | TopicNotFound) for outcome in outcomes)
        await there.caught_up()
        assert (there.record("orders"), cluster.partitions(), deletions) == (None, {}, ["orders"])


async def test_a_topic_made_anew_while_it_is_looked_at_ends_with_the_kafka_topic_that_it_has_now(
    store: MemoryStore,
) -> None:
    cluster = WilfulCluster()
    async with attached(store, cluster) as here, attached(store, cluster) as there:
        await here.create("orders", 3)
        look = cluster.topic

        async def look_too_early(name: str) -> KafkaTopic | None:
            found = await look(name)
            cluster.topic = look
            await there.writing.delete_topic(ORDERS, there.asked())
            await there.create("orders", 3)
            return found

        cluster.topic = look_too_early
        await here.writing.delete_topic(ORDERS, here.asked())
        assert (here.record("orders"), cluster.partitions()) == (None, {})


async def test_a_topic_that_another_node_made_a_moment_ago_is_found_and_ended_in_kafka_too(store: MemoryStore) -> None:
    cluster = WilfulCluster()
    async with attached(store, cluster) as here, attached(store, cluster) as there:
        there.log.pause()
        await here.create("orders", 3)
        deletion = asyncio.create_task(there.writing.delete_topic(ORDERS, there.asked()))
        await asyncio.sleep(0.01)
        there.log.resume()
        await deletion
    assert cluster.partitions() == {}


async def test_a_topic_ended_while_its_kafka_topic_is_made_leaves_none_behind(store: MemoryStore) -> None:
    cluster = WilfulCluster()
    async with attached(store, cluster) as here, running(store) as plain:
        create = cluster.create

        async def end_meanwhile(name: str, partitions: int, settings: None = None) -> None:
            await plain.writing.delete_topic(ORDERS, plain.asked())
            await here.caught_up()
            await create(name, partitions)

        cluster.create = end_meanwhile
        await here.create("orders")
        assert (here.record("orders"), cluster.partitions()) == (None, {})


async def test_while_kafka_does_not_answer_it_is_not_asked_for_every_topic_that_waits(
    kafka_node: KafkaNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    repair, asked = KafkaRepair(kafka_node.engine, kafka_node.writing), list[str]()
    for name in ("a", "b"):
        kafka_node.cluster.goes_away_at = {"create"}
        with pytest.raises(OutcomeUnknown):
            await kafka_node.create(name)
        kafka_node.cluster.heal()
    await repair.run()

    async def silent(name: str) -> None:
        asked.append(name)
        raise ClusterUnavailable("away")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(kafka_node.cluster, "topic", silent)
        with pytest.raises(ClusterUnavailable, match="away"):
            await repair.run()
    assert len(asked) == 1
    await repair.run()
    assert kafka_node.cluster.partitions() == {"a": 1, "b": 1}


async def test_a_step_of_which_nobody_knows_whether_it_was_noted_is_told_of_and_keeps_none_back(
    kafka_node: KafkaNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    repair = KafkaRepair(kafka_node.engine, kafka_node.writing)
    kafka_node.cluster.crashes_before = {"create"}
    for name in ("a", "b"):
        with pytest.raises(Crash):
            await kafka_node.create(name)
    kafka_node.cluster.heal()

    async def lose_the_answer(name: TopicName, step: Step) -> None:
        raise OutcomeUnknown("the log did not answer", operation="0-00")

    monkeypatch.setattr(kafka_node.writing, "finish", lose_the_answer)
    for _ in range(2):
        await repair.run()
    assert sorted(repair.held_up) == ["persistent://public/default/a", "persistent://public/default/b"]
