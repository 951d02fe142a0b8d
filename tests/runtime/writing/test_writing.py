"""Every change a user can ask for, and every no."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection

import pytest

from tests.builders import NAMESPACE, TOPIC, tenant_put, topic_put
from tests.memory_log import MemoryStore
from tests.runtime.histories import append_unreadable
from tests.runtime.nodes import ORDERS, Node, running, turns
from topicfold import errors
from topicfold.log.codec import encode_event
from topicfold.log.payload import MAX_PAYLOAD_BYTES
from topicfold.log.port import Failed
from topicfold.model.events import PAYLOAD_SCHEMA, AggregateKind, Verdict, is_refusal
from topicfold.model.labels import LabelRules
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, TenantRecord, TopicRecord
from topicfold.runtime import tenancy
from topicfold.runtime.asking import Asked
from topicfold.runtime.engine import Engine
from topicfold.runtime.revision import Revision
from topicfold.runtime.writing.refusals import refusal


@pytest.fixture
async def wide() -> AsyncIterator[Node]:
    """A node over a log of eight partitions, so that tenants and namespaces live apart."""
    async with running(MemoryStore(partitions=8)) as node:
        yield node


async def acme(node: Node) -> None:
    """Make the tenant `acme` and its namespace `acme/pay`."""
    await node.writing.create_tenant("acme", TenantRecord(), node.asked())
    await node.writing.create_namespace("acme/pay", NamespaceRecord(), node.asked())


async def unreadable(node: Node, store: MemoryStore) -> None:
    """Have the topic `orders` with a payload that nobody can read."""
    append_unreadable(node, store)
    await node.caught_up()


async def test_a_topic_is_made_once(node: Node) -> None:
    record = TopicRecord(partitions=3, properties={"p": "1"}, labels={"team": "pay"})
    written = await node.writing.create_topic(ORDERS, record, node.asked())
    view = node.reading.topic(ORDERS)
    assert (view.name, view.record, view.etag) == (TOPIC, record, written.etag)
    with pytest.raises(errors.AlreadyExists):
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())


async def test_a_topic_needs_its_namespace(node: Node) -> None:
    with pytest.raises(errors.NamespaceNotFound) as caught:
        await node.writing.create_topic(parse_topic("public/lost/orders"), TopicRecord(), node.asked())
    assert (caught.value.values["name"], caught.value.hint) == (
        "public/lost",
        "topicfold namespaces create public/lost",
    )


async def test_a_name_without_a_kafka_name_needs_an_explicit_one(node: Node) -> None:
    dotted = parse_topic("a..b")
    with pytest.raises(errors.InvalidName):
        await node.writing.create_topic(dotted, TopicRecord(), node.asked())
    await node.writing.create_topic(dotted, TopicRecord(kafka_name="a-b"), node.asked())


async def test_labels_that_break_the_rules_are_refused_before_anything_is_written(store: MemoryStore) -> None:
    rules = LabelRules(allowed_keys=frozenset({"team"}), max_value_length=3)
    async with running(store, label_rules=rules) as node:
        with node.events() as appended, pytest.raises(errors.InvalidLabels) as caught:
            await node.writing.create_topic(ORDERS, TopicRecord(labels={"team": "long", "x": "y"}), node.asked())
        assert [each["path"] for each in caught.value.values["violations"]] == ["labels.team", "labels.x"]
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        with pytest.raises(errors.InvalidLabels):
            await node.label(x="y")
        assert appended == []


async def test_labels_that_were_allowed_when_they_were_written_stay_readable(orders: Node, store: MemoryStore) -> None:
    await orders.label(team="pay")
    async with running(store, label_rules=LabelRules(allowed_keys=frozenset())) as strict:
        assert strict.labels() == {"team": "pay"}
        assert strict.digests() == orders.digests()


async def test_a_topic_has_at_most_64_labels_over_all_requests(orders: Node) -> None:
    for start in (0, 32):
        await orders.label(**{f"k{number}": "v" for number in range(start, start + 32)})
    with pytest.raises(errors.InvalidLabels, match="65 labels"):
        await orders.label(one_more="v")
    await orders.label(k0="changed")


async def test_labels_are_merged_and_taken_off(orders: Node) -> None:
    await orders.label(team="pay", tier="gold")
    await orders.label(tier="lead")
    assert orders.labels() == {"team": "pay", "tier": "lead"}
    await orders.writing.remove_labels(ORDERS, ["team", "absent"], orders.asked())
    assert orders.labels() == {"tier": "lead"}
    await orders.writing.remove_labels(ORDERS, None, orders.asked())
    assert orders.labels() == {}


async def test_a_deleted_topic_is_gone_and_starts_clean_when_made_again(orders: Node) -> None:
    await orders.label(team="pay")
    await orders.writing.delete_topic(ORDERS, orders.asked())
    for missing in (lambda: orders.reading.topic(ORDERS), lambda: orders.reading.labels(ORDERS)):
        with pytest.raises(errors.TopicNotFound):
            missing()
    with pytest.raises(errors.TopicNotFound):
        await orders.writing.delete_topic(ORDERS, orders.asked())
    await orders.writing.create_topic(ORDERS, TopicRecord(), orders.asked())
    assert orders.labels() == {}


async def test_a_topic_of_the_other_kind_is_not_deleted(orders: Node) -> None:
    with pytest.raises(errors.WrongKind):
        await orders.writing.delete_topic(ORDERS, orders.asked(), is_partitioned=True)
    await orders.writing.delete_topic(ORDERS, orders.asked(), is_partitioned=False)


async def test_partitions_grow_and_do_not_shrink(node: Node) -> None:
    await node.writing.create_topic(ORDERS, TopicRecord(partitions=2, labels={"a": "b"}), node.asked())
    await node.writing.grow_partitions(ORDERS, 5, node.asked())
    assert node.reading.topic(ORDERS).record == TopicRecord(partitions=5, labels={"a": "b"})
    with pytest.raises(errors.TopicfoldError) as caught:
        await node.writing.grow_partitions(ORDERS, 4, node.asked())
    assert "cannot be reduced" in caught.value.reason


async def test_a_record_that_would_be_too_large_is_refused(orders: Node) -> None:
    huge = TopicRecord(properties={"p": "x" * MAX_PAYLOAD_BYTES})
    with pytest.raises(errors.TooLarge):
        await orders.writing.create_topic(parse_topic("huge"), huge, orders.asked())
    with pytest.raises(errors.TopicNotFound):
        orders.reading.topic(parse_topic("huge"))


async def test_an_unreadable_topic_refuses_changes_and_is_repaired_by_a_delete(node: Node, store: MemoryStore) -> None:
    await unreadable(node, store)
    assert node.reading.topic(ORDERS).record is None
    with pytest.raises(errors.Undecodable):
        await node.label(team="pay")
    await node.writing.delete_topic(ORDERS, node.asked())
    await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
    await node.label(team="pay")
    assert node.labels() == {"team": "pay"}


async def test_an_unreadable_topic_is_repaired_by_a_whole_record(node: Node, store: MemoryStore) -> None:
    await unreadable(node, store)
    await node.writing.create_topic(ORDERS, TopicRecord(labels={"team": "pay"}), node.asked())
    assert node.labels() == {"team": "pay"}


async def test_a_topic_written_by_a_newer_node_is_left_alone(node: Node, store: MemoryStore) -> None:
    life = node.engine.states[0].namespaces[NAMESPACE].incarnation
    store.append(0, encode_event(topic_put(7, life, payload_schema=PAYLOAD_SCHEMA + 1)))
    await node.caught_up()
    for _ in range(2):
        with pytest.raises(errors.NewerSchema):
            await node.writing.set_labels(ORDERS, {"team": "pay"}, node.asked(key="k"))
    assert node.engine.states[0].current(AggregateKind.TOPIC, TOPIC).payload_schema == PAYLOAD_SCHEMA + 1


async def test_a_namespace_is_made_once_and_only_for_a_tenant_that_exists(wide: Node) -> None:
    with pytest.raises(errors.TenantNotFound):
        await wide.writing.create_namespace("acme/pay", NamespaceRecord(), wide.asked())
    await acme(wide)
    with pytest.raises(errors.AlreadyExists):
        await wide.writing.create_namespace("acme/pay", NamespaceRecord(), wide.asked())
    assert wide.reading.namespaces("acme") == ["acme/pay"]


async def test_a_namespace_with_topics_is_deleted_only_by_force(wide: Node) -> None:
    await acme(wide)
    name = parse_topic("acme/pay/orders")
    await wide.writing.create_topic(name, TopicRecord(), wide.asked())
    with pytest.raises(errors.NotEmpty):
        await wide.writing.delete_namespace("acme/pay", wide.asked())
    assert wide.reading.topic(name).record == TopicRecord()
    await wide.writing.delete_namespace("acme/pay", wide.asked(), force=True)
    with pytest.raises(errors.NamespaceNotFound):
        wide.reading.topic(name)


async def test_a_namespace_that_lost_its_topics_is_deleted_without_force(wide: Node) -> None:
    await acme(wide)
    name = parse_topic("acme/pay/orders")
    await wide.writing.create_topic(name, TopicRecord(), wide.asked())
    await wide.writing.delete_topic(name, wide.asked())
    await wide.writing.delete_namespace("acme/pay", wide.asked())
    with pytest.raises(errors.NamespaceNotFound):
        await wide.writing.delete_namespace("acme/pay", wide.asked())


async def test_a_topic_that_another_node_made_in_time_keeps_its_namespace(store: MemoryStore) -> None:
    async with running(store) as one, running(store) as other:
        await other.caught_up()
        other.log.pause()
        await one.writing.create_topic(ORDERS, TopicRecord(), one.asked())
        delete = asyncio.create_task(other.writing.delete_namespace(NAMESPACE, other.asked()))
        await turns()
        other.log.resume()
        with pytest.raises(errors.NotEmpty):
            await delete
        assert one.labels() == {}


async def test_a_tenant_is_made_changed_and_deleted(wide: Node) -> None:
    await wide.writing.create_tenant("acme", TenantRecord(("root",)), wide.asked())
    with pytest.raises(errors.AlreadyExists):
        await wide.writing.create_tenant("acme", TenantRecord(), wide.asked())
    await wide.writing.update_tenant("acme", TenantRecord(("ann",), ("standalone",)), wide.asked())
    assert wide.reading.tenant("acme")[0] == TenantRecord(("ann",), ("standalone",))
    await wide.writing.delete_tenant("acme", wide.asked())
    for missing in (wide.writing.delete_tenant("acme", wide.asked()),
                    wide.writing.update_tenant("acme", TenantRecord(), wide.asked())):  # fmt: skip
        with pytest.raises(errors.TenantNotFound):
            await missing


async def test_a_change_is_not_made_before_the_position_that_it_names_is_folded(orders: Node) -> None:
    beyond = Revision(orders.engine.identity.incarnation, {0: 10_000})
    with pytest.raises(errors.PositionTimeout):
        await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked(0.02, minimum=beyond))
    assert orders.labels() == {}


async def test_a_tenant_with_namespaces_stays(wide: Node) -> None:
    await acme(wide)
    with pytest.raises(errors.NotEmpty, match="acme/pay"):
        await wide.writing.delete_tenant("acme", wide.asked())
    await wide.writing.delete_namespace("acme/pay", wide.asked())
    await wide.writing.delete_tenant("acme", wide.asked())
    with pytest.raises(errors.TenantNotFound):
        wide.reading.tenant("acme")


async def test_a_tenant_whose_namespaces_end_too_slowly_is_not_told_of_by_the_operation_that_ended_one(
    wide: Node,
) -> None:
    await acme(wide)
    wide.log.fate = wide.log.hold
    with pytest.raises(errors.OutcomeUnknown, match="acme was not deleted") as unknown:
        await wide.writing.delete_tenant("acme", wide.asked(0.1, key="k"), force=True)
    wide.log.release()
    await wide.caught_up()
    partition, handle = unknown.value.values["operation"].split("-")
    assert wide.reading.namespaces("acme") == []
    assert wide.reading.operation(int(partition), "", bytes.fromhex(handle)) is None
    await wide.writing.delete_tenant("acme", wide.asked(key="k"), force=True)
    assert wide.reading.operation(int(partition), "", bytes.fromhex(handle)) is not None


async def test_the_namespaces_of_a_tenant_end_several_at_once(wide: Node) -> None:
    await acme(wide)
    await wide.writing.create_namespace("acme/web", NamespaceRecord(), wide.asked())
    await wide.writing.create_topic(parse_topic("acme/web/orders"), TopicRecord(), wide.asked())
    wide.log.fate = wide.log.hold
    delete = asyncio.create_task(wide.writing.delete_tenant("acme", wide.asked(), force=True))
    await turns()
    assert len(wide.log.held) == 2
    wide.log.release()
    await delete
    assert "acme" not in wide.reading.tenants()


async def test_of_a_tenant_whose_namespaces_could_not_all_be_ended_it_is_told_how_many_are(wide: Node) -> None:
    await acme(wide)
    await wide.writing.create_namespace("acme/web", NamespaceRecord(), wide.asked())

    def full_for_pay(partition: int, value: bytes, failed: Failed) -> None:
        fate = wide.log.be_full if b"acme/pay" in value else wide.log.take
        fate(partition, value, failed)

    wide.log.fate = full_for_pay
    with pytest.raises(errors.OutcomeUnknown, match="acme was not deleted; 1 of its namespaces were"):
        await wide.writing.delete_tenant("acme", wide.asked(), force=True)
    assert wide.reading.namespaces("acme") == ["acme/pay"]


async def test_a_tenant_of_which_nothing_could_be_ended_is_refused_like_any_other_write(wide: Node) -> None:
    await acme(wide)
    wide.log.fate = wide.log.be_full
    with pytest.raises(errors.LogUnavailable):
        await wide.writing.delete_tenant("acme", wide.asked(), force=True)


async def test_a_tenant_that_is_made_between_the_two_looks_is_found(
    wide: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, looks = tenancy.look_at, []

    async def made_after_the_first(engine: Engine, partitions: Collection[int], asked: Asked) -> None:
        await look(engine, partitions, asked)
        looks.append(asked)
        if len(looks) == 1:
            partition = wide.engine.partition("acme")
            wide.log.store.append(partition, encode_event(tenant_put(7, name="acme")))

    monkeypatch.setattr(tenancy, "look_at", made_after_the_first)
    await wide.writing.create_namespace("acme/pay", NamespaceRecord(), wide.asked())
    assert len(looks) == 2


async def test_a_tenant_whose_namespace_was_just_made_on_another_node_stays() -> None:
    store = MemoryStore(partitions=8)
    async with running(store) as one, running(store) as other:
        await one.writing.create_tenant("acme", TenantRecord(), one.asked())
        await other.caught_up()
        other.log.pause()
        await one.writing.create_namespace("acme/pay", NamespaceRecord(), one.asked())
        delete = asyncio.create_task(other.writing.delete_tenant("acme", other.asked()))
        await turns()
        other.log.resume()
        with pytest.raises(errors.NotEmpty):
            await delete


async def test_a_tenant_that_was_just_made_on_another_node_is_found() -> None:
    store = MemoryStore(partitions=8)
    async with running(store) as one, running(store) as other:
        await other.caught_up()
        other.log.pause()
        await one.writing.create_tenant("acme", TenantRecord(), one.asked())
        make = asyncio.create_task(other.writing.create_namespace("acme/pay", NamespaceRecord(), other.asked()))
        await turns()
        other.log.resume()
        assert (await make).changed


async def test_a_refused_key_in_a_missing_tenant_stays_refused(wide: Node) -> None:
    for _ in range(2):
        with pytest.raises(errors.TenantNotFound):
            await wide.writing.create_namespace("acme/pay", NamespaceRecord(), wide.asked(key="k"))
        if "acme" not in wide.reading.tenants():
            await wide.writing.create_tenant("acme", TenantRecord(), wide.asked())


async def test_who_and_why_is_in_the_log(orders: Node) -> None:
    asked = orders.asked(actor="ann", reason="PCI audit", request_id="r-1")
    with orders.events() as appended:
        await orders.writing.set_labels(ORDERS, {"team": "pay"}, asked)
    assert all(word in appended[0].audit for word in (b"ann", b"PCI audit", b"r-1"))


@pytest.mark.parametrize("verdict", [each for each in Verdict if is_refusal(each)])
async def test_every_refusal_has_an_error_of_its_own_even_when_its_reason_was_lost(
    node: Node, verdict: Verdict
) -> None:
    target = node.engine.target(AggregateKind.TOPIC, TOPIC, NAMESPACE)
    error = refusal(verdict, None, target, "etag")
    assert isinstance(error, errors.FixRequest | errors.Reread)
    assert error.reason


async def test_a_refusal_by_a_newer_node_is_still_a_refusal(node: Node) -> None:
    error = refusal(99, None, node.engine.target(AggregateKind.TOPIC, TOPIC, NAMESPACE), "etag")
    assert "99" in error.reason
