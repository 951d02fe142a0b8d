"""Keys of clients: an update has one effect and one answer however often, and on whichever nodes, it is asked for."""

from __future__ import annotations

import asyncio

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.nodes import ORDERS, Node, running, turns
from topicfold.errors import (
    KeyReused,
    OutcomeUnknown,
)
from topicfold.model.events import Verdict
from topicfold.model.names import parse_topic
from topicfold.model.records import TopicRecord


async def test_an_unknown_update_that_lands_later_is_found_by_its_key(orders: Node) -> None:
    orders.log.fate = orders.log.hold
    asked = orders.asked(0.02, key="k", method="POST")
    with pytest.raises(OutcomeUnknown) as caught:
        await orders.writing.set_labels(ORDERS, {"team": "pay"}, asked)
    operation = bytes.fromhex(caught.value.values["operation"][2:])
    assert orders.reading.operation(0, "", operation) is None
    orders.log.release()
    again = await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked(key="k", method="POST"))
    assert (again.changed, orders.labels()) == (True, {"team": "pay"})
    assert orders.reading.operation(0, "", operation).verdict == Verdict.CHANGED


async def test_a_key_used_twice_has_one_effect_and_one_answer(orders: Node) -> None:
    once = await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked(key="k"))
    await orders.label(team="ship")
    with orders.events() as appended:
        twice = await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked(key="k"))
    assert (twice.etag, twice.operation, appended, orders.labels()) == (once.etag, once.operation, [], {"team": "ship"})


async def test_a_key_used_twice_at_once_has_one_effect_and_one_answer(orders: Node) -> None:
    with orders.events() as appended:
        writes = (orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked(key="k")) for _ in range(5))
        answers = await asyncio.gather(*writes)
    assert len({answer.etag for answer in answers}) == 1
    assert [operation.verdict for event in appended for operation in event.operations] == [Verdict.CHANGED]


async def test_a_key_used_again_on_another_node_has_one_effect(orders: Node, store: MemoryStore) -> None:
    async with running(store) as other:
        await other.caught_up()
        here, there = await asyncio.gather(
            orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked(key="k")),
            other.writing.set_labels(ORDERS, {"team": "pay"}, other.asked(key="k")),
        )
        assert (here.etag, here.operation) == (there.etag, there.operation)


@pytest.mark.parametrize("meanwhile", ["folded", "in flight"])
async def test_a_key_with_another_body_is_refused(orders: Node, meanwhile: str) -> None:
    if meanwhile == "in flight":
        orders.log.fate = orders.log.hold
    first = asyncio.create_task(orders.writing.set_labels(ORDERS, {"a": "1"}, orders.asked(key="k", body=b"one")))
    await turns()
    with pytest.raises(KeyReused):
        await orders.writing.set_labels(ORDERS, {"a": "2"}, orders.asked(key="k", body=b"two"))
    orders.log.release()
    await first


async def test_a_key_with_another_body_on_another_node_at_once_is_refused_there(
    orders: Node, store: MemoryStore
) -> None:
    async with running(store) as other:
        await other.caught_up()
        answers = await asyncio.gather(
            orders.writing.set_labels(ORDERS, {"a": "1"}, orders.asked(key="k", body=b"one")),
            other.writing.set_labels(ORDERS, {"a": "2"}, other.asked(key="k", body=b"two")),
            return_exceptions=True,
        )
        assert sorted(type(answer).__name__ for answer in answers) == ["KeyReused", "Written"]
        assert len(orders.labels()) == 1


async def test_the_same_key_of_another_actor_method_or_topic_is_another_operation(orders: Node) -> None:
    bills = parse_topic("bills")
    await orders.writing.create_topic(bills, TopicRecord(), orders.asked())
    answers = [
        await orders.writing.set_labels(name, {"a": str(number)}, orders.asked(key="k", actor=actor, method=method))
        for number, (name, actor, method) in enumerate(
            [(ORDERS, "", ""), (ORDERS, "ann", ""), (ORDERS, "", "PUT"), (bills, "", "")]
        )
    ]
    assert len({answer.operation for answer in answers}) == 4
    assert all(answer.changed for answer in answers)
