"""Topics that are made, grown and ended in Kafka too, or refused before anything is written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.builders import topic_put
from tests.memory_log import MemoryStore
from tests.runtime.kafka_nodes import LOG_TOPIC, KafkaNode, WilfulCluster, attached, id_of
from tests.runtime.nodes import ORDERS
from topicfold.errors import (
    AlreadyExists,
    ClusterRefused,
    ClusterUnavailable,
    FewerPartitions,
    InvalidLabels,
    InvalidName,
    LogUnavailable,
    NotEmpty,
    OperatorNeeded,
    PreconditionFailed,
    TopicfoldError,
    WrongKind,
)
from topicfold.log.codec import encode_event
from topicfold.model.events import Verdict
from topicfold.model.kafka.adoption import KafkaTopic
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, TenantRecord, TopicRecord
from topicfold.runtime.asking import Asked
from topicfold.runtime.writing.writing import Writing

UNSAFE_NAMES = ["a b", "große", "a*", "__internal", "_schemas", LOG_TOPIC]


@pytest.mark.parametrize(("partitions", "in_kafka"), [(0, 1), (1, 1), (3, 3)])
async def test_a_topic_is_made_in_kafka_and_waits_for_nothing(
    kafka_node: KafkaNode, partitions: int, in_kafka: int
) -> None:
    await kafka_node.create("orders", partitions)
    assert kafka_node.cluster.partitions() == {"orders": in_kafka}
    assert kafka_node.record("orders") == TopicRecord(partitions)


async def test_the_kafka_topic_has_the_name_that_the_record_says_or_implies(kafka_node: KafkaNode) -> None:
    await kafka_node.writing.create_tenant("acme", TenantRecord(), kafka_node.asked())
    await kafka_node.writing.create_namespace("acme/pay", NamespaceRecord(), kafka_node.asked())
    await kafka_node.create("acme/pay/orders", 2)
    await kafka_node.create("bills", kafka_name="legacy.bills")
    assert kafka_node.cluster.partitions() == {"acme..pay..orders": 2, "legacy.bills": 1}


async def test_a_non_persistent_topic_has_no_kafka_topic(kafka_node: KafkaNode) -> None:
    name = parse_topic("non-persistent://public/default/calls")
    kafka_node.cluster.is_reachable = False
    await kafka_node.writing.create_topic(name, TopicRecord(3), kafka_node.asked())
    await kafka_node.writing.grow_partitions(name, 5, kafka_node.asked())
    await kafka_node.writing.delete_topic(name, kafka_node.asked())
    assert kafka_node.cluster.partitions() == {}


@pytest.mark.parametrize("name", UNSAFE_NAMES)
async def test_a_name_that_kafka_cannot_have_or_keeps_is_refused_before_anything_is_written(
    kafka_node: KafkaNode, name: str
) -> None:
    with kafka_node.events() as events, pytest.raises(InvalidName) as refused:
        await kafka_node.create(name)
    assert (events, kafka_node.cluster.partitions()) == ([], {})
    assert refused.value.hint


@pytest.mark.parametrize("method", ["create_topic", "record_topic"])
async def test_labels_that_break_the_rules_are_refused_before_kafka_is_asked(
    kafka_node: KafkaNode, method: str
) -> None:
    kafka_node.cluster.is_reachable = False
    with kafka_node.events() as events, pytest.raises(InvalidLabels):
        await getattr(kafka_node.writing, method)(ORDERS, TopicRecord(labels={"a b": "x"}), kafka_node.asked())
    assert events == []


async def test_a_name_kafka_cannot_have_may_be_recorded_under_another_one(kafka_node: KafkaNode) -> None:
    with pytest.raises(InvalidName) as refused:
        await kafka_node.create("große")
    assert "kafkaName" in refused.value.hint
    await kafka_node.create("große", kafka_name="grosse")
    assert kafka_node.cluster.partitions() == {"grosse": 1}


async def test_a_kafka_topic_with_as_many_partitions_is_taken_as_it_is(kafka_node: KafkaNode) -> None:
    await kafka_node.cluster.create("orders", 3)
    before = await id_of(kafka_node, "orders")
    await kafka_node.create("orders", 3)
    assert kafka_node.record("orders") == TopicRecord(3)
    assert await id_of(kafka_node, "orders") == before


async def test_a_creation_does_not_call_what_its_first_attempt_makes_meanwhile_found(
    kafka_node: KafkaNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = kafka_node.asked(key="once")

    async def answer_late(name: str, partitions: int) -> None:
        monkeypatch.undo()
        await kafka_node.writing.create_topic(ORDERS, TopicRecord(), asked)
        await kafka_node.cluster.check_creation(name, partitions)

    monkeypatch.setattr(kafka_node.cluster, "check_creation", answer_late)
    repeated = await kafka_node.writing.create_topic(ORDERS, TopicRecord(), asked)
    assert (repeated.changed, repeated.taken_kafka_topic) == (True, "")


async def test_a_kafka_topic_with_other_partitions_is_refused_with_their_number(kafka_node: KafkaNode) -> None:
    await kafka_node.cluster.create("orders", 3)
    with kafka_node.events() as events, pytest.raises(AlreadyExists, match="3 partitions, not 1"):
        await kafka_node.create("orders")
    assert events == []


async def test_a_topic_that_exists_is_refused_as_such_whatever_kafka_has(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders", 3)
    with pytest.raises(AlreadyExists, match=r"^topic persistent://public/default/orders exists already"):
        await kafka_node.create("orders")


async def test_a_kafka_topic_of_another_record_is_refused(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders", kafka_name="legacy")
    with pytest.raises(AlreadyExists, match="legacy belongs to another topic"):
        await kafka_node.create("legacy")
    await kafka_node.create("bills")
    with pytest.raises(AlreadyExists, match="bills belongs to another topic"):
        await kafka_node.create("more", kafka_name="bills")
    with pytest.raises(AlreadyExists, match="bills belongs to another topic"):
        await kafka_node.writing.record_topic(parse_topic("m"), TopicRecord(kafka_name="bills"), kafka_node.asked())


class Unsearched(dict[int, str]):
    """Names in Kafka that are not to be gone through."""

    def __iter__(self) -> Iterator[int]:
        """Fail."""
        raise AssertionError("all topics were looked at")

    items = values = __iter__  # type: ignore[assignment]


async def test_whether_a_kafka_topic_is_another_records_is_known_without_looking_at_each(
    kafka_node: KafkaNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    await kafka_node.create("orders", kafka_name="legacy")
    (table,) = kafka_node.engine.states[0].topics.values()
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(table, "kafka_names", Unsearched(table.kafka_names))
        with pytest.raises(AlreadyExists, match="legacy belongs to another topic"):
            await kafka_node.create("more", kafka_name="legacy")


async def test_a_kafka_topic_is_not_refused_for_a_record_that_ended_on_another_node(store: MemoryStore) -> None:
    cluster = WilfulCluster()
    async with attached(store, cluster) as here, attached(store, cluster) as there:
        await here.create("orders", kafka_name="legacy")
        await there.caught_up()
        there.log.pause()
        await here.writing.delete_topic(ORDERS, here.asked())
        making = asyncio.create_task(there.create("legacy"))
        await asyncio.sleep(0.02)
        there.log.resume()
        await making
        assert cluster.partitions() == {"legacy": 1}


async def test_a_kafka_topic_of_another_record_is_known_for_that_though_other_partitions_have_stopped() -> None:
    store = MemoryStore(partitions=2)
    async with attached(store, WilfulCluster()) as node:
        twin, other = parse_topic("twin"), 1 - node.engine.partition("public/default")
        await node.create("orders")
        await Writing(node.engine).record_topic(twin, TopicRecord(kafka_name="orders"), node.asked())
        node.engine.options = replace(node.engine.options, request_timeout_seconds=1.0)
        node.engine.reader.stop(OperatorNeeded("a record too many"), other)
        store.append(other, b"a record more")
        with pytest.raises(AlreadyExists, match="belongs to another topic"):
            await node.create("third", kafka_name="orders")
        await node.writing.delete_topic(twin, node.asked())
        assert (node.record("twin"), node.cluster.partitions()) == (None, {"orders": 1})


async def test_a_kafka_topic_does_not_outlive_the_last_of_its_records_wherever_the_others_ended(
    store: MemoryStore,
) -> None:
    cluster = WilfulCluster()
    async with attached(store, cluster) as here, attached(store, cluster) as there:
        await here.create("orders")
        await Writing(here.engine).record_topic(parse_topic("twin"), TopicRecord(kafka_name="orders"), here.asked())
        await there.caught_up()
        there.log.pause()
        await here.writing.delete_topic(parse_topic("twin"), here.asked())
        ending = asyncio.create_task(there.writing.delete_topic(ORDERS, there.asked()))
        await asyncio.sleep(0.02)
        there.log.resume()
        await ending
        assert cluster.partitions() == {}


async def test_a_non_persistent_topic_holds_no_kafka_topic(kafka_node: KafkaNode) -> None:
    await kafka_node.create("non-persistent://public/default/calls", kafka_name="orders")
    await kafka_node.create("orders")
    assert kafka_node.cluster.partitions() == {"orders": 1}


async def test_what_kafka_refuses_is_refused_and_remembered_under_the_clients_key(kafka_node: KafkaNode) -> None:
    asked = kafka_node.asked(key="k", method="PUT", actor="a")

    async def refuse(name: str, partitions: int) -> None:
        raise ClusterRefused("its policy forbids it", kafka_topic=name)

    kafka_node.cluster.check_creation = refuse
    with pytest.raises(ClusterRefused, match="policy"):
        await kafka_node.writing.create_topic(ORDERS, TopicRecord(), asked)
    del kafka_node.cluster.check_creation
    with pytest.raises(ClusterRefused):
        await kafka_node.writing.create_topic(ORDERS, TopicRecord(), asked)
    assert kafka_node.cluster.partitions() == {}


async def test_nothing_is_written_while_kafka_cannot_be_asked(kafka_node: KafkaNode) -> None:
    await kafka_node.create("there", 2)
    kafka_node.cluster.is_reachable = False
    there = parse_topic("there")
    with kafka_node.events() as events:
        for change in (
            kafka_node.create("orders"),
            kafka_node.writing.grow_partitions(there, 5, kafka_node.asked()),
            kafka_node.writing.delete_topic(there, kafka_node.asked()),
            kafka_node.writing.delete_namespace("public/default", kafka_node.asked(), force=True),
        ):
            with pytest.raises(ClusterUnavailable, match="the change is not applied") as refused:
                await change
            assert refused.value.hint.startswith("Try again in a few seconds. GET /readyz")
    assert events == []


async def test_kafka_is_not_asked_for_a_change_that_the_log_does_not_take(kafka_node: KafkaNode) -> None:
    await kafka_node.create("there", 3)
    there = parse_topic("there")
    kafka_node.cluster.is_reachable = False
    kafka_node.engine.freshness.on_unavailable(LogUnavailable("away"))
    for change in (
        kafka_node.create("orders"),
        kafka_node.writing.grow_partitions(there, 5, kafka_node.asked()),
        kafka_node.writing.delete_topic(there, kafka_node.asked()),
    ):
        with pytest.raises(LogUnavailable, match="the log cannot be reached; the change is not applied"):
            await change


async def test_what_kafka_says_of_one_topic_keeps_its_hint(kafka_node: KafkaNode) -> None:
    async def deny(*_: object) -> None:
        raise ClusterUnavailable("not allowed", hint="Give our principal an ACL.", is_denied=True)

    kafka_node.cluster.check_creation = deny  # type: ignore[method-assign]
    with pytest.raises(ClusterUnavailable, match=r"^not allowed; the change is not applied$") as refused:
        await kafka_node.create("orders")
    assert (refused.value.hint, refused.value.is_of_one_topic) == ("Give our principal an ACL.", True)


async def test_a_forced_end_that_meets_a_topic_made_meanwhile_says_that_the_others_are_gone(
    kafka_node: KafkaNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    await kafka_node.create("orders")
    delete = kafka_node.cluster.delete

    async def delete_while_another_is_made(name: str) -> None:
        await kafka_node.create("late")
        await delete(name)

    monkeypatch.setattr(kafka_node.cluster, "delete", delete_while_another_is_made)
    with pytest.raises(NotEmpty, match=r"created in it meanwhile; those it had are deleted$") as refused:
        await kafka_node.writing.delete_namespace("public/default", kafka_node.asked(), force=True)
    assert "use force" not in refused.value.hint
    assert kafka_node.cluster.partitions() == {"late": 1}


async def test_labels_and_policies_never_wait_for_kafka(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders")
    kafka_node.cluster.is_reachable = False
    await kafka_node.label(team="pay")
    assert kafka_node.labels() == {"team": "pay"}


async def test_the_answers_version_is_the_one_that_the_next_change_must_name(kafka_node: KafkaNode) -> None:
    written = await kafka_node.writing.create_topic(ORDERS, TopicRecord(2), kafka_node.asked())
    grown = await kafka_node.writing.grow_partitions(ORDERS, 3, kafka_node.asked(if_match=written.etag))
    await kafka_node.writing.delete_topic(ORDERS, kafka_node.asked(if_match=grown.etag))
    assert kafka_node.cluster.partitions() == {}


async def test_whoever_has_come_to_the_answers_position_has_seen_that_kafka_followed(
    kafka_node: KafkaNode, store: MemoryStore
) -> None:
    for change in (
        kafka_node.writing.create_topic(ORDERS, TopicRecord(2), kafka_node.asked()),
        kafka_node.writing.grow_partitions(ORDERS, 3, kafka_node.asked()),
        kafka_node.writing.delete_topic(ORDERS, kafka_node.asked()),
    ):
        written = await change
        assert written.revision.positions == {0: len(store.entries[0])}


async def test_a_repeated_request_has_the_version_of_the_first_answer_and_it_is_the_current_one(
    kafka_node: KafkaNode,
) -> None:
    def asked(number: int, **fields: Any) -> Asked:
        return kafka_node.asked(key=f"k{number}", actor="a", **fields)

    made = [await kafka_node.writing.create_topic(ORDERS, TopicRecord(2), asked(1)) for _ in range(2)]
    grown = [await kafka_node.writing.grow_partitions(ORDERS, 3, asked(2, if_match=made[0].etag)) for _ in range(2)]
    assert kafka_node.pending("orders") is None
    ended = [await kafka_node.writing.delete_topic(ORDERS, asked(3, if_match=grown[0].etag)) for _ in range(2)]
    assert [len({each.etag for each in answers}) for answers in (made, grown, ended)] == [1, 1, 1]


async def test_a_creations_answer_does_not_cover_what_another_changed_before_kafka_had_followed(
    kafka_node: KafkaNode,
) -> None:
    make = kafka_node.cluster.create

    async def create(name: str, partitions: int, settings: Mapping[str, str] | None = None) -> None:
        await kafka_node.label(team="pay")
        await make(name, partitions, settings)

    kafka_node.cluster.create = create  # type: ignore[method-assign]
    written = await kafka_node.writing.create_topic(ORDERS, TopicRecord(), kafka_node.asked())
    with pytest.raises(PreconditionFailed):
        await kafka_node.writing.set_labels(ORDERS, {"team": "web"}, kafka_node.asked(if_match=written.etag))


async def test_that_kafka_has_followed_changes_nothing_that_an_etag_stands_for(kafka_node: KafkaNode) -> None:
    with kafka_node.events() as events:
        await kafka_node.create("orders")
    verdicts = [operation.verdict for event in events for operation in event.operations]
    assert verdicts == [Verdict.CHANGED, Verdict.UNCHANGED]


async def test_a_topic_grows_in_kafka_too(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders", 2)
    await kafka_node.writing.grow_partitions(ORDERS, 5, kafka_node.asked())
    assert kafka_node.cluster.partitions() == {"orders": 5}
    assert kafka_node.record("orders") == TopicRecord(5)


async def test_a_topic_does_not_grow_to_fewer_partitions_than_kafka_has(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders", 2)
    await kafka_node.cluster.grow("orders", 6)
    with pytest.raises(FewerPartitions, match="6 partitions"):
        await kafka_node.writing.grow_partitions(ORDERS, 4, kafka_node.asked())
    assert kafka_node.record("orders") == TopicRecord(2)


async def test_asking_for_as_many_partitions_as_recorded_makes_kafka_good(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders", 2)
    await kafka_node.cluster.delete("orders")
    await kafka_node.writing.grow_partitions(ORDERS, 2, kafka_node.asked())
    assert kafka_node.cluster.partitions() == {"orders": 2}


async def test_a_plain_topic_does_not_grow(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders")
    with pytest.raises(WrongKind):
        await kafka_node.writing.grow_partitions(ORDERS, 4, kafka_node.asked())


async def test_a_topic_ends_with_its_kafka_topic(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders", 2)
    await kafka_node.cluster.create("bystander", 1)
    await kafka_node.writing.delete_topic(ORDERS, kafka_node.asked())
    assert kafka_node.record("orders") is None
    assert kafka_node.cluster.partitions() == {"bystander": 1}


async def test_a_topic_whose_kafka_topic_is_gone_ends_all_the_same(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders")
    await kafka_node.cluster.delete("orders")
    await kafka_node.writing.delete_topic(ORDERS, kafka_node.asked())
    assert kafka_node.record("orders") is None


@pytest.mark.parametrize(
    ("fields", "error"), [({"if_match": "another.1"}, PreconditionFailed), ({"is_partitioned": False}, WrongKind)]
)
async def test_a_deletion_that_is_refused_leaves_kafka_alone(
    kafka_node: KafkaNode, fields: dict[str, object], error: type[TopicfoldError]
) -> None:
    await kafka_node.create("orders", 2)
    kind = fields.pop("is_partitioned", None)
    with pytest.raises(error):
        await kafka_node.writing.delete_topic(ORDERS, kafka_node.asked(**fields), is_partitioned=kind)
    assert kafka_node.cluster.partitions() == {"orders": 2}
    assert kafka_node.pending("orders") is None


async def test_a_kafka_topic_that_another_record_stands_for_survives_the_first(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders")
    elsewhere = Writing(kafka_node.engine)
    await elsewhere.record_topic(parse_topic("twin"), TopicRecord(kafka_name="orders"), kafka_node.asked())
    await kafka_node.writing.delete_topic(ORDERS, kafka_node.asked())
    assert kafka_node.cluster.partitions() == {"orders": 1}
    await kafka_node.writing.delete_topic(parse_topic("twin"), kafka_node.asked())
    assert kafka_node.cluster.partitions() == {}


@pytest.mark.parametrize("kafka_name", [LOG_TOPIC, "__change_events", "__consumer_offsets", "_schemas"])
async def test_internal_topics_outlive_records_that_name_them(kafka_node: KafkaNode, kafka_name: str) -> None:
    await kafka_node.cluster.create(kafka_name, 1)
    await kafka_node.writing.record_topic(ORDERS, TopicRecord(2, kafka_name=kafka_name), kafka_node.asked())
    await kafka_node.writing.grow_partitions(ORDERS, 3, kafka_node.asked())
    await kafka_node.writing.delete_topic(ORDERS, kafka_node.asked())
    assert kafka_node.record("orders") is None
    assert kafka_node.cluster.partitions() == {kafka_name: 1}


async def make_unreadable(kafka_node: KafkaNode) -> None:
    """Give `orders` a record that cannot be read."""
    state = kafka_node.engine.states[0]
    incarnation = state.namespaces["public/default"].incarnation
    version = state.topics["public/default"].get("orders").version
    kafka_node.log.store.append(0, encode_event(topic_put(7, incarnation, version, payload=b"\xff")))
    await kafka_node.caught_up()


async def test_a_topic_whose_record_cannot_be_read_ends_and_kafka_is_left_alone(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders")
    await make_unreadable(kafka_node)
    await kafka_node.writing.delete_topic(ORDERS, kafka_node.asked())
    assert kafka_node.cluster.partitions() == {"orders": 1}


@pytest.mark.parametrize("method", ["create_topic", "record_topic"])
async def test_a_topic_whose_record_cannot_be_read_may_be_made_anew(kafka_node: KafkaNode, method: str) -> None:
    await kafka_node.create("orders")
    await make_unreadable(kafka_node)
    await getattr(kafka_node.writing, method)(ORDERS, TopicRecord(labels={"team": "pay"}), kafka_node.asked())
    assert kafka_node.record("orders") == TopicRecord(labels={"team": "pay"})
    assert kafka_node.cluster.partitions() == {"orders": 1}


async def test_a_kafka_topic_is_left_alone_that_a_record_may_stand_for_which_cannot_be_read(
    kafka_node: KafkaNode,
) -> None:
    await kafka_node.create("orders")
    twin = parse_topic("twin")
    await Writing(kafka_node.engine).record_topic(twin, TopicRecord(kafka_name="orders"), kafka_node.asked())
    await make_unreadable(kafka_node)
    await kafka_node.writing.delete_topic(twin, kafka_node.asked())
    assert kafka_node.cluster.partitions() == {"orders": 1}


async def test_a_deletion_does_not_say_that_it_deleted_a_kafka_topic_that_another_record_took_meanwhile() -> None:
    class Taken(WilfulCluster):
        looks = 0

        async def topic(self, name: str) -> KafkaTopic | None:
            found = await super().topic(name)
            self.looks += 1
            if self.looks == 1:
                twin = TopicRecord(kafka_name="orders")
                await Writing(node.engine).record_topic(parse_topic("twin"), twin, node.asked())
            return found

    async with attached(MemoryStore(partitions=1), Taken()) as node:
        await Writing(node.engine).record_topic(ORDERS, TopicRecord(), node.asked())
        await WilfulCluster.create(node.cluster, "orders", 1)
        deleted = await node.writing.delete_topic(ORDERS, node.asked())
        assert (deleted.deleted_kafka_topic, node.cluster.partitions()) == ("", {"orders": 1})
