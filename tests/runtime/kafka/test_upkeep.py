"""Upkeep: steps left undone are finished, trouble is told of and never ends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import structlog

from tests.memory_log import MemoryStore
from tests.runtime.kafka_nodes import Crash, KafkaNode, WilfulCluster, attached
from tests.runtime.nodes import ORDERS
from tests.turning import counted_turns
from topicfold.errors import (
    AlreadyExists,
    ClusterRefused,
    ClusterUnavailable,
    LogUnavailable,
    OperatorNeeded,
    TopicfoldError,
)
from topicfold.model.names import parse_topic
from topicfold.model.records import Pending, Step, TopicRecord
from topicfold.runtime import slices, topic_counts
from topicfold.runtime.kafka import records as kafka_records
from topicfold.runtime.kafka.follower import ClusterFollower
from topicfold.runtime.kafka.records import holder_of
from topicfold.runtime.kafka.upkeep import Upkeep, UpkeepOptions
from topicfold.runtime.kafka.writing import KafkaWriting
from topicfold.runtime.topic_counts import count_topics


@pytest.fixture
async def node(store: MemoryStore) -> AsyncIterator[KafkaNode]:
    async with attached(store, WilfulCluster()) as made:
        yield made


def upkeep_of(node: KafkaNode, **options: object) -> Upkeep:
    return Upkeep(node.engine, node.cluster, UpkeepOptions(**options))


async def waiting(node: KafkaNode) -> int:
    """Return how many topics wait for a step in Kafka."""
    return (await count_topics(node.engine.states.values())).waiting


async def test_a_step_left_undone_is_finished_when_it_is_seen_a_second_time(node: KafkaNode) -> None:
    node.cluster.crashes_before = {"create"}
    with pytest.raises(Crash):
        await node.create("orders", 3)
    node.cluster.heal()
    upkeep = upkeep_of(node)
    await upkeep.run_once()
    assert (await waiting(node), node.cluster.partitions()) == (1, {})
    await upkeep.run_once()
    assert (await waiting(node), node.cluster.partitions()) == (0, {"orders": 3})
    assert node.record("orders") == TopicRecord(3)


async def test_a_partition_that_has_stopped_says_nothing_of_what_is_to_be_made(store: MemoryStore) -> None:
    cluster = WilfulCluster()
    async with attached(store, cluster) as node, attached(store, cluster) as stopped:
        cluster.crashes_before = {"create"}
        with pytest.raises(Crash):
            await node.create("orders")
        await stopped.caught_up()
        stopped.engine.reader.stop(OperatorNeeded("a record too many"), None)
        cluster.heal()
        await node.writing.finish(ORDERS, Step.MAKE)
        await node.writing.delete_topic(ORDERS, node.asked())
        upkeep = upkeep_of(stopped)
        for _ in range(3):
            await upkeep.run_once()
        assert cluster.partitions() == {}


async def test_a_node_that_only_adopts_makes_and_ends_records_and_no_more(node: KafkaNode) -> None:
    await node.cluster.create("orders", 3)
    upkeep = upkeep_of(node, adopts_only=True)
    await upkeep.writing.create_topic(parse_topic("bills"), TopicRecord(), node.asked())
    await upkeep.writing.create_topic(ORDERS, TopicRecord(1), node.asked())
    await upkeep.writing.delete_topic(ORDERS, node.asked())
    waiting = TopicRecord(pending=Pending(Step.MAKE))
    await upkeep.writing.record_topic(parse_topic("more"), waiting, node.asked())
    for _ in range(3):
        await upkeep.run_once()
    assert not isinstance(upkeep.writing, KafkaWriting)
    assert node.cluster.partitions() == {"orders": 3}


@pytest.mark.parametrize("follows", [True, False])
async def test_an_outage_is_told_of_once_and_so_is_its_end(node: KafkaNode, follows: bool) -> None:
    upkeep = upkeep_of(node, follows=follows)
    assert upkeep.report(0).is_reachable is None
    node.cluster.is_reachable = False
    with structlog.testing.capture_logs() as lines:
        await upkeep.run_once()
        await upkeep.run_once()
        assert upkeep.report(0).is_reachable is False
        node.cluster.heal()
        await upkeep.run_once()
    assert [line["event"] for line in lines] == ["cluster_unavailable", "cluster_reachable"]
    assert upkeep.report(0).is_reachable is True


async def test_what_upkeep_waits_for_is_told_of_once_until_it_was_not_so(
    node: KafkaNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    reasons = ["it is away", "it is away", "it has stopped", "", "it has stopped"]

    async def look(self: ClusterFollower) -> None:
        if reason := reasons.pop(0):
            raise LogUnavailable(reason)

    monkeypatch.setattr(ClusterFollower, "look", look)
    upkeep = upkeep_of(node, follows=True)
    with structlog.testing.capture_logs() as lines:
        while reasons:
            await upkeep.run_once()
    assert [line["reason"] for line in lines] == ["it is away", "it has stopped", "it has stopped"]


async def note_end(node: KafkaNode) -> None:
    """Make `orders`, and note that it is to end."""
    await node.create("orders")
    found = await node.cluster.topic("orders")
    assert found is not None
    await node.writing.change_topic(ORDERS, lambda old: TopicRecord(pending=Pending(Step.END, found.id)), node.asked())


@pytest.mark.parametrize(
    "error",
    [ClusterUnavailable("no", is_denied=True), ClusterUnavailable("not yet", is_late=True), ClusterRefused("never")],
    ids=["denied", "late", "refused"],
)
async def test_a_step_that_kafka_does_not_allow_or_show_is_told_of_once_and_others_go_on(
    node: KafkaNode, error: TopicfoldError
) -> None:
    async def fail(name: str) -> None:
        raise error

    await note_end(node)
    node.cluster.delete = fail
    await node.writing.record_topic(parse_topic("zebra"), TopicRecord(pending=Pending(Step.MAKE)), node.asked())
    upkeep = upkeep_of(node)
    with structlog.testing.capture_logs() as lines:
        for _ in range(4):
            await upkeep.run_once()
    assert [line["event"] for line in lines if line["log_level"] == "warning"] == ["kafka_step_waits"]
    assert node.cluster.partitions() == {"orders": 1, "zebra": 1}


async def test_a_kafka_topic_that_others_keep_changing_makes_no_outage_and_others_are_made(node: KafkaNode) -> None:
    create = node.cluster.create

    async def come_and_go(name: str, partitions: int) -> None:
        if name == "orders":
            raise AlreadyExists("Kafka has a topic orders already", name=name)
        await create(name, partitions)

    node.cluster.create = come_and_go
    for name in ("orders", "zebra"):
        await node.writing.record_topic(parse_topic(name), TopicRecord(pending=Pending(Step.MAKE)), node.asked())
    upkeep = upkeep_of(node)
    for _ in range(2):
        await upkeep.run_once()
    assert (upkeep.report(0).is_reachable, node.cluster.partitions()) == (True, {"zebra": 1})
    assert "is being changed by others" in upkeep.held_up[str(ORDERS)].reason


@pytest.mark.parametrize("where", ["here", "elsewhere"])
async def test_what_is_held_up_is_told_with_the_newest_reason_until_it_is_done_here_or_elsewhere(
    node: KafkaNode, where: str
) -> None:
    reasons = ["denied", "disabled"]

    async def fail(name: str) -> None:
        raise ClusterUnavailable(reasons.pop(0), is_denied=True)

    await note_end(node)
    delete, node.cluster.delete = node.cluster.delete, fail
    upkeep = upkeep_of(node)
    with structlog.testing.capture_logs() as lines:
        while reasons:
            await upkeep.run_once()
    assert [line["reason"] for line in lines] == ["denied", "disabled"]
    assert {name: error.reason for name, error in upkeep.held_up.items()} == {str(ORDERS): "disabled"}
    node.cluster.delete = delete
    if where == "elsewhere":
        await node.writing.finish(ORDERS, Step.END)
    await upkeep.run_once()
    assert (upkeep.held_up, node.cluster.partitions()) == ({}, {})


async def test_what_the_follower_finds_is_in_the_report(node: KafkaNode) -> None:
    await node.create("orders")
    await node.create("bills")
    await node.cluster.delete("orders")
    upkeep = upkeep_of(node, follows=True)
    await upkeep.run_once()
    counts = {"present": 1, "missing": 1, "fewer_partitions": 0, "not_adopted": 0, "waiting": 0}
    assert upkeep.report(await waiting(node)).counts == counts


async def test_a_defect_does_not_end_the_upkeep(node: KafkaNode, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = asyncio.Semaphore(0)

    async def look(self: ClusterFollower) -> None:
        looks.release()
        raise ZeroDivisionError

    monkeypatch.setattr(ClusterFollower, "look", look)
    upkeep = upkeep_of(node, follows=True, every_seconds=0)
    upkeep.start()
    for _ in range(3):
        await looks.acquire()
    await upkeep.stop()


async def test_whoever_stops_leaves_nothing_going_on_and_lets_the_cluster_go(node: KafkaNode) -> None:
    closed: list[bool] = []

    async def close() -> None:
        closed.append(True)

    node.cluster.close = close
    before = asyncio.all_tasks()
    upkeep = upkeep_of(node, every_seconds=0)
    upkeep.start()
    await upkeep.stop()
    assert (asyncio.all_tasks(), closed) == (before, [True])


async def test_a_node_that_neither_makes_nor_follows_has_nothing_to_keep_up(node: KafkaNode) -> None:
    upkeep = upkeep_of(node, adopts_only=True, every_seconds=0)
    upkeep.start()
    await asyncio.sleep(0)
    await upkeep.stop()
    assert upkeep.report(0).is_reachable is None


async def test_however_much_there_is_to_go_through_others_have_their_turn_meanwhile(
    node: KafkaNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.cluster.crashes_before = {"create"}
    for name in "abcde":
        with pytest.raises(Crash):
            await node.create(name)
    upkeep = upkeep_of(node)
    assert upkeep._repair is not None
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    for each in (topic_counts, kafka_records):
        monkeypatch.setattr(each, "CHUNK", 1)
    engine = node.engine
    works = upkeep._repair._found(), count_topics(engine.states.values()), holder_of(engine, "a..b", parse_topic("b"))
    took = []
    async with counted_turns() as turns:
        for work in works:
            before = turns()
            await work
            took.append(turns() - before)
    assert took[0] >= 5
    assert min(took) >= 1
