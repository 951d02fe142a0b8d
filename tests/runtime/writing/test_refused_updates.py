"""Updates that come to a no: it is logged where a client gave a key, and is no stale one where none did."""

from __future__ import annotations

import asyncio

import pytest

from tests.builders import TOPIC
from tests.memory_log import MemoryStore
from tests.runtime.nodes import ORDERS, Node, running, turns
from topicfold.errors import (
    AlreadyExists,
    LogUnavailable,
    NamespaceNotFound,
    PreconditionFailed,
    TopicNotFound,
)
from topicfold.model.events import Event, Kind, Verdict
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.model.updates import Stored


def verdicts(events: list[Event]) -> list[int]:
    """Return the verdicts in the events, in order."""
    return [operation.verdict for event in events for operation in event.operations]


async def test_a_refusal_of_a_clients_key_is_logged_and_stays(orders: Node) -> None:
    with orders.events() as appended, pytest.raises(AlreadyExists):
        await orders.writing.create_topic(ORDERS, TopicRecord(), orders.asked(key="k"))
    assert verdicts(appended) == [Verdict.ALREADY_EXISTS]
    await orders.writing.delete_topic(ORDERS, orders.asked())
    with pytest.raises(AlreadyExists):
        await orders.writing.create_topic(ORDERS, TopicRecord(), orders.asked(key="k"))


async def test_a_logged_refusal_changes_neither_record_nor_etag(orders: Node) -> None:
    await orders.label(team="pay")
    before = orders.reading.topic(ORDERS)
    with pytest.raises(AlreadyExists):
        await orders.writing.create_topic(ORDERS, TopicRecord(), orders.asked(key="k"))
    assert orders.reading.topic(ORDERS) == before


async def test_the_logged_refusal_of_a_missing_topic_is_a_delete(node: Node) -> None:
    with node.events() as appended, pytest.raises(TopicNotFound):
        await node.writing.set_labels(ORDERS, {"a": "b"}, node.asked(key="k"))
    assert [(event.kind, event.name) for event in appended] == [(Kind.DELETE, TOPIC)]
    assert verdicts(appended) == [Verdict.TOPIC_NOT_FOUND]


async def test_a_refusal_without_a_key_is_answered_as_soon_as_it_is_fresh(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node.engine.updates, "tick", lambda: None)
    with pytest.raises(TopicNotFound):
        await node.writing.set_labels(ORDERS, {"a": "b"}, node.asked(2))


async def test_the_logged_refusal_in_a_missing_namespace_goes_on_the_namespace_at_once(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node.engine.updates, "tick", lambda: None)
    lost = parse_topic("public/lost/orders")
    with node.events() as appended, pytest.raises(NamespaceNotFound):
        await node.writing.set_labels(lost, {"a": "b"}, node.asked(key="k"))
    assert [(event.kind, event.name) for event in appended] == [(Kind.DELETE, "public/lost")]
    await node.writing.create_namespace("public/lost", NamespaceRecord(), node.asked())
    with pytest.raises(NamespaceNotFound):
        await node.writing.set_labels(lost, {"a": "b"}, node.asked(key="k"))


async def test_a_refusal_without_a_key_is_not_logged(orders: Node) -> None:
    with orders.events() as appended, pytest.raises(AlreadyExists):
        await orders.writing.create_topic(ORDERS, TopicRecord(), orders.asked())
    assert appended == []


async def test_a_no_is_given_only_after_what_others_had_acknowledged_is_folded(
    orders: Node, store: MemoryStore
) -> None:
    async with running(store) as other:
        other.log.pause()
        await orders.writing.create_topic(parse_topic("bills"), TopicRecord(), orders.asked())
        late = asyncio.create_task(other.writing.set_labels(parse_topic("bills"), {"a": "b"}, other.asked()))
        await turns()
        assert not late.done()
        other.log.resume()
        assert (await late).changed


async def test_a_no_that_cannot_be_made_sure_of_is_not_given(node: Node) -> None:
    node.log.is_cut = True
    with pytest.raises(LogUnavailable, match="cannot tell for sure"):
        await node.label(a="b")


async def test_a_no_that_became_a_change_while_it_waited_is_answered_as_what_it_comes_to(
    orders: Node, store: MemoryStore
) -> None:
    await orders.label(team="pay")
    async with running(store, first_id=1 << 40) as rival:
        orders.log.answers.clear()
        unsure = asyncio.create_task(orders.label(team="pay"))
        await turns()
        orders.log.fate = orders.log.hold
        await rival.label(team="ops")
        await turns()
        assert len(orders.log.held) == 1
        orders.log.is_cut = True
        orders.log.answers.set()
        await turns()
        orders.log.is_cut = False
        orders.log.release()
        await unsure
    assert orders.labels() == {"team": "pay"}


async def test_a_change_does_not_wait_for_the_barrier_that_a_no_before_it_waits_for(orders: Node) -> None:
    orders.log.answers.clear()
    unchanged = asyncio.create_task(orders.label())
    await turns()
    assert orders.engine.barriers._running is not None
    await orders.label(k="v")
    orders.log.answers.set()
    await unchanged


async def test_if_match_of_another_version_is_refused_and_says_the_current_one(orders: Node) -> None:
    await orders.label(team="pay")
    current = orders.reading.labels(ORDERS)[1]
    with pytest.raises(PreconditionFailed, match="has another version now") as caught:
        await orders.writing.set_labels(ORDERS, {"a": "b"}, orders.asked(if_match="00.1"))
    assert caught.value.values["current"] == current
    await orders.writing.set_labels(ORDERS, {"a": "b"}, orders.asked(if_match=current))


@pytest.mark.parametrize("if_match", ["*", "00.1"])
async def test_if_match_where_nothing_is_is_refused_and_says_so(node: Node, if_match: str) -> None:
    with pytest.raises(
        PreconditionFailed,
        match="persistent://public/default/orders does not exist, and If-Match requires that it does",
    ):
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked(if_match=if_match))


async def test_of_racing_writers_with_one_if_match_exactly_one_wins(orders: Node, store: MemoryStore) -> None:
    async with running(store) as other:
        await orders.label(team="pay")
        await other.caught_up()
        etag = orders.reading.labels(ORDERS)[1]
        writes = [
            node.writing.set_labels(ORDERS, {"by": str(number)}, node.asked(if_match=etag))
            for number, node in enumerate([orders, other] * 4)
        ]
        answers = await asyncio.gather(*writes, return_exceptions=True)
        assert sum(isinstance(answer, PreconditionFailed) for answer in answers) == 7


async def test_many_noes_that_wait_for_a_barrier_are_run_again_once_for_all_who_come_at_once(orders: Node) -> None:
    await orders.label(k="v")
    orders.log.answers.clear()
    runs = 0

    def unchanged(old: Stored) -> TopicRecord:
        nonlocal runs
        runs += 1
        assert isinstance(old, TopicRecord)
        return old

    tasks = [asyncio.create_task(orders.writing.change_topic(ORDERS, unchanged, orders.asked())) for _ in range(100)]
    await turns()
    orders.log.answers.set()
    assert not any(written.changed for written in await asyncio.gather(*tasks))
    assert runs < 10 * len(tasks)


async def test_an_update_whose_namespace_came_while_its_refusal_flew_is_run_anew_at_once(
    node: Node, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node.engine.updates, "tick", lambda: None)
    async with running(store) as other:
        node.log.fate = node.log.hold
        name = parse_topic("public/lost/orders")
        create = asyncio.create_task(node.writing.create_topic(name, TopicRecord(), node.asked(key="k")))
        await turns()
        await other.writing.create_namespace("public/lost", NamespaceRecord(), other.asked())
        node.log.release()
        assert (await create).changed
