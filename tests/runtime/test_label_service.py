"""Labels for whoever runs an engine in the same process: what is told of them, to whom, and when not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping

import pytest
from structlog.testing import capture_logs

from tests.runtime.nodes import ORDERS, Node, held_up, turns
from tests.turning import counted_turns
from topicfold.errors import InvalidName, InvalidRequest, NamespaceNotFound, NotReady
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, Pending, Step, TopicRecord, frozen
from topicfold.runtime import label_service, slices
from topicfold.runtime.label_service import LabelListener, Labels, LabelService

DEFAULT = "public/default"
BILLS = parse_topic("bills")
CHANGED = TopicRecord(labels=frozen({"team": "pay", "tier": "gold"}), properties=frozen({"a": "b"}))


class Heard:
    """A listener that remembers what it is told, and is done with each only when it may go on."""

    def __init__(self, may_go_on: asyncio.Event | None = None) -> None:
        self._may_go_on = may_go_on
        self.calls: list[tuple[str, Mapping[str, str] | None]] = []
        self._called = asyncio.Event()

    async def __call__(self, topic: str, labels: Mapping[str, str] | None) -> None:
        self.calls.append((topic.rpartition("/")[2], labels))
        self._called.set()
        if self._may_go_on is not None:
            await self._may_go_on.wait()

    async def all(self, count: int) -> list[tuple[str, Mapping[str, str] | None]]:
        """Return what it was told, once that is so much."""
        async with asyncio.timeout(60):
            while len(self.calls) < count:
                await self._called.wait()
                self._called.clear()
        return self.calls


@pytest.fixture
async def service(node: Node) -> AsyncIterator[LabelService]:
    """The service of a node with the topic `orders`, team=pay and tier=gold."""
    await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
    await node.label(team="pay", tier="gold")
    made = LabelService(node.engine)
    yield made
    await made.stop()


@pytest.fixture
def heard(service: LabelService) -> Heard:
    """A listener of `public/default`."""
    listener = Heard()
    service.register_label_listener(DEFAULT, listener)
    return listener


async def test_it_is_told_all_labels_of_a_topic_whose_labels_change_and_nothing_is_kept_of_that(
    node: Node, service: LabelService, heard: Heard
) -> None:
    await node.label(team="ops")
    assert await heard.all(1) == [("orders", {"team": "ops", "tier": "gold"})]
    await turns()
    assert not service._telling


async def test_it_is_told_of_a_new_topic_and_of_its_end(node: Node, heard: Heard) -> None:
    await node.writing.create_topic(BILLS, TopicRecord(labels=frozen({"team": "ops"})), node.asked())
    await heard.all(1)
    await node.writing.delete_topic(BILLS, node.asked())
    assert await heard.all(2) == [("bills", {"team": "ops"}), ("bills", None)]


async def test_it_is_told_nothing_where_labels_stay(node: Node, heard: Heard) -> None:
    await node.writing.create_topic(BILLS, TopicRecord(), node.asked())
    await node.writing.change_topic(ORDERS, lambda old: CHANGED, node.asked())
    await node.label(team="pay")
    await node.label(team="ops")
    assert await heard.all(1) == [("orders", {"team": "ops", "tier": "gold"})]


async def test_it_is_told_the_newest_only_of_what_changed_while_it_was_busy(node: Node, service: LabelService) -> None:
    may_go_on, calls = asyncio.Event(), []

    async def slow(topic: str, labels: Mapping[str, str] | None) -> None:
        calls.append(labels and labels["team"])
        await may_go_on.wait()

    service.register_label_listener(DEFAULT, slow)
    for team in ("a", "b", "c"):
        await node.label(team=team)
    may_go_on.set()
    await node.label(team="d")
    await asyncio.sleep(0)
    assert calls[0] == "a"
    assert calls[-1] in ("c", "d")
    assert "b" not in calls


async def test_it_is_not_told_what_was_undone_while_it_was_busy_though_it_is_registered_again(
    node: Node, service: LabelService
) -> None:
    may_go_on = asyncio.Event()
    told = Heard(may_go_on)
    service.register_label_listener(DEFAULT, told)
    await node.label(team="ops")
    await told.all(1)
    labelled = TopicRecord(labels=frozen({"n": "1"}))
    await node.writing.create_topic(BILLS, labelled, node.asked())
    await node.label(team="dev")
    service.register_label_listener(DEFAULT, told)
    await node.label(team="ops")
    await node.writing.delete_topic(BILLS, node.asked())
    await node.writing.create_topic(parse_topic("last"), labelled, node.asked())
    may_go_on.set()
    assert await told.all(2) == [("orders", {"team": "ops", "tier": "gold"}), ("last", {"n": "1"})]


async def test_what_was_still_to_be_told_when_the_service_was_stopped_is_not(node: Node, service: LabelService) -> None:
    told = Heard()

    async def stop(topic: str, labels: Labels | None) -> None:
        await told(topic, labels)
        await node.label(team="dev")
        await node.writing.create_topic(BILLS, TopicRecord(labels=frozen({"n": "1"})), node.asked())
        await service.stop()

    service.register_label_listener(DEFAULT, stop)
    await node.label(team="ops")
    await told.all(1)
    await turns(100)
    assert len(told.calls) == 1


async def test_one_that_raises_harms_nobody_and_only_what_it_raises_is_logged(
    node: Node, service: LabelService, heard: Heard
) -> None:
    async def broken(topic: str, labels: Mapping[str, str] | None) -> None:
        raise RuntimeError(topic)

    service.register_label_listener(DEFAULT, broken)
    with capture_logs() as lines:
        await node.label(team="a")
        await heard.all(1)
        await node.label(team="b")
        assert (await heard.all(2))[-1] == ("orders", {"team": "b", "tier": "gold"})
        await turns()
    assert [(line["event"], line["topic"]) for line in lines] == [("label_listener_failed", str(ORDERS))] * 2


async def test_the_end_of_a_namespace_is_the_end_of_its_topics(node: Node, service: LabelService) -> None:
    heard = Heard()
    service.register_label_listener("public/pay", heard)
    await node.writing.create_namespace("public/pay", NamespaceRecord(), node.asked())
    for local in ("a", "b"):
        name = parse_topic(f"public/pay/{local}")
        await node.writing.create_topic(name, TopicRecord(labels=frozen({"n": local})), node.asked())
    await heard.all(2)
    await node.writing.delete_namespace("public/pay", node.asked(), force=True)
    assert (await heard.all(4))[2:] == [("a", None), ("b", None)]
    await node.writing.create_namespace("public/pay", NamespaceRecord(), node.asked())
    await node.writing.create_topic(parse_topic("public/pay/a"), TopicRecord(labels=frozen({"n": "2"})), node.asked())
    assert (await heard.all(5))[4:] == [("a", {"n": "2"})]


async def test_what_changed_before_the_end_of_a_namespace_is_told_as_that_end_and_once(
    node: Node, service: LabelService
) -> None:
    may_go_on = asyncio.Event()
    told = Heard(may_go_on)
    service.register_label_listener(DEFAULT, told)
    await node.writing.create_topic(BILLS, TopicRecord(labels=frozen({"n": "1"})), node.asked())
    await told.all(1)
    await node.label(team="ops")
    untold = TopicRecord(labels=frozen({"n": "2"}))
    await node.writing.create_topic(parse_topic("untold"), untold, node.asked())
    await node.writing.delete_namespace(DEFAULT, node.asked(), force=True)
    may_go_on.set()
    await told.all(3)
    await turns(100)
    assert told.calls[0] == ("bills", {"n": "1"})
    assert sorted(told.calls[1:]) == [("bills", None), ("orders", None)]


async def test_the_end_of_a_topic_that_kafka_has_not_followed_is_told_once(node: Node, heard: Heard) -> None:
    ending = TopicRecord(pending=Pending(Step.END, "an-id"))
    await node.writing.create_topic(BILLS, TopicRecord(), node.asked())
    await node.writing.change_topic(ORDERS, lambda old: ending, node.asked())
    await heard.all(1)
    await node.writing.delete_namespace(DEFAULT, node.asked(), force=True)
    await heard.all(2)
    await turns()
    assert heard.calls == [("orders", None), ("bills", None)]


async def test_one_that_is_unregistered_hears_no_more(node: Node, service: LabelService, heard: Heard) -> None:
    service.unregister_label_listener(DEFAULT, heard)
    service.unregister_label_listener("public/none", heard)
    other = Heard()
    service.register_label_listener(DEFAULT, other)
    await node.label(team="ops")
    await other.all(1)
    assert heard.calls == []


async def test_those_that_stay_registered_hear_on_when_others_are_unregistered(
    node: Node, service: LabelService, heard: Heard
) -> None:
    same, elsewhere, last = Heard(), Heard(), Heard()
    service.register_label_listener(DEFAULT, same)
    service.register_label_listener("public/pay", elsewhere)
    service.unregister_label_listener(DEFAULT, heard)
    await node.label(team="ops")
    assert await same.all(1) == [("orders", {"team": "ops", "tier": "gold"})]
    service.unregister_label_listener(DEFAULT, same)
    await node.writing.create_namespace("public/pay", NamespaceRecord(), node.asked())
    labelled = TopicRecord(labels=frozen({"n": "1"}))
    await node.writing.create_topic(parse_topic("public/pay/a"), labelled, node.asked())
    assert await elsewhere.all(1) == [("a", {"n": "1"})]
    service.unregister_label_listener("public/pay", elsewhere)
    service.register_label_listener(DEFAULT, last)
    await node.label(team="dev")
    assert await last.all(1) == [("orders", {"team": "dev", "tier": "gold"})]
    assert [len(each.calls) for each in (heard, same, elsewhere)] == [0, 1, 1]


@pytest.mark.parametrize("ended_before", ["abc", ""])
async def test_one_that_unregisters_while_it_is_told_of_a_namespaces_end_hears_no_more(
    node: Node, service: LabelService, ended_before: str
) -> None:
    may_go_on, told = asyncio.Event(), Heard()

    async def until_the_second(topic: str, labels: Labels | None) -> None:
        await told(topic, labels)
        if len(told.calls) > 1:
            service.unregister_label_listener("public/pay", until_the_second)
        await may_go_on.wait()

    await node.writing.create_namespace("public/pay", NamespaceRecord(), node.asked())
    names = [parse_topic(f"public/pay/{local}") for local in "abc"]
    for name in names:
        await node.writing.create_topic(name, TopicRecord(), node.asked())
    service.register_label_listener("public/pay", until_the_second)
    for name in names[: len(ended_before)]:
        await node.writing.delete_topic(name, node.asked())
    await node.writing.delete_namespace("public/pay", node.asked(), force=True)
    may_go_on.set()
    await told.all(2)
    await turns(10)
    assert told.calls == [("a", None), ("b", None)]


async def test_a_stopped_service_takes_no_listeners(service: LabelService, heard: Heard) -> None:
    await service.stop()
    with pytest.raises(NotReady):
        service.register_label_listener(DEFAULT, heard)


@pytest.mark.parametrize("in_task", [False, True])
async def test_a_listener_may_stop_the_service(
    node: Node, service: LabelService, heard: Heard, *, in_task: bool
) -> None:
    async def stop(topic: str, labels: Labels | None) -> None:
        await heard.all(1)
        await (asyncio.create_task(service.stop()) if in_task else service.stop())
        await heard(topic, labels)

    service.register_label_listener(DEFAULT, stop)
    await node.label(team="ship")
    if in_task:
        await turns(20)
    else:
        # What comes while it stops is not told any more.
        assert [labels for _, labels in await heard.all(2)] == [{"team": "ship", "tier": "gold"}] * 2
        await node.label(team="pay")
    await service.stop()
    assert len(heard.calls) == 2 - in_task


async def test_a_name_that_is_none_is_refused(service: LabelService, heard: Heard) -> None:
    with pytest.raises(InvalidName):
        service.register_label_listener("public", heard)


async def test_topics_are_found_by_their_labels(node: Node, service: LabelService) -> None:
    await node.writing.create_topic(BILLS, TopicRecord(labels=frozen({"team": "pay"})), node.asked())
    full = [f"persistent://{DEFAULT}/{local}" for local in ("bills", "orders")]
    assert await service.get_topics_by_labels({"team": "pay"}, [DEFAULT]) == full
    assert await service.get_topics_by_labels({"team": "pay", "tier": "gold"}, [DEFAULT]) == full[1:]
    with pytest.raises(InvalidRequest, match="no labels"):
        await service.get_topics_by_labels({}, [DEFAULT])
    with pytest.raises(NamespaceNotFound):
        await service.get_topics_by_labels({"team": "pay"}, ["public/none"])


async def test_who_asks_for_many_topics_holds_up_nobody(
    node: Node, service: LabelService, monkeypatch: pytest.MonkeyPatch
) -> None:
    await node.writing.create_topic(BILLS, CHANGED, node.asked())
    monkeypatch.setattr(label_service, "CHUNK", 1)
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1)
    async with counted_turns() as turned:
        assert len(await service.get_topics_by_labels({"team": "pay"}, [DEFAULT])) == 2
        assert turned() >= 2


async def test_what_is_not_folded_yet_is_not_ready_rather_than_without_topics(
    node: Node, service: LabelService
) -> None:
    async with held_up(node.log.store) as other:
        labels = LabelService(other.engine)
        with pytest.raises(NotReady, match="folded up to 0 of"):
            await labels.get_topics_by_labels({"team": "pay"}, [DEFAULT])
        with pytest.raises(NotReady, match="folded up to 0 of"):
            await labels.get_all_labels(DEFAULT)


async def test_all_labels_are_told(service: LabelService) -> None:
    assert await service.get_all_labels(DEFAULT) == {"team": ["pay"], "tier": ["gold"]}


async def test_plain_listeners_that_hang_keep_nobody_waiting(node: Node, service: LabelService, heard: Heard) -> None:
    hung, told, may_end = asyncio.Queue[str](), asyncio.Queue[str](), threading.Event()
    loop = asyncio.get_running_loop()

    def hanging() -> LabelListener:
        def hang(topic: str, labels: Labels | None) -> None:
            loop.call_soon_threadsafe(hung.put_nowait, topic)
            may_end.wait()

        return hang

    for _ in range(40):
        service.register_label_listener(DEFAULT, hanging())
    await node.label(team="ops")
    async with asyncio.timeout(10):
        for _ in range(40):
            await hung.get()

    def hear(topic: str, labels: Labels | None) -> None:
        loop.call_soon_threadsafe(told.put_nowait, topic)

    service.register_label_listener(DEFAULT, hear)
    try:
        await node.label(team="dev")
        async with asyncio.timeout(60):
            assert await told.get() == str(ORDERS)
            assert await asyncio.to_thread(lambda: "others have threads")
        await heard.all(2)
    finally:
        may_end.set()


async def test_it_is_not_told_of_pulsars_own_topics(node: Node, service: LabelService, heard: Heard) -> None:
    labelled = TopicRecord(labels=frozen({"team": "pay"}))
    await node.writing.create_topic(parse_topic("__change_events"), labelled, node.asked())
    await node.writing.create_topic(BILLS, labelled, node.asked())
    assert await heard.all(1) == [("bills", {"team": "pay"})]
    await node.writing.delete_namespace(DEFAULT, node.asked(), force=True)
    told = await heard.all(3)
    assert sorted(told[1:]) == [("bills", None), ("orders", None)]
