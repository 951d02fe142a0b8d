"""Records in step with a cluster: new topics appear, grown ones grow, vanished ones are told of, none is deleted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

import pytest
import structlog

from tests.builders import topic_put
from tests.memory_log import MemoryStore
from tests.runtime.kafka_nodes import LOG_TOPIC, KafkaNode, WilfulCluster, attached
from tests.runtime.nodes import ORDERS
from tests.turning import counted_turns
from topicfold.errors import ClusterUnavailable, LogUnavailable, NamespaceNotFound, OutcomeUnknown
from topicfold.log.codec import encode_event
from topicfold.model.kafka.adoption import KafkaTopic, missing_namespaces
from topicfold.model.names import parse_topic
from topicfold.model.records import Pending, Step, TopicRecord
from topicfold.runtime import slices
from topicfold.runtime.kafka import follower as cluster_follower
from topicfold.runtime.kafka.follower import ClusterFollower


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_follower, "CONFIRM_SECONDS", 0)


def follower_of(node: KafkaNode) -> ClusterFollower:
    return ClusterFollower(node.engine, node.cluster, node.writing, lambda name: name == LOG_TOPIC)


@pytest.fixture
async def node(store: MemoryStore) -> AsyncIterator[KafkaNode]:
    async with attached(store, WilfulCluster()) as made:
        yield made


@pytest.fixture
def follower(node: KafkaNode) -> ClusterFollower:
    return follower_of(node)


async def test_new_topics_get_records_named_as_an_import_names_them(node: KafkaNode, follower: ClusterFollower) -> None:
    for name, partitions in (("orders", 1), ("acme..pay..bills", 3), ("a..b", 2)):
        await node.cluster.create(name, partitions)
    await follower.look()
    assert node.record("orders") == TopicRecord()
    assert node.record("acme/pay/bills") == TopicRecord(3)
    assert node.record("public/default/a..b") == TopicRecord(2, kafka_name="a..b")
    assert follower.counts == {"present": 3, "missing": 0, "fewer_partitions": 0, "not_adopted": 0}


async def test_who_compares_at_once_does_so_one_after_another(
    node: KafkaNode, follower: ClusterFollower, monkeypatch: pytest.MonkeyPatch
) -> None:
    await node.cluster.create("orders", 1)
    await follower.look()
    await node.cluster.delete("orders")
    listed, topics = [], node.cluster.topics

    async def noted() -> Mapping[str, KafkaTopic]:
        listed.append(asyncio.current_task())
        return await topics()

    monkeypatch.setattr(node.cluster, "topics", noted)
    found = await asyncio.gather(follower.compare(), follower.compare())
    assert found == [{"missing": 1, "fewer_partitions": 0}] * 2
    assert listed[0] is listed[1] is not listed[2] is listed[3]


async def test_internal_topics_and_the_log_get_none(node: KafkaNode, follower: ClusterFollower) -> None:
    for name in ("__consumer_offsets", "_schemas", LOG_TOPIC):
        await node.cluster.create(name, 1)
    await follower.look()
    assert list(node.engine.states[0].topics["public/default"]) == []


async def test_a_record_that_names_an_internal_topic_is_in_step_with_it(
    node: KafkaNode, follower: ClusterFollower
) -> None:
    for name in ("__consumer_offsets", LOG_TOPIC):
        await node.cluster.create(name, 1)
        record = TopicRecord(kafka_name=name)
        await node.writing.record_topic(parse_topic(f"r{name}"), record, node.asked())
    await follower.look()
    assert follower.counts["missing"] == 0


async def test_a_second_look_changes_nothing(node: KafkaNode, follower: ClusterFollower) -> None:
    await node.cluster.create("orders", 3)
    await follower.look()
    await node.label(team="pay")
    with node.events() as events:
        await follower.look()
    assert events == []


@pytest.mark.parametrize("recorded", [0, 1, 3])
async def test_partitions_made_in_kafka_are_recorded_and_labels_stay(
    node: KafkaNode, follower: ClusterFollower, recorded: int
) -> None:
    await node.create("orders", recorded)
    await node.label(team="pay")
    await node.cluster.grow("orders", 6)
    await follower.look()
    record = node.record("orders")
    assert record is not None
    assert (record.partitions, record.labels) == (6, {"team": "pay"})


@pytest.mark.parametrize("unreadable", [{"payload": b"\xff"}, {"payload_schema": 99}])
async def test_of_a_record_that_cannot_be_read_nobody_says_that_its_topic_has_grown(
    node: KafkaNode, follower: ClusterFollower, unreadable: dict[str, object]
) -> None:
    await node.create("orders", 3)
    state = node.engine.states[0]
    life, base = state.namespaces["public/default"].incarnation, state.topics["public/default"].get("orders").version
    node.log.store.append(0, encode_event(topic_put(7, life, base, **unreadable)))
    await node.cluster.create("bills", 1)
    with structlog.testing.capture_logs() as lines:
        await follower.look()
        await follower.look()
    assert [line["event"] for line in lines] == ["topics_adopted"]
    assert follower.counts == {"present": 2, "missing": 0, "fewer_partitions": 0, "not_adopted": 0}


async def test_what_a_record_that_cannot_be_read_may_stand_for_is_not_taken_for_new(
    node: KafkaNode, follower: ClusterFollower
) -> None:
    await node.cluster.create("legacy.bills", 1)
    await node.writing.record_topic(parse_topic("bills"), TopicRecord(kafka_name="legacy.bills"), node.asked())
    state = node.engine.states[0]
    life, base = state.namespaces["public/default"].incarnation, state.topics["public/default"].get("bills").version
    of_newer_node = topic_put(7, life, base, name="persistent://public/default/bills", payload_schema=99)
    node.log.store.append(0, encode_event(of_newer_node))
    with structlog.testing.capture_logs() as lines:
        await follower.look()
        await follower.look()
    assert [(line["event"], line["new"]) for line in lines] == [
        (
            "kafka_topics_not_adopted",
            ["legacy.bills: the record of persistent://public/default/bills cannot be read, and may stand for it"],
        )
    ]
    assert follower.counts == {"present": 0, "missing": 0, "fewer_partitions": 0, "not_adopted": 1}
    assert node.record("legacy.bills") is None


async def test_a_vanished_topic_keeps_its_record_and_is_told_of_once(
    node: KafkaNode, follower: ClusterFollower
) -> None:
    await node.create("orders", 3)
    await node.cluster.delete("orders")
    with structlog.testing.capture_logs() as lines:
        await follower.look()
        await follower.look()
    assert [(line["event"], line["new"]) for line in lines] == [("kafka_topics_missing", [str(ORDERS)])]
    assert (follower.counts["missing"], node.record("orders"), node.cluster.partitions()) == (1, TopicRecord(3), {})
    await node.cluster.create("orders", 3)
    with structlog.testing.capture_logs() as lines:
        await follower.look()
    assert [(line["event"], line["no_more"]) for line in lines] == [("kafka_topics_missing", [str(ORDERS)])]
    assert follower.counts["missing"] == 0


async def test_a_topic_with_fewer_partitions_in_kafka_is_told_of_and_left(
    node: KafkaNode, follower: ClusterFollower
) -> None:
    await node.create("orders", 3)
    await node.cluster.delete("orders")
    await node.cluster.create("orders", 2)
    with structlog.testing.capture_logs() as lines:
        await follower.look()
    assert [(line["event"], line["new"]) for line in lines] == [("kafka_topics_with_fewer_partitions", [str(ORDERS)])]
    assert follower.counts["fewer_partitions"] == 1
    assert (node.record("orders"), node.cluster.partitions()) == (TopicRecord(3), {"orders": 2})


async def test_a_topic_that_grows_between_two_looks_has_not_fewer_partitions(
    node: KafkaNode, follower: ClusterFollower, monkeypatch: pytest.MonkeyPatch
) -> None:
    await node.create("orders", 3)
    await node.cluster.create("bills", 1)
    topics = node.cluster.topics

    async def then_grow() -> object:
        found = await topics()
        monkeypatch.setattr(node.cluster, "topics", topics)
        await node.cluster.grow("orders", 4)
        return found

    monkeypatch.setattr(node.cluster, "topics", then_grow)
    await follower.look()
    assert follower.counts["fewer_partitions"] == 0


async def test_a_kafka_topic_that_can_have_no_record_is_told_of(node: KafkaNode, follower: ClusterFollower) -> None:
    await node.cluster.create("orders-partition-0", 1)
    await node.create("bills", kafka_name="legacy")
    await node.cluster.create("bills", 1)
    await follower.look()
    assert follower.counts["not_adopted"] == 2


async def test_a_kafka_topic_whose_record_is_refused_is_told_of_with_the_reason(
    node: KafkaNode, follower: ClusterFollower, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> None:
        raise NamespaceNotFound("namespace public/default not found")

    monkeypatch.setattr(node.writing, "record_topic", refuse)
    await node.cluster.create("orders", 1)
    with structlog.testing.capture_logs() as lines:
        await follower.look()
    told = ["orders: namespace public/default not found"]
    assert [(line["event"], line["new"]) for line in lines] == [("kafka_topics_not_adopted", told)]
    assert (follower.counts["present"], follower.counts["not_adopted"]) == (0, 1)


async def test_a_topic_that_is_being_made_or_ended_is_neither_new_nor_missing(
    node: KafkaNode, follower: ClusterFollower
) -> None:
    pending = {"made": Pending(Step.MAKE), "ended": Pending(Step.END, "id")}
    for name, step in pending.items():
        await node.writing.record_topic(parse_topic(name), TopicRecord(2, pending=step), node.asked())
    with node.events() as events:
        await follower.look()
    assert (events, follower.counts["missing"]) == ([], 0)


@pytest.mark.parametrize("first", [{}, {"orders": KafkaTopic("orders", 6)}], ids=["missing", "grown"])
async def test_what_only_the_first_of_two_looks_shows_is_neither_told_of_nor_recorded(
    node: KafkaNode, follower: ClusterFollower, monkeypatch: pytest.MonkeyPatch, first: dict[str, KafkaTopic]
) -> None:
    await node.create("orders", 3)
    topics = node.cluster.topics

    async def shown_once() -> object:
        monkeypatch.setattr(node.cluster, "topics", topics)
        return first

    monkeypatch.setattr(node.cluster, "topics", shown_once)
    with structlog.testing.capture_logs() as lines:
        await follower.look()
    assert (lines, follower.counts["missing"], node.record("orders")) == ([], 0, TopicRecord(3))


async def test_what_only_the_second_of_two_looks_shows_is_left_to_the_next(
    node: KafkaNode, follower: ClusterFollower, monkeypatch: pytest.MonkeyPatch
) -> None:
    await node.create("orders", 3)
    await node.create("lost")
    looks = [{"orders": 3, "lost": 1, "new": 1}, {"orders": 6, "new": 1, "newer": 1}]

    async def shown() -> object:
        return {name: KafkaTopic(name, partitions) for name, partitions in looks.pop(0).items()}

    monkeypatch.setattr(node.cluster, "topics", shown)
    await follower.look()
    assert (node.record("orders"), node.record("newer"), follower.counts["missing"]) == (TopicRecord(3), None, 0)
    assert node.record("new") is not None


async def test_a_topic_that_ends_between_two_looks_is_not_brought_back(node: KafkaNode) -> None:
    await node.create("orders")
    stale = await node.cluster.topics()

    class Slow(WilfulCluster):
        answers = 0

        async def topics(self) -> dict[str, object]:
            self.answers += 1
            return dict(stale) if self.answers == 1 else {}

    await node.writing.delete_topic(ORDERS, node.asked())
    await ClusterFollower(node.engine, Slow(), node.writing, lambda name: False).look()
    assert node.record("orders") is None


async def test_two_nodes_that_follow_one_cluster_make_each_record_once(store: MemoryStore) -> None:
    cluster = WilfulCluster()
    for name in ("acme..pay..a", "acme..pay..b", "c"):
        await cluster.create(name, 2)
    async with attached(store, cluster) as here, attached(store, cluster) as there:
        await asyncio.gather(follower_of(here).look(), follower_of(there).look())
        await cluster.grow("c", 5)
        await asyncio.gather(follower_of(here).look(), follower_of(there).look())
        await there.caught_up()
        assert [there.record(name) for name in ("acme/pay/a", "acme/pay/b", "c")] == [
            TopicRecord(2),
            TopicRecord(2),
            TopicRecord(5),
        ]
        assert here.digests() == there.digests()


async def test_a_topic_deleted_here_and_made_again_in_kafka_comes_back_clean(
    node: KafkaNode, follower: ClusterFollower
) -> None:
    await node.create("orders")
    await node.label(team="pay")
    await node.writing.delete_topic(ORDERS, node.asked())
    await node.cluster.create("orders", 1)
    await follower.look()
    assert node.record("orders") == TopicRecord()


async def test_a_cluster_or_a_log_that_does_not_answer_changes_nothing(
    node: KafkaNode, follower: ClusterFollower
) -> None:
    await node.create("orders")
    node.cluster.is_reachable = False
    with pytest.raises(ClusterUnavailable):
        await follower.look()
    node.cluster.heal()
    node.log.is_cut = True
    with pytest.raises(LogUnavailable):
        await follower.look()
    assert node.record("orders") == TopicRecord()


async def test_new_topics_are_compared_and_put_in_order_beside_the_loop(
    node: KafkaNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[int] = set()

    def noted(new: object, present: object) -> object:
        threads.add(threading.get_ident())
        return missing_namespaces(new, present)

    def is_protected(kafka_topic: str) -> bool:
        threads.add(threading.get_ident())
        return False

    monkeypatch.setattr(cluster_follower, "missing_namespaces", noted)
    await node.cluster.create("orders", 1)
    await ClusterFollower(node.engine, node.cluster, node.writing, is_protected).look()
    assert node.record("orders") == TopicRecord()
    assert threads
    assert threading.get_ident() not in threads


async def test_a_look_that_ends_early_leaves_nothing_going_on(node: KafkaNode, follower: ClusterFollower) -> None:
    node.engine.options = replace(node.engine.options, request_timeout_seconds=0.05)
    for number in range(200):
        await node.cluster.create(f"t{number}", 1)
    node.log.fate = node.log.lose
    before = asyncio.all_tasks()
    with pytest.raises(OutcomeUnknown):
        await follower.look()
    assert asyncio.all_tasks() == before


async def test_thousands_of_topics_are_adopted_in_one_look(node: KafkaNode, follower: ClusterFollower) -> None:
    for number in range(2_000):
        await node.cluster.create(f"t{number}", 1)
    await follower.look()
    assert follower.counts["present"] == 2_000
    assert node.record("t1999") == TopicRecord()


async def test_however_many_records_are_compared_others_have_their_turn_meanwhile(
    node: KafkaNode, follower: ClusterFollower, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcde":
        await node.create(name)
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    monkeypatch.setattr(cluster_follower, "CHUNK", 2)
    async with counted_turns() as turns:
        records, waiting, unreadable = await follower._records()
        assert turns() >= 3
    assert (len(records), waiting, unreadable) == (5, frozenset(), frozenset())
