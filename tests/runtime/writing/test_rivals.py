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


async def win_over_rivals(node: Node) -> list[asyncio.Task[None]]:
    """Have a node win so often that it yields; return its writes, of which only the last is still to be sent."""
    node.log.fate = node.log.hold
    writes = [asyncio.create_task(node.label(k="0"))]
    await turns()
    for number in range(1, update_queue.WINS_BEFORE_YIELD + 1):
        writes.append(asyncio.create_task(node.label(k=str(number))))
        await turns()
        lose_against(node, number)
        [ours] = node.log.held
        node.log.held.clear()
        if number == update_queue.WINS_BEFORE_YIELD:
            node.log.fate = node.log.take
        node.log.store.append(*ours)
        await turns()
    return writes


async def test_a_node_that_wins_over_rivals_again_and_again_waits_until_one_of_them_got_in(
    orders: Node, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update_queue, "YIELD_SECONDS", 3_600.0)
    writes = await win_over_rivals(orders)
    assert [write.done() for write in writes] == [True] * update_queue.WINS_BEFORE_YIELD + [False]
    async with running(store) as rival:
        await rival.caught_up()
        await rival.label(theirs="1")
        await writes[-1]
    assert orders.labels() == {"k": str(update_queue.WINS_BEFORE_YIELD), "theirs": "1"}


async def test_where_none_of_them_comes_it_goes_on_by_itself_after_a_moment(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders.engine.updates, "tick", lambda: None)
    writes = await win_over_rivals(orders)
    await asyncio.wait_for(writes[-1], 10)
