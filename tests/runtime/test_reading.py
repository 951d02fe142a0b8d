"""Answers from one cut of the log, as new as was asked for."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping

import pytest

from tests.builders import NAMESPACE
from tests.memory_log import MemoryStore
from tests.runtime.histories import append_unreadable
from tests.runtime.nodes import ORDERS, Node, running, turns
from topicfold.errors import (
    LogUnavailable,
    NamespaceNotFound,
    OperatorNeeded,
    PositionTimeout,
    TenantNotFound,
    TopicNotFound,
)
from topicfold.model.names import parse_topic
from topicfold.model.namespaces import Namespaces
from topicfold.model.records import TopicRecord
from topicfold.runtime import reading, slices
from topicfold.runtime.asking import Consistency
from topicfold.runtime.finding import listed_names
from topicfold.runtime.finding.finding import Finding
from topicfold.runtime.reading import BARRIER_SECONDS, FOLD_SECONDS
from topicfold.runtime.revision import Revision


async def topics(node: Node) -> None:
    """Make topics of every kind."""
    for name, record in {
        "b": TopicRecord(labels={"team": "pay", "tier": "gold"}),
        "a": TopicRecord(labels={"team": "pay"}),
        "p": TopicRecord(partitions=2, labels={"team": "ship"}),
        "non-persistent://public/default/n": TopicRecord(labels={"team": "pay"}),
    }.items():
        await node.writing.create_topic(parse_topic(name), record, node.asked())


def local(names: list[str]) -> list[str]:
    """Return the names without what all have in common."""
    return [name.replace(f"://{NAMESPACE}/", ":").replace("persistent:", "") for name in names]


async def listed(
    node: Node, labels: dict[str, str], domain: str | None, *, only_partitioned: bool = False
) -> list[str]:
    """Return the names of the topics with these labels, as Pulsar lists them."""
    query = listed_names.listing_query(labels, with_system_topics=False)
    found = await Finding(node.engine).find(Namespaces((NAMESPACE,)), query, lambda namespace: None)
    return await listed_names.listed_names(found, domain, only_partitioned=only_partitioned)


@pytest.mark.parametrize(
    ("labels", "domain", "only_partitioned", "names"),
    [
        ({}, "persistent", False, ["a", "b", "p-partition-0", "p-partition-1"]),
        ({}, "non-persistent", False, ["non-n"]),
        ({}, None, False, ["non-n", "a", "b", "p-partition-0", "p-partition-1"]),
        ({"team": "ship"}, None, False, ["p-partition-0", "p-partition-1"]),
        ({"team": "pay", "tier": "gold"}, None, False, ["b"]),
        ({"team": "nobody"}, None, False, []),
        ({}, None, True, ["p"]),
        ({"team": "pay"}, None, True, []),
    ],
)
async def test_names_are_listed_as_pulsar_lists_them(
    node: Node, labels: dict[str, str], domain: str | None, only_partitioned: bool, names: list[str]
) -> None:
    await topics(node)
    assert local(await listed(node, labels, domain, only_partitioned=only_partitioned)) == names


async def test_names_are_of_one_cut_whatever_changes_while_they_are_listed(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    monkeypatch.setattr(listed_names, "CHUNK", 1)
    await topics(node)
    listing = asyncio.create_task(listed(node, {}, "persistent"))
    await turns(2)
    table = node.engine.tables.of(NAMESPACE)
    assert table is not None
    counts = table.partitions.copy()
    table.partitions.clear()
    assert not listing.done()
    assert local(await listing) == ["a", "b", "p-partition-0", "p-partition-1"]
    table.partitions.update(counts)


@pytest.mark.parametrize("chunk", [1, 2, 256])
async def test_names_are_sorted_whatever_stands_between_a_topic_and_its_partitions(
    node: Node, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(listed_names, "CHUNK", chunk)
    counts = {"a": 11, "a!": 0, "a!-partition": 2, "a$b": 3, "a-": 0, "a-q": 2, "b": 0, "a-partition-0!": 0}
    for name, partitions in counts.items():
        await node.writing.create_topic(parse_topic(name), TopicRecord(partitions), node.asked())
    expected = sorted(
        each
        for name, count in counts.items()
        for each in [f"{name}-partition-{index}" for index in range(count)] or [name]
    )
    assert local(await listed(node, {}, "persistent")) == expected


async def test_few_names_are_sorted_at_once(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed_names, "CHUNK", 4)
    for number in range(20):
        await node.writing.create_topic(parse_topic(f"t{number:02}"), TopicRecord(3), node.asked())
    at_once: list[int] = []

    def noting(names: list[str]) -> list[str]:
        at_once.append(len(names))
        return sorted(names)

    monkeypatch.setattr(listed_names, "sorted", noting, raising=False)
    assert len(await listed(node, {}, "persistent")) == 60
    assert 0 < max(at_once) <= 12


async def test_it_is_asked_only_of_what_is_listed_whether_it_is_of_the_inside_of_transactions(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "__transaction_log_0"):
        await node.writing.create_topic(parse_topic(name), TopicRecord(), node.asked())
    monkeypatch.delattr(listed_names, "is_transaction_topic")
    assert local(await listed(node, {}, "persistent")) == ["a"]


async def test_all_labels_of_a_namespace_are_listed_sorted(node: Node) -> None:
    await topics(node)
    labels = await node.reading.all_labels(NAMESPACE)
    assert (labels, list(labels)) == ({"team": ["pay", "ship"], "tier": ["gold"]}, ["team", "tier"])


async def test_an_unreadable_topic_is_listed_and_bears_no_labels(node: Node, store: MemoryStore) -> None:
    append_unreadable(node, store)
    await node.caught_up()
    assert local(await listed(node, {}, None)) == ["orders"]
    assert (node.labels(), node.reading.topic(ORDERS).record) == ({}, None)


async def test_what_is_not_there_is_not_found(node: Node) -> None:
    lost = parse_topic("public/lost/orders")
    for error, look in {
        TopicNotFound: lambda: node.reading.topic(ORDERS),
        NamespaceNotFound: lambda: node.reading.topic(lost),
        TenantNotFound: lambda: node.reading.namespaces("lost"),
    }.items():
        with pytest.raises(error):
            look()
    with pytest.raises(NamespaceNotFound, match="public/lost"):
        node.reading.namespace("public/lost")
    with pytest.raises(NamespaceNotFound, match="public/lost"):
        await node.reading.all_labels("public/lost")


async def test_a_local_read_waits_for_nothing_and_says_how_old_it_may_be(node: Node) -> None:
    node.log.answers.clear()
    cut = await node.reading.settle([0], node.asked())
    assert 0.0 <= cut.age_seconds < math.inf


async def test_a_read_waits_for_its_minimum_position(orders: Node, store: MemoryStore) -> None:
    async with running(store) as other:
        await other.caught_up()
        other.log.pause()
        written = await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked())
        read = asyncio.create_task(other.reading.settle([0], other.asked(minimum=written.revision)))
        await turns()
        assert not read.done()
        other.log.resume()
        cut = await read
        assert other.labels() == {"team": "pay"}
        assert cut.revision.positions[0] >= written.revision.positions[0]


async def test_a_minimum_that_is_not_reached_in_time_is_an_error(node: Node) -> None:
    beyond = Revision(node.engine.identity.incarnation, {0: 10_000})
    with pytest.raises(PositionTimeout) as caught:
        await node.reading.settle([0], node.asked(0.02, minimum=beyond))
    assert caught.value.values["wanted"] == 10_000


async def test_a_read_waits_for_every_component_and_gives_back_the_maximum() -> None:
    async with running(MemoryStore(partitions=4)) as node:
        minimum = Revision(node.engine.identity.incarnation, {1: 1, 2: 1})
        cut = await node.reading.settle([0], node.asked(minimum=minimum))
        assert cut.revision.positions == {0: node.engine.states[0].position, 1: 1, 2: 1}
        beyond = Revision(node.engine.identity.incarnation, {1: 99})
        with pytest.raises(PositionTimeout):
            await node.reading.settle([0], node.asked(0.02, minimum=beyond))


async def test_a_barrier_read_sees_what_any_node_had_acknowledged(orders: Node, store: MemoryStore) -> None:
    async with running(store) as other:
        for number in range(20):
            await orders.label(n=str(number))
            await other.reading.settle([0], other.asked(consistency=Consistency.BARRIER))
            assert other.labels() == {"n": str(number)}


async def test_a_barrier_read_gives_up_after_a_while_and_answers_from_what_is_folded(node: Node) -> None:
    node.log.answers.clear()
    before = asyncio.get_running_loop().time()
    cut = await node.reading.settle([0], node.asked(consistency=Consistency.BARRIER))
    assert 0.2 < asyncio.get_running_loop().time() - before < 2.0
    assert cut.age_seconds >= 0.2


async def test_a_barrier_read_waits_longer_for_what_it_knows_to_be_missing(
    orders: Node, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ends_by(deadline: float) -> Mapping[int, int]:
        return await other.engine.barriers.ends()

    async with running(store) as other:
        await other.caught_up()
        other.log.pause()
        await orders.label(team="pay")
        monkeypatch.setattr(other.engine.barriers, "ends_by", ends_by)
        read = asyncio.create_task(other.reading.settle([0], other.asked(consistency=Consistency.BARRIER)))
        await asyncio.sleep(BARRIER_SECONDS + 0.1)
        assert not read.done()
        other.log.resume()
        await read
        assert other.labels() == {"team": "pay"}


async def test_it_gives_up_on_that_too_and_says_how_old_it_is(
    orders: Node, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "FOLD_SECONDS", 0.05)
    async with running(store) as other:
        await other.caught_up()
        other.log.pause()
        await orders.label(team="pay")
        cut = await other.reading.settle([0], other.asked(consistency=Consistency.BARRIER))
        assert other.labels() == {}
        assert cut.age_seconds >= 0.05


async def test_it_takes_no_longer_than_its_request_may(orders: Node, store: MemoryStore) -> None:
    async with running(store) as other:
        await other.caught_up()
        other.log.pause()
        await orders.label(team="pay")
        before = asyncio.get_running_loop().time()
        await other.reading.settle([0], other.asked(0.3, consistency=Consistency.BARRIER))
        assert asyncio.get_running_loop().time() - before < FOLD_SECONDS / 2


async def test_it_does_not_wait_for_a_partition_that_has_stopped(orders: Node, store: MemoryStore) -> None:
    async with running(store) as other:
        await other.caught_up()
        other.engine.reader.stop(OperatorNeeded("a record of another log"), 0)
        await orders.label(team="pay")
        before = asyncio.get_running_loop().time()
        await other.reading.settle([0], other.asked(consistency=Consistency.BARRIER))
        assert other.labels() == {}
        assert asyncio.get_running_loop().time() - before < FOLD_SECONDS / 2


async def test_it_does_not_wait_for_a_partition_that_cannot_be_reached_but_for_the_others() -> None:
    store = MemoryStore(partitions=8)
    async with running(store) as node, running(store) as other:
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        await node.label(team="pay")
        other.log.silent = {5}
        await other.reading.settle([5, 3], other.asked(consistency=Consistency.BARRIER))
        assert other.labels() == {"team": "pay"}


async def test_it_waits_no_longer_for_a_silent_log_than_its_request_may(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BARRIER_SECONDS", 30.0)
    node.log.answers.clear()
    before = asyncio.get_running_loop().time()
    await node.reading.settle([0], node.asked(0.05, consistency=Consistency.BARRIER))
    assert asyncio.get_running_loop().time() - before < 15


async def test_a_barrier_read_does_not_wait_for_a_log_that_is_known_to_be_gone(node: Node) -> None:
    node.log.answers.clear()
    node.engine.freshness.on_unavailable(LogUnavailable("gone"))
    before = asyncio.get_running_loop().time()
    await node.reading.settle([0], node.asked(consistency=Consistency.BARRIER))
    assert asyncio.get_running_loop().time() - before < 0.2


async def test_a_linearizable_read_appends_a_barrier_and_fails_without_one(node: Node) -> None:
    with node.events() as appended:
        await node.reading.settle([0], node.asked(consistency=Consistency.LINEARIZABLE))
    assert len(appended) == 1
    node.log.fate = node.log.lose
    with pytest.raises(PositionTimeout):
        await node.reading.settle([0], node.asked(0.02, consistency=Consistency.LINEARIZABLE))


async def test_an_operation_is_found_while_the_ring_knows_it(orders: Node) -> None:
    written = await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked())
    partition, _, operation = written.operation.partition("-")
    settled = orders.reading.operation(int(partition), "", bytes.fromhex(operation))
    assert str(settled.etag) == written.etag
    assert orders.reading.operation(0, "", bytes(16)) is None
    assert orders.reading.operation(int(partition), "another", bytes.fromhex(operation)) is None


async def test_an_answer_is_as_old_as_the_oldest_partition_that_it_is_of(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(MemoryStore(partitions=3)) as node:
        ages = [2.0, 7.0, 1.0]
        monkeypatch.setattr(node.engine.freshness, "age_seconds", ages.__getitem__)
        cut = node.reading.cut([0, 1, 2])
        assert cut is not None
        assert cut.age_seconds == 7.0
