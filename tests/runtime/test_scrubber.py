"""The scrubber: what flips in memory is found, whatever it is, and only that partition stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from structlog.testing import capture_logs

from tests.memory_log import MemoryStore
from tests.runtime.agreeing import agreeing, flip_payload, look, make_orders, misfold, place
from tests.runtime.nodes import Node
from topicfold.errors import StateDiverged
from topicfold.model.names import parse_topic
from topicfold.model.records import TopicRecord
from topicfold.runtime import slices
from topicfold.runtime.examiner import Conclusion
from topicfold.runtime.scrubber import Scrubber
from topicfold.state import invariants
from topicfold.state.topic_table import TopicTable


def flip_hash(node: Node) -> None:
    """Flip a bit of the stored hash of `orders`."""
    _, table, number = place(node)
    table._rows[60 * number + 59] ^= 1


def flip_version(node: Node) -> None:
    """Flip a bit of the stored version of `orders`."""
    _, table, number = place(node)
    table._rows[60 * number] ^= 1


def flip_label(node: Node) -> None:
    """Have `orders` bear no label, though the index lists it."""
    _, table, number = place(node)
    table._labels[number] = b""


def unlist_label(node: Node) -> None:
    """Have the index not list `orders` under its label."""
    _, table, number = place(node)
    postings = table.index.having("team", "pay")
    assert postings is not None
    postings.discard(number)


def flip_topic_sum(node: Node) -> None:
    """Flip a bit of the sum of the namespace's topics."""
    place(node)[1].digest_sum ^= 1


def flip_namespace(node: Node) -> None:
    """Have the namespace bear another version."""
    state, _, _ = place(node)
    state.namespaces["public/default"] = state.namespaces["public/default"]._replace(version=bytes(16))


SPOILT = (flip_payload, flip_hash, flip_version, flip_label, unlist_label, flip_topic_sum, flip_namespace)
INDEXES: dict[str, Callable[[TopicTable], object]] = {
    "orders does not fit its record: partitions": lambda table: table.partitions.update({0: 3}),
    "orders does not fit its record: kafka_name": lambda table: table.kafka_names.update({0: "bills"}),
    "orders does not fit its record: pending": lambda table: table.pending.add(0),
    "orders does not fit its record: ending": lambda table: table.ending.add(0),
    "orders does not fit its record: grants": lambda table: table.grants.update({0: {"stranger": ("produce",)}}),
    "orders does not fit its record: undecodable": lambda table: table.undecodable.add(0),
    "orders does not fit its record: non_persistent": lambda table: table.non_persistent.add(0),
    "orders does not fit its record: system": lambda table: table.system.add(0),
    "orders does not fit its record: number": lambda table: table.numbers.update(orders=1),
    "orders does not fit its record: name_index": lambda table: table.names.discard(0),
    "bills does not fit its record: name_index": lambda table: table.names.add(1),
    "orders does not fit its record: label_index": lambda table: table.index._keys["team"].discard(0),
    "listed as team=pay, wrongly: bills": lambda table: table.index._postings[0].add(1),
    "listed as team, wrongly: bills": lambda table: table.index._keys["team"].add(1),
    "listed as tier=gold, wrongly: nobody": lambda table: table.index._intern("tier", "gold"),
    "listed by a segment of the name, wrongly: bills": lambda table: table.names._rare.add(5, 1),
    "there is a number in live that no topic has": lambda table: table.live.add(77),
    "there are numbers or labels that nobody has": lambda table: table.numbers.update(ghost=0),
}


@pytest.fixture
async def node() -> AsyncIterator[Node]:
    async with agreeing(MemoryStore(partitions=8), "one") as made:
        await make_orders(made)
        yield made


@pytest.mark.parametrize("spoil", SPOILT)
async def test_what_flips_in_memory_stops_its_partition_and_no_other(node: Node, spoil: Callable[[Node], None]) -> None:
    spoil(node)
    partition = place(node)[0].partition
    await node.engine.scrubber.scrub()
    await node.engine.examiner.idle()
    assert list(node.engine.reader.faults) == [partition]
    fault = node.engine.reader.faults[partition]
    assert isinstance(fault, StateDiverged)
    assert fault.values == {"partition": partition, "offset": node.engine.states[partition].position}
    assert node.engine.scrubber.report is not None
    assert node.engine.scrubber.report.found == node.engine.scrubber.found >= 1


async def test_what_is_found_is_logged_and_a_partition_that_stopped_is_not_looked_at_again(node: Node) -> None:
    flip_hash(node)
    state, _, _ = place(node)
    with capture_logs() as lines:
        await node.engine.scrubber.scrub()
        await node.engine.examiner.idle()
    logged = {(line["partition"], line["position"]) for line in lines if line["event"] == "scrub_found"}
    assert logged == {(state.partition, state.position)}
    assert any("orders" in line.get("what", "") for line in lines)
    await node.engine.scrubber.scrub()
    report = node.engine.scrubber.report
    assert report is not None
    assert report._replace(at_ms=0) == (0, 0, 0, ())


@pytest.mark.parametrize("told", INDEXES)
async def test_an_index_that_lists_what_no_record_says_is_found_in_one_pass_and_stops_its_partition(
    node: Node, told: str
) -> None:
    await node.writing.create_topic(parse_topic("bills"), TopicRecord(), node.asked())
    await node.writing.delete_topic(parse_topic("bills"), node.asked())
    state, table, _ = place(node)
    digest = state.digest()
    INDEXES[told](table)
    await node.engine.scrubber.scrub()
    await node.engine.examiner.idle()
    report = node.engine.scrubber.report
    assert report is not None
    assert told in "; ".join(report.told)
    assert (state.digest(), list(node.engine.reader.faults)) == (digest, [state.partition])


async def test_what_lies_in_memory_as_it_was_put_there_is_left_alone(node: Node) -> None:
    await node.writing.delete_topic(parse_topic("orders"), node.asked())
    await node.writing.create_topic(parse_topic("bills"), TopicRecord(3), node.asked())
    await node.engine.scrubber.scrub()
    report = node.engine.scrubber.report
    assert report is not None
    # The one that is gone is looked at, and is none to whoever is told.
    assert report._replace(at_ms=0) == (0, 1, 0, ())
    assert node.engine.examiner.conclusions == {}


async def test_what_was_folded_wrongly_agrees_with_itself_and_is_for_the_other_nodes_to_find(node: Node) -> None:
    misfold(node)
    await node.engine.scrubber.scrub()
    assert node.engine.scrubber.found == 0


@pytest.mark.parametrize("ends", [True, False])
async def test_the_fold_goes_on_while_everything_is_looked_at(
    node: Node, monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0.0)
    for number in range(300):
        await node.writing.create_topic(parse_topic(f"t{number}"), TopicRecord(), node.asked())
    scrubbing = asyncio.ensure_future(node.engine.scrubber.scrub())
    for number in range(10):
        await node.writing.delete_topic(parse_topic(f"t{number}"), node.asked())
        await node.label(step=str(number))
    assert not scrubbing.done()
    if ends:
        await node.writing.delete_namespace("public/default", node.asked(), force=True)
    await scrubbing
    await node.engine.examiner.idle()
    assert (node.engine.scrubber.found, node.engine.examiner.conclusions) == (0, {})


async def test_a_doubt_that_folding_anew_does_not_share_stops_nothing_and_is_looked_into_again(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invariants, "misfits", lambda *_: ["hash"])
    for times in (1, 2):
        await node.engine.scrubber.scrub()
        await node.engine.examiner.idle()
        assert node.engine.examiner.conclusions == {Conclusion.MEMORY_RIGHT: times}
    assert (node.engine.examiner.to_answer, node.engine.reader.faults) == (set(), {})


async def test_a_scrub_comes_every_so_often_though_one_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    scrub, begun = Scrubber.scrub, 0

    async def fail_first(scrubber: Scrubber) -> None:
        nonlocal begun
        begun += 1
        if begun == 1:
            raise ZeroDivisionError
        await scrub(scrubber)

    monkeypatch.setattr(Scrubber, "scrub", fail_first)
    async with agreeing(MemoryStore(1), "one", scrub_every_seconds=0.01) as node:
        while begun < 3:  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.01)
        assert node.engine.scrubber.report is not None


async def test_none_comes_where_that_is_never() -> None:
    async with agreeing(MemoryStore(1), "one", scrub_every_seconds=0.0) as node:
        await node.engine.scrubber.run()
        assert node.engine.scrubber.report is None


async def test_a_node_that_was_stopped_is_well_again_after_a_restart() -> None:
    store = MemoryStore(partitions=1)
    async with agreeing(store, "one") as node:
        await make_orders(node)
        flip_payload(node)
        await node.engine.scrubber.scrub()
        await node.engine.examiner.idle()
        assert node.engine.reader.faults
    async with agreeing(store, "one") as node:
        await look(node)
        await node.engine.scrubber.scrub()
        assert node.engine.scrubber.found == 0
        assert node.labels() == {"team": "pay"}
