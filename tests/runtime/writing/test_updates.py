"""The path of a write: group commit, retry on the same base, and honest answers about what is unknown."""

from __future__ import annotations

import asyncio

import pytest

from tests.builders import TOPIC
from tests.memory_log import MemoryStore
from tests.runtime.nodes import ORDERS, Node, running, turns
from topicfold.errors import (
    LogUnavailable,
    NamespaceNotFound,
    NotReady,
    OutcomeUnknown,
    Overloaded,
    TopicNotFound,
)
from topicfold.log.codec import encode_event
from topicfold.model.events import GENESIS, AggregateKind, Audit, Event, Kind, Operation
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.model.updates import Updater
from topicfold.runtime.writing.pending import PendingUpdates
from topicfold.runtime.writing.update import Update
from topicfold.state import fold


def submit(node: Node, updater: Updater, key: int) -> asyncio.Task[object]:
    """Submit an update of the topic `orders` of our own make."""
    target = node.engine.target(AggregateKind.TOPIC, TOPIC, ORDERS.namespace)
    operation = Operation(key.to_bytes(16, "big"), 0, True, bytes(8))
    update = Update(target, operation, updater, Audit("", "", ""), asyncio.get_running_loop().create_future())
    return asyncio.create_task(node.engine.updates.submit(update, node.asked().deadline))


async def test_a_write_is_visible_when_it_is_answered(orders: Node) -> None:
    written = await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked())
    assert orders.reading.labels(ORDERS) == ({"team": "pay"}, written.etag)


async def test_updates_that_come_while_an_event_flies_share_the_next_one(orders: Node) -> None:
    with orders.events() as appended:
        await asyncio.gather(*(orders.label(**{f"k{number}": "v"}) for number in range(40)))
    assert [len(event.operations) for event in appended] == [1, 39]
    assert len(orders.labels()) == 40


async def test_updates_of_one_topic_apply_in_the_order_in_which_they_came(orders: Node) -> None:
    orders.log.fate = orders.log.hold
    tasks = [asyncio.create_task(orders.label(k=str(number))) for number in range(20)]
    await turns()
    orders.log.release()
    await asyncio.gather(*tasks)
    assert orders.labels() == {"k": "19"}


async def test_at_most_one_event_of_a_topic_is_outstanding(orders: Node) -> None:
    orders.log.fate = orders.log.hold
    tasks = [asyncio.create_task(orders.label(k=str(number))) for number in range(5)]
    await turns()
    assert len(orders.log.held) == 1
    orders.log.release()
    await asyncio.gather(*tasks)


async def test_each_update_of_a_group_is_answered_with_an_etag_of_its_own(orders: Node) -> None:
    updates = (orders.writing.set_labels(ORDERS, {key: "v"}, orders.asked()) for key in "abc")
    etags = [written.etag for written in await asyncio.gather(*updates)]
    assert len(set(etags)) == 3
    assert [etag.split(".")[1] for etag in etags] == ["1", "1", "2"]


async def test_an_update_that_changes_nothing_is_not_logged_and_keeps_the_etag(orders: Node) -> None:
    await orders.label(team="pay")
    before = orders.reading.labels(ORDERS)[1]
    with orders.events() as appended:
        written = await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked())
    assert (written.changed, written.etag, appended) == (False, before, [])


async def test_two_nodes_that_write_one_topic_at_once_both_get_through(orders: Node, store: MemoryStore) -> None:
    async with running(store) as other:
        await other.caught_up()
        with orders.events() as appended:
            await asyncio.gather(orders.label(here="1"), other.label(there="2"))
        assert len(appended) == 3
        assert orders.labels() == {"here": "1", "there": "2"}
        assert orders.digests() == other.digests()


async def test_what_is_remembered_of_events_of_ours_is_bounded(orders: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.runtime.writing.own_events.MAX_RECORDS", 5)
    monkeypatch.setattr("topicfold.runtime.writing.own_events.MAX_EVENTS", 5)
    monkeypatch.setattr("topicfold.runtime.writing.updates.RETRY_AFTER_SECONDS", 0.0)
    orders.log.fate = orders.log.lose_and_say_so
    write = asyncio.create_task(orders.label(team="pay"))
    while orders.log.tries < 15:
        await turns()
    orders.log.fate = orders.log.take
    await write
    own = orders.engine.updates._own
    assert max(len(own._awaited), len(own._records)) <= 5


async def test_an_append_that_is_lost_is_tried_again(orders: Node) -> None:
    orders.log.fate = orders.log.lose_and_say_so
    write = asyncio.create_task(orders.label(team="pay"))
    await turns()
    orders.log.fate = orders.log.take
    await write
    assert orders.labels() == {"team": "pay"}


async def test_an_event_that_flies_is_not_sent_again_before_it_is_long_overdue(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.runtime.writing.updates.RETRY_AFTER_SECONDS", 0.0)
    orders.log.fate = orders.log.hold
    write = asyncio.create_task(orders.label(team="pay"))
    await turns()
    orders.engine.updates.tick()
    await turns()
    assert len(orders.log.held) == 1
    orders.log.release()
    await write


async def test_the_end_of_another_namespace_has_no_event_sent_again(orders: Node) -> None:
    await orders.writing.create_namespace("public/other", NamespaceRecord(), orders.asked())
    with orders.events() as appended:
        orders.log.fate = orders.log.hold
        write = asyncio.create_task(orders.label(team="pay"))
        await turns()
        orders.log.fate = orders.log.take
        await orders.writing.delete_namespace("public/other", orders.asked())
        await turns()
        orders.log.release()
        await write
    assert [event.name for event in appended].count(TOPIC) == 1


async def test_an_append_that_is_denied_but_lands_counts_once(orders: Node) -> None:
    orders.log.fate = orders.log.take_and_deny_it
    written = await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked())
    orders.log.fate = orders.log.take
    await orders.caught_up()
    assert orders.reading.labels(ORDERS) == ({"team": "pay"}, written.etag)


async def test_of_all_attempts_on_one_base_one_is_accepted(orders: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.runtime.writing.updates.RETRY_AFTER_SECONDS", 0.0)
    orders.log.fate = lambda *append: (orders.log.hold(*append), orders.log.lose_and_say_so(*append))
    write = asyncio.create_task(orders.label(team="pay"))
    await turns(30)
    attempts = len(orders.log.held)
    before = orders.engine.reader.counts.copy()
    orders.log.release()
    await write
    await orders.caught_up()
    assert attempts > 2
    after = orders.engine.reader.counts - before
    assert {outcome.value: number for outcome, number in after.items()} == {"accepted": 1, "rejected": attempts - 1}


async def test_an_append_that_never_comes_back_is_tried_again_in_the_end(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.runtime.writing.updates.RESEND_AFTER_SECONDS", -1.0)
    orders.log.fate = orders.log.lose
    write = asyncio.create_task(orders.label(team="pay"))
    await turns()
    orders.log.fate = orders.log.take
    orders.engine.updates.tick()
    await write
    assert orders.labels() == {"team": "pay"}


async def test_an_attempt_is_decided_the_moment_the_level_rises(
    orders: Node, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fold, "SUPPORTED_LEVEL", 2)
    orders.log.fate = orders.log.hold
    writing = asyncio.create_task(orders.label(60.0, k="v"))
    await turns()
    orders.log.fate = orders.log.take
    raised = Event(1, Kind.LEVEL, 0, b"L" * 16, AggregateKind.NONE, "", 0, GENESIS, GENESIS, (), 0, b"", b"")
    store.append(0, encode_event(raised))
    await asyncio.wait_for(writing, 5)
    orders.log.release()
    await orders.caught_up()
    assert orders.labels() == {"k": "v"}


async def test_an_update_in_an_undecided_event_is_unknown_when_its_time_is_up(orders: Node) -> None:
    orders.log.fate = orders.log.lose
    with pytest.raises(OutcomeUnknown) as caught:
        await orders.label(0.02, team="pay")
    operation = caught.value.values["operation"]
    assert operation.startswith("0-")
    assert len(bytes.fromhex(operation[2:])) == 16


async def test_an_update_still_queued_when_its_time_is_up_is_not_applied(orders: Node) -> None:
    orders.log.fate = orders.log.hold
    first = asyncio.create_task(orders.label(team="pay"))
    await turns()
    with pytest.raises(LogUnavailable, match="not applied"):
        await orders.label(0.02, late="1")
    orders.log.release()
    await first
    await orders.label(next="2")
    assert orders.labels() == {"team": "pay", "next": "2"}


@pytest.mark.parametrize("is_kept", [False, True])
async def test_an_update_is_applied_only_if_somebody_still_waits_for_it(orders: Node, is_kept: bool) -> None:
    orders.log.fate = orders.log.hold
    first = asyncio.create_task(orders.label(team="pay"))
    one, other = (submit(orders, lambda old: old.with_labels({"late": "1"}), key=1) for _ in range(2))
    await turns()
    one.cancel()
    if not is_kept:
        other.cancel()
    await turns()
    orders.log.release()
    await first
    await asyncio.gather(other, return_exceptions=True)
    await orders.label(next="2")
    assert ("late" in orders.labels()) is is_kept
    assert len(orders.engine.updates.pending) == 0


async def test_a_poisonous_update_fails_alone_and_its_key_may_be_used_again(orders: Node) -> None:
    def poison(old: object) -> TopicRecord:
        raise ZeroDivisionError

    orders.log.fate = orders.log.hold
    writes = [
        asyncio.create_task(orders.label(a="1")),
        submit(orders, poison, 7),
        asyncio.create_task(orders.label(b="2")),
    ]
    await turns()
    orders.log.release()
    answers = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(answer) for answer in answers] == [type(None), ZeroDivisionError, type(None)]
    await submit(orders, lambda old: TopicRecord(labels={"c": "3"}), 7)
    assert orders.labels() == {"c": "3"}


async def test_the_key_of_a_poisonous_update_that_met_an_idle_queue_may_be_used_again(orders: Node) -> None:
    def poison(old: object) -> TopicRecord:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await submit(orders, poison, 7)
    await submit(orders, lambda old: TopicRecord(labels={"c": "3"}), 7)
    assert orders.labels() == {"c": "3"}


async def test_a_record_that_cannot_be_written_does_not_stop_the_topics_other_writes(orders: Node) -> None:
    with pytest.raises(UnicodeEncodeError):
        await submit(orders, lambda old: TopicRecord(properties={"p": "\ud800"}), 7)
    await orders.label(team="pay")
    assert orders.labels() == {"team": "pay"}


async def test_updates_with_long_reasons_share_events_without_growing_beyond_the_limit(orders: Node) -> None:
    reason = "\U0001f600" * 512
    writes = (
        orders.writing.set_labels(ORDERS, {f"k{n % 60}": str(n)}, orders.asked(reason=reason)) for n in range(400)
    )
    assert all(written.changed for written in await asyncio.gather(*writes))


async def test_a_namespaces_delete_travels_alone(node: Node) -> None:
    await node.writing.create_namespace("public/short", NamespaceRecord(), node.asked())
    node.log.fate = node.log.hold
    with node.events() as appended:
        first = asyncio.create_task(
            node.writing.create_namespace("public/short", NamespaceRecord(), node.asked(key="a"))
        )
        await turns()
        others = [
            asyncio.create_task(node.writing.delete_namespace("public/short", node.asked(key=key))) for key in "bc"
        ]
        await turns()
        node.log.release()
        await asyncio.gather(first, *others, return_exceptions=True)
    assert [len(event.operations) for event in appended] == [1, 1, 1]


async def test_when_too_many_wait_the_next_is_turned_away(orders: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.runtime.writing.updates.MAX_WAITING", 1)
    orders.log.fate = orders.log.hold
    writes = [asyncio.create_task(orders.label(a=str(number))) for number in range(2)]
    await turns()
    with pytest.raises(Overloaded):
        await orders.label(a="3")
    orders.log.release()
    await asyncio.gather(*writes)


async def test_who_comes_while_an_event_flies_is_not_held_up_by_those_who_wait(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0

    def is_listed(pending: PendingUpdates, update: Update) -> bool:
        nonlocal looks
        looks += 1
        return pending._by_operation.get(update.operation.id) is update

    monkeypatch.setattr(PendingUpdates, "__contains__", is_listed)
    orders.log.fate = orders.log.hold
    tasks = [asyncio.create_task(orders.label(k=str(number))) for number in range(200)]
    await turns()
    orders.log.release()
    await asyncio.gather(*tasks)
    assert looks < 10 * len(tasks)


async def test_who_waits_no_more_makes_room_while_an_event_flies(orders: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.runtime.writing.updates.MAX_WAITING", 5)
    orders.log.fate = orders.log.hold
    first = asyncio.create_task(orders.label(team="pay"))
    await turns()
    for _ in range(2):
        with pytest.raises(LogUnavailable):
            await orders.label(0.0, late="1")
    orders.engine.updates.tick()
    last = asyncio.create_task(orders.label(next="2"))
    await turns()
    orders.log.release()
    await asyncio.gather(first, last)


async def test_a_log_that_cannot_be_reached_refuses_at_once_what_is_not_in_flight(orders: Node) -> None:
    orders.engine.freshness.on_unavailable(LogUnavailable("gone"))
    with pytest.raises(LogUnavailable, match="not applied"):
        await orders.label(team="pay")
    assert orders.labels() == {}


async def test_stopping_says_unknown_of_what_is_in_flight_and_not_ready_of_the_rest(store: MemoryStore) -> None:
    async with running(store) as node:
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        node.log.fate = node.log.lose
        flying = asyncio.create_task(node.label(a="1"))
        await turns()
        queued = asyncio.create_task(node.label(b="2"))
        await turns()
        await node.engine.stop()
        answers = await asyncio.gather(flying, queued, node.label(c="3"), return_exceptions=True)
        assert [type(answer) for answer in answers] == [OutcomeUnknown, NotReady, NotReady]


async def test_idle_queues_vanish(orders: Node) -> None:
    for number in range(20):
        await orders.writing.create_topic(parse_topic(f"t{number}"), TopicRecord(), orders.asked())
    with pytest.raises(TopicNotFound):
        await orders.writing.set_labels(parse_topic("nowhere"), {"a": "b"}, orders.asked())
    await turns()
    orders.engine.updates.tick()
    await turns()
    assert (len(orders.engine.updates), len(orders.engine.updates.pending)) == (0, 0)


async def test_an_event_that_lands_after_its_namespace_ended_is_answered_as_what_it_came_to(orders: Node) -> None:
    orders.log.fate = orders.log.hold
    write = asyncio.create_task(orders.label(team="pay"))
    await turns()
    state = orders.engine.states[0]
    namespace = state.namespaces[ORDERS.namespace]
    end = Event(1, Kind.DELETE, 0, b"e" * 16, AggregateKind.NAMESPACE, ORDERS.namespace, 0, namespace.version,
                bytes(16), (), 0, b"", b"")  # fmt: skip
    orders.log.store.append(0, encode_event(end))
    orders.log.release()
    with pytest.raises(NamespaceNotFound):
        await write
