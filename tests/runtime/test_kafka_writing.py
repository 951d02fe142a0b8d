"""Topics that are made, grown and ended in Kafka too: nothing half done, whatever dies in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.builders import topic_put
from tests.runtime.kafka_nodes import LOG_TOPIC, Crash, KafkaNode, WilfulCluster, attached
from tests.runtime.nodes import ORDERS, running
from topicfold.errors import (
    AlreadyExists,
    ClusterRefused,
    ClusterUnavailable,
    FewerPartitions,
    InvalidName,
    NamespaceNotFound,
    NotEmpty,
    OutcomeUnknown,
    PreconditionFailed,
    TopicfoldError,
    TopicNotFound,
    WrongKind,
)
from topicfold.log.codec import encode_event
from topicfold.log.memory import MemoryStore
from topicfold.model.adoption import KafkaTopic
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, Pending, Step, TenantRecord, TopicRecord
from topicfold.runtime.asking import Written
from topicfold.runtime.writing import Writing

UNSAFE_NAMES = ["a b", "große", "a*", "__internal", "_schemas", LOG_TOPIC]


@pytest.fixture
async def kafka_node(store: MemoryStore) -> AsyncIterator[KafkaNode]:
    async with attached(store, WilfulCluster()) as node:
        yield node


async def id_of(node: KafkaNode, kafka_topic: str) -> str:
    found = await node.cluster.topic(kafka_topic)
    assert found is not None
    return found.id


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


async def test_a_name_kafka_cannot_have_may_be_recorded_under_another_one(kafka_node: KafkaNode) -> None:
    await kafka_node.create("große", kafka_name="grosse")
    assert kafka_node.cluster.partitions() == {"grosse": 1}


async def test_a_kafka_topic_with_as_many_partitions_is_taken_as_it_is(kafka_node: KafkaNode) -> None:
    await kafka_node.cluster.create("orders", 3)
    before = await id_of(kafka_node, "orders")
    await kafka_node.create("orders", 3)
    assert kafka_node.record("orders") == TopicRecord(3)
    assert await id_of(kafka_node, "orders") == before


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
    with pytest.raises(AlreadyExists, match="legacy is that of another topic"):
        await kafka_node.create("legacy")
    await kafka_node.create("bills")
    with pytest.raises(AlreadyExists, match="bills is that of another topic"):
        await kafka_node.create("more", kafka_name="bills")
    with pytest.raises(AlreadyExists, match="bills is that of another topic"):
        await kafka_node.writing.record_topic(parse_topic("m"), TopicRecord(kafka_name="bills"), kafka_node.asked())


async def test_a_non_persistent_topic_holds_no_kafka_topic(kafka_node: KafkaNode) -> None:
    await kafka_node.create("non-persistent://public/default/calls", kafka_name="orders")
    await kafka_node.create("orders")
    assert kafka_node.cluster.partitions() == {"orders": 1}


async def test_what_kafka_refuses_is_refused_and_remembered_under_the_clients_key(kafka_node: KafkaNode) -> None:
    asked = kafka_node.asked(key="k", method="PUT", actor="a")

    async def refuse(name: str, partitions: int) -> None:
        raise ClusterRefused("its policy is against it", kafka_topic=name)

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
            with pytest.raises(ClusterUnavailable):
                await change
    assert events == []


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


async def test_a_topic_whose_record_cannot_be_read_ends_and_kafka_is_left_alone(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders")
    state = kafka_node.engine.states[0]
    incarnation = state.namespaces["public/default"].incarnation
    version = state.topics["public/default"].version("orders")
    kafka_node.log.store.append(0, encode_event(topic_put(7, incarnation, version, payload=b"\xff")))
    await kafka_node.caught_up()
    await kafka_node.writing.delete_topic(ORDERS, kafka_node.asked())
    assert kafka_node.cluster.partitions() == {"orders": 1}


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
    with pytest.raises(OutcomeUnknown, match="not allowed"):
        await kafka_node.writing.delete_topic(ORDERS, kafka_node.asked())
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
    with pytest.raises(NotEmpty):
        await kafka_node.writing.delete_namespace("public/default", kafka_node.asked())
    assert kafka_node.cluster.partitions() == {"orders": 1}


async def test_a_namespace_of_another_version_keeps_its_topics(kafka_node: KafkaNode) -> None:
    await kafka_node.create("orders")
    with pytest.raises(PreconditionFailed):
        await kafka_node.writing.delete_namespace("public/default", kafka_node.asked(if_match="old.1"), force=True)
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
    with pytest.raises(OutcomeUnknown, match="2 of 3 topics"):
        await kafka_node.writing.delete_namespace("public/default", asked, force=True)
    kafka_node.cluster.delete = delete
    await kafka_node.writing.delete_namespace("public/default", asked, force=True)
    await kafka_node.writing.delete_namespace("public/default", replace(asked, deadline=asked.deadline + 5), force=True)
    assert kafka_node.cluster.partitions() == {}


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
