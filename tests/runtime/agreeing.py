"""Nodes that compare their states when told to, and ways to spoil what one of them has in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from tests.memory_log import MemoryStore
from tests.runtime.nodes import ORDERS, Node, WilfulLog
from topicfold.log.digest_record import Statement, digest_value, statements_in
from topicfold.model.events import Event, Kind
from topicfold.model.names import split_topic
from topicfold.model.records import TopicRecord
from topicfold.runtime import agreement
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.runtime.reading import Reading
from topicfold.runtime.writing.writing import Writing
from topicfold.state.fold import PartitionState
from topicfold.state.topic_table import TopicTable

AT_ONCE = 1e-9
"""Seconds: a record is drawn at one look and due at the next."""


@asynccontextmanager
async def agreeing(store: MemoryStore, name: str, **options: Any) -> AsyncIterator[Node]:
    """Run a ready node that says and compares nothing by itself for an hour; what it has in memory may be spoilt."""
    told = {"node": name, "digest_within_seconds": AT_ONCE, "scrub_every_seconds": 0.0, **options}
    ids = count(10_000 * (1 + sum(map(len, store.entries))) + len(name))
    log = WilfulLog(store)
    before, agreement.LOOK_EVERY_SECONDS = agreement.LOOK_EVERY_SECONDS, 3_600.0
    try:
        engine = await Engine.start(log, EngineOptions(new_id=lambda: next(ids).to_bytes(16, "big"), **told))
        await engine.readiness.wait(engine.states, 5.0)
    finally:
        agreement.LOOK_EVERY_SECONDS = before
    try:
        yield Node(engine, log, Writing(engine), Reading(engine))
    finally:
        await engine.stop()


async def look(*nodes: Node) -> None:
    """Let each node look twice, as long as it takes to log what is due, then fold and compare what came of it."""
    for _ in range(2):
        for node in nodes:
            await node.engine.agreement.look()
            await node.caught_up()
    for node in nodes:
        await node.engine.agreement.look()
        await node.engine.examiner.idle()


async def make_orders(node: Node) -> None:
    """Create the topic `orders` with a label."""
    await node.writing.create_topic(ORDERS, TopicRecord(labels={"team": "pay"}), node.asked())


def said(events: list[Event]) -> list[tuple[str, tuple[Statement, ...]]]:
    """Return who said what in digest records of partition 0."""
    return [(event.name, statements_in(event, 0)) for event in events if event.kind == Kind.DIGEST]


def place(node: Node) -> tuple[PartitionState, TopicTable, int]:
    """Return where a node keeps the topic `orders`."""
    namespace, key = split_topic(str(ORDERS)) or ("", "")
    state = node.engine.states[node.engine.partition(namespace)]
    table = state.topics[namespace]
    return state, table, table.numbers[key]


def misfold(node: Node) -> None:
    """Give `orders` another label in memory, as a fold would that went wrong: hash, sum and indexes follow."""
    _, table, number = place(node)
    row = table.row(number)
    table.put(str(ORDERS), table.keys[number], row._replace(payload=row.payload.replace(b"pay", b"pax")))


def flip_payload(node: Node, old: bytes = b"pay", new: bytes = b"pax") -> None:
    """Flip some bits of the record of `orders` in memory."""
    _, table, number = place(node)
    table._payloads[number] = table._payloads[number].replace(old, new)


def foreign_record(position: int, digest: bytes, node: str = "liar", partition: int = 0) -> bytes:
    """Return the value of a digest record that some node wrote."""
    return digest_value(1, bytes(15) + b"\x07", node, partition, (Statement(position, digest),))
