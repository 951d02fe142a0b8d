"""Listeners: told what there is now, in order, each by itself; none delays another, and none is left behind."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.builders import NAMESPACE, TOPIC
from tests.memory_log import MemoryStore
from tests.runtime.histories import append_unreadable
from tests.runtime.listening import GLOBAL, LOCAL, TTL, Told, telling, ttl
from tests.runtime.nodes import ORDERS, Node, running, turns
from topicfold.errors import NotEmpty, NotReady, TopicNotFound
from topicfold.model.policy.changes import change_namespace, set_value
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.runtime.policy_news import Listener, News
from topicfold.runtime.policy_service import TopicPoliciesService


class Slow(Told):
    """A listener that takes news and then stays in its call until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = asyncio.Event()

    async def __call__(self, news: News) -> None:
        await super().__call__(news)
        await self.may_go_on.wait()


@pytest.fixture
async def service(orders: Node) -> AsyncIterator[TopicPoliciesService]:
    """The service of a node that has the topic `orders`; nobody listens when the test is over."""
    made = TopicPoliciesService(orders.engine)
    yield made
    await made.stop()
    assert telling() == 0


def listening(node: Node) -> int:
    """Return how many are told of every change by the reader, the node's own updates among them."""
    return len(node.engine.reader._listeners) - 2  # the tables and the watches


async def all_told(service: TopicPoliciesService) -> None:
    """Return once nobody is being told anything: threads take more than turns of the loop."""
    while tasks := list(service._listeners._telling):
        await asyncio.wait(tasks)


async def test_who_registers_is_told_what_there_is_local_before_global(service: TopicPoliciesService) -> None:
    await ttl(service, 90, is_global=True)
    await ttl(service, 60)
    told = Told()
    service.register_listener("orders", told)
    assert told.seen == []
    await turns()
    assert told.seen == [(LOCAL, 60), (GLOBAL, 90)]


async def test_where_there_is_nothing_only_what_comes_is_told(service: TopicPoliciesService) -> None:
    told = Told()
    service.register_listener("orders", told)
    await turns()
    assert told.seen == []
    await ttl(service, 60)
    await ttl(service, 90, is_global=True)
    assert told.seen == [(LOCAL, 60), (GLOBAL, 90)]


async def test_only_the_scope_that_changed_is_told(service: TopicPoliciesService) -> None:
    await ttl(service, 60)
    await ttl(service, 90, is_global=True)
    told = Told()
    service.register_listener("orders", told, replay=False)
    await ttl(service, 61)
    await ttl(service, 91, is_global=True)
    assert told.seen == [(LOCAL, 61), (GLOBAL, 91)]


async def test_without_replay_a_change_right_after_registering_is_told(service: TopicPoliciesService) -> None:
    await ttl(service, 60)
    told = Told()
    service.register_listener("orders", told, replay=False)
    await service.update("orders", lambda old: old.update({TTL: 61}))
    await turns()
    assert told.seen == [(LOCAL, 61)]


async def test_without_replay_a_change_that_is_just_being_delivered_is_told(
    service: TopicPoliciesService, orders: Node
) -> None:
    told = Told()
    orders.log.pause()
    update = asyncio.create_task(service.update("orders", lambda old: {TTL: 61}))
    await turns()
    orders.log.resume()
    service.register_listener("orders", told, replay=False)
    await update
    await turns()
    assert told.seen == [(LOCAL, 61)]


async def test_changes_of_anything_else_are_not_told(service: TopicPoliciesService, orders: Node) -> None:
    await ttl(service, 60)
    told = Told()
    service.register_listener("orders", told)
    await orders.label(team="pay")
    await service.update("orders", lambda old: {TTL: 60})
    await turns()
    assert told.seen == [(LOCAL, 60)]


async def test_a_listener_hears_each_change_in_the_order_of_the_log(service: TopicPoliciesService) -> None:
    told = Told()
    service.register_listener("orders", told)
    for seconds in range(20):
        await ttl(service, seconds)
    assert told.seen == [(LOCAL, seconds) for seconds in range(20)]


async def test_the_last_of_many_updates_is_what_listeners_and_readers_end_with(service: TopicPoliciesService) -> None:
    told = Told()
    service.register_listener("orders", told)
    await asyncio.gather(*(service.update("orders", lambda old, n=n: old.update({TTL: n})) for n in range(50)))
    await turns()
    assert told.seen[-1] == (LOCAL, (await service.get("orders"))[TTL]) == (LOCAL, 49)


async def test_a_slow_listener_misses_what_was_in_between_and_never_the_newest(service: TopicPoliciesService) -> None:
    slow = Slow()
    service.register_listener("orders", slow)
    for seconds in range(10):
        await ttl(service, seconds)
    assert slow.seen == [(LOCAL, 0)]
    slow.may_go_on.set()
    await turns()
    assert slow.seen == [(LOCAL, 0), (LOCAL, 9)]


async def test_a_slow_listener_holds_up_neither_the_fold_nor_another_listener(service: TopicPoliciesService) -> None:
    slow, told = Slow(), Told()
    service.register_listener("orders", slow)
    service.register_listener("orders", told)
    for seconds in (1, 2):
        await ttl(service, seconds)
    assert (slow.seen, told.seen) == ([(LOCAL, 1)], [(LOCAL, 1), (LOCAL, 2)])


async def test_listeners_are_called_after_the_readers_step(service: TopicPoliciesService, orders: Node) -> None:
    steps: list[str] = []

    async def listen(news: News) -> None:
        steps.append("told")

    service.register_listener("orders", listen)
    orders.engine.reader.listen(lambda partition, change: steps.append("published"))
    await ttl(service, 60)
    assert steps == ["published", "told"]


def _raise(news: News) -> None:
    raise ZeroDivisionError


def _exit(news: News) -> None:
    sys.exit("goodbye")


async def _raise_later(news: News) -> None:
    await asyncio.sleep(0)
    raise ZeroDivisionError


async def _await_what_was_cancelled(news: News) -> None:
    gone = asyncio.get_running_loop().create_future()
    gone.cancel()
    await gone


@pytest.mark.parametrize("failing", [_raise, _exit, _raise_later, _await_what_was_cancelled])
async def test_a_listener_that_fails_is_logged_and_told_again_and_harms_no_other(
    service: TopicPoliciesService, failing: Listener
) -> None:
    told = Told()
    service.register_listener("orders", failing)
    service.register_listener("orders", told)
    with capture_logs() as lines:
        for seconds in (1, 2):
            await ttl(service, seconds)
            await all_told(service)
    assert told.seen == [(LOCAL, 1), (LOCAL, 2)]
    assert [line["event"] for line in lines] == ["policy_listener_failed"] * 2
    assert lines[0]["name"] == TOPIC


async def test_a_plain_function_that_waits_delays_no_write_and_is_told_the_rest_in_order(
    service: TopicPoliciesService,
) -> None:
    begun, may_go_on = threading.Event(), threading.Event()
    told: list[Any] = []

    def wait(news: News) -> None:
        begun.set()
        assert may_go_on.wait(60)
        told.append((news.policies or {})[TTL])

    service.register_listener("orders", wait)
    await ttl(service, 1)
    assert await asyncio.to_thread(begun.wait, 60)
    await ttl(service, 2)
    assert told == []
    may_go_on.set()
    await all_told(service)
    assert told == [1, 2]


async def test_policies_that_are_deleted_are_told_in_both_scopes_and_the_listening_goes_on(
    service: TopicPoliciesService,
) -> None:
    await ttl(service, 60)
    await ttl(service, 90, is_global=True)
    told = Told()
    service.register_listener("orders", told)
    await turns()
    await service.delete("orders")
    await ttl(service, 61)
    assert told.seen[2:] == [(LOCAL, None), (GLOBAL, None), (LOCAL, 61)]


@pytest.mark.parametrize("is_whole_namespace", [False, True])
async def test_a_topics_end_is_told_and_ends_the_listening(
    service: TopicPoliciesService, orders: Node, is_whole_namespace: bool
) -> None:
    told = Told()
    service.register_listener("orders", told)
    await ttl(service, 60)
    await ttl(service, 90, is_global=True)
    if is_whole_namespace:
        await orders.writing.delete_namespace(NAMESPACE, orders.asked(), force=True)
        await orders.writing.create_namespace(NAMESPACE, NamespaceRecord(), orders.asked())
    else:
        await orders.writing.delete_topic(ORDERS, orders.asked())
    assert (service.listeners, listening(orders)) == (0, 1)
    await orders.writing.create_topic(ORDERS, TopicRecord(), orders.asked())
    await ttl(service, 61)
    assert told.seen[2:] == [(LOCAL, None), (GLOBAL, None)]


async def test_of_a_topic_that_ends_and_is_reborn_at_once_only_the_end_is_told(
    store: MemoryStore, orders: Node
) -> None:
    service = TopicPoliciesService(orders.engine)
    await ttl(service, 60)
    async with running(store) as other:
        await other.caught_up()
        told, there = Told(), TopicPoliciesService(other.engine)
        there.register_listener("orders", told)
        await turns()
        other.log.pause()
        await orders.writing.delete_topic(ORDERS, orders.asked())
        await orders.writing.create_topic(ORDERS, TopicRecord(), orders.asked())
        await ttl(service, 61)
        other.log.resume()
        await turns()
        assert (told.seen, there.listeners) == ([(LOCAL, 60), (LOCAL, None)], 0)


async def test_a_delete_that_is_refused_ends_no_listening(service: TopicPoliciesService, orders: Node) -> None:
    told = Told()
    service.register_listener("lost", told)
    service.register_listener(NAMESPACE, told)
    with pytest.raises(TopicNotFound):
        await service.update("lost", lambda old: old.update({TTL: 1}))
    with pytest.raises(TopicNotFound):
        await orders.writing.set_labels(ORDERS._replace(local="lost"), {"a": "b"}, orders.asked(key="logged"))
    with pytest.raises(NotEmpty):
        await orders.writing.delete_namespace(NAMESPACE, orders.asked())
    assert service.listeners == 2


async def test_a_namespaces_own_policies_are_told_to_who_listens_to_it(
    service: TopicPoliciesService, orders: Node
) -> None:
    told, told_of_topic = Told(), Told()
    service.register_listener(NAMESPACE, told)
    service.register_listener("orders", told_of_topic)
    await orders.writing.change_namespace(NAMESPACE, change_namespace(NAMESPACE, set_value(TTL, 5)), orders.asked())
    await turns()
    assert (told.seen[-1], told_of_topic.seen) == ((LOCAL, 5), [])


async def test_a_record_that_cannot_be_read_is_not_told_as_one_without_policies(
    service: TopicPoliciesService, orders: Node, store: MemoryStore
) -> None:
    told = Told()
    service.register_listener("orders", told)
    await ttl(service, 60)
    append_unreadable(orders, store)
    await orders.caught_up()
    await turns()
    assert told.seen == [(LOCAL, 60)]


async def test_who_unregisters_is_told_no_more_and_leaves_nothing(service: TopicPoliciesService, orders: Node) -> None:
    told, other = Told(), Told()
    service.register_listener("orders", told)
    service.register_listener("orders-partition-1", other)
    service.register_listener("orders", other)
    assert (service.listeners, listening(orders)) == (2, 2)
    service.unregister_listener("orders-partition-0", told)
    service.unregister_listener("orders", other)
    service.unregister_listener("orders", other)
    await ttl(service, 60)
    assert (told.seen, other.seen, service.listeners, listening(orders), telling()) == ([], [], 0, 1, 0)


async def test_a_listener_may_unregister_itself_in_its_call(service: TopicPoliciesService) -> None:
    told = Told()

    async def once(news: News) -> None:
        await told(news)
        service.unregister_listener("orders", once)

    await ttl(service, 60)
    await ttl(service, 90, is_global=True)
    service.register_listener("orders", once)
    await turns()
    assert told.seen == [(LOCAL, 60)]


async def test_a_call_that_has_begun_is_left_to_end_when_its_listener_unregisters(
    service: TopicPoliciesService,
) -> None:
    slow, ended = Slow(), []

    async def listen(news: News) -> None:
        await slow(news)
        ended.append(news.scope)

    service.register_listener("orders", listen)
    await ttl(service, 1)
    service.unregister_listener("orders", listen)
    await ttl(service, 2)
    slow.may_go_on.set()
    await turns()
    assert (slow.seen, ended) == ([(LOCAL, 1)], [LOCAL])


async def test_many_who_come_and_go_at_once_leave_nothing(service: TopicPoliciesService, orders: Node) -> None:
    async def come_and_go(number: int) -> None:
        told = Told()
        for _ in range(5):
            service.register_listener("orders", told)
            await asyncio.sleep(0)
            service.unregister_listener("orders", told)

    await asyncio.gather(ttl(service, 1), *map(come_and_go, range(50)), ttl(service, 2))
    await turns()
    assert (service.listeners, listening(orders), telling()) == (0, 1, 0)


async def test_stopping_ends_calls_that_have_begun(service: TopicPoliciesService, orders: Node) -> None:
    slow = Slow()
    service.register_listener("orders", slow)
    await ttl(service, 1)
    assert telling() == 1
    await service.stop()
    assert (service.listeners, listening(orders), telling()) == (0, 1, 0)
    with pytest.raises(NotReady):
        service.register_listener("orders", slow)


async def test_a_listener_may_stop_the_service(service: TopicPoliciesService, orders: Node) -> None:
    told = Told()

    async def stop(news: News) -> None:
        await service.stop()
        await told(news)

    service.register_listener("orders", stop)
    await ttl(service, 1)
    await turns()
    assert told.seen == [(LOCAL, 1)]
    assert (service.listeners, telling()) == (0, 0)


async def test_the_reader_has_nobody_to_tell_while_nobody_listens(node: Node) -> None:
    before = listening(node)
    service = TopicPoliciesService(node.engine)
    assert listening(node) == before == 1
    await service.stop()
