"""Rivals: other nodes' events on a topic that this node writes to."""

from __future__ import annotations

import asyncio

import pytest

from tests.builders import TOPIC, topic_put
from tests.memory_log import MemoryStore
from tests.runtime.nodes import ORDERS, Node, running, turns
from topicfold.log.codec import encode_event
from topicfold.runtime.writing import update_queue


def lose_against(node: Node, number: int) -> None:
    """Append a rival's event on a version of `orders` that is not current, as one that came too late."""
    namespace = node.engine.states[0].namespaces[ORDERS.namespace]
    late = topic_put(900_000 + number, namespace.incarnation, b"\xff" * 16, name=TOPIC)
    node.log.store.append(0, encode_event(late))


async def test_a_rivals_rejected_event_decides_nothing_of_what_is_in_flight(orders: Node) -> None:
    orders.log.fate = orders.log.hold
    write = asyncio.create_task(orders.label(team="pay"))
    await turns()
    lose_against(orders, 1)
    await turns()
    assert len(orders.log.held) == 1
    orders.log.release()
    await write


async def test_a_node_that_wins_over_rivals_again_and_again_waits_until_one_of_them_got_in(
    orders: Node, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update_queue, "YIELD_SECONDS", 3_600.0)
    orders.log.fate = orders.log.hold
    writes = [asyncio.create_task(orders.label(k="0"))]
    await turns()
    for number in range(update_queue.WINS_BEFORE_YIELD):
        writes.append(asyncio.create_task(orders.label(k=str(number + 1))))
        await turns()
        lose_against(orders, number)
        [ours] = orders.log.held
        orders.log.held.clear()
        orders.log.store.append(*ours)
        await turns()
    assert not orders.log.held
    assert [write.done() for write in writes] == [True] * update_queue.WINS_BEFORE_YIELD + [False]
    orders.log.fate = orders.log.take
    async with running(store) as rival:
        await rival.caught_up()
        await rival.label(theirs="1")
        await writes[-1]
    assert orders.labels() == {"k": str(update_queue.WINS_BEFORE_YIELD), "theirs": "1"}
