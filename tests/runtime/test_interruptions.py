"""Whoever asks a node may go away at any moment: nothing is lost by it, nobody waits for ever, and nothing is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.guarantees.watch_history import Stream
from tests.memory_log import MemoryStore
from tests.runtime.interrupting import Interruption, When, interrupted_everywhere, on_loop_of_its_own
from tests.runtime.nodes import ORDERS, Node, WilfulLog, running
from tests.runtime.watching.watchers import Admits, Counting, Watching
from topicfold.errors import TopicfoldError
from topicfold.log.port import Failed
from topicfold.model.finding.query import TopicQuery
from topicfold.model.names import parse_topic
from topicfold.model.namespaces import Namespaces
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.runtime.asking import Consistency
from topicfold.runtime.refold import refold
from topicfold.runtime.watching.subject import Subject
from topicfold.runtime.watching.watcher import Watcher
from topicfold.runtime.writing.updates import RESEND_AFTER_SECONDS
from topicfold.server.frames import Frames

pytestmark = pytest.mark.usefixtures("quiet")
PATIENCE_SECONDS = 60.0
"""Virtual, as all time here."""

Work = Callable[[Node, Node], Coroutine[Any, Any, object]]


class DistantLog(WilfulLog):
    """A log that everything takes some time to reach, and to come from."""

    def take(self, partition: int, value: bytes, failed: Failed) -> None:
        """Append in a while."""
        self._require_open()
        asyncio.get_running_loop().call_later(0.002, self.store.append, partition, value)

    async def _ends(self) -> Mapping[int, int]:
        await asyncio.sleep(0.001)
        ends = await super()._ends()
        await asyncio.sleep(0.001)
        return ends

    def wake(self) -> None:
        """Deliver in a while."""
        if self._loop is not None and not self._is_woken:
            self._is_woken = True
            self._loop.call_later(0.0015, self._deliver_next)


@asynccontextmanager
async def pair(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Node, Node]]:
    """Run two ready nodes on one distant log, with the topic `orders`."""
    monkeypatch.setattr("tests.runtime.nodes.WilfulLog", DistantLog)
    store = MemoryStore(partitions=2)
    async with running(store, 1) as asked, running(store, 10**6) as other:
        await asked.writing.create_topic(ORDERS, TopicRecord(), asked.asked())
        await other.caught_up()
        yield asked, other
    # What they asked the log last is answered by then.
    await asyncio.sleep(1)


async def change(node: Node, _: Node) -> object:
    return await node.writing.set_labels(ORDERS, {"team": "pay"}, node.asked())


async def change_under_a_key(node: Node, _: Node) -> object:
    return await node.writing.set_labels(ORDERS, {"team": "pay"}, node.asked(key="k", actor="ann"))


async def change_what_is_not_there(node: Node, _: Node) -> object:
    return await node.writing.set_labels(parse_topic("none"), {"team": "pay"}, node.asked())


async def change_in_no_namespace(node: Node, _: Node) -> object:
    return await node.writing.set_labels(parse_topic("public/none/none"), {"team": "pay"}, node.asked(key="k"))


async def create_where_no_tenant_is(node: Node, _: Node) -> object:
    return await node.writing.create_namespace("acme/x", NamespaceRecord(), node.asked())


async def change_beside_rivals(node: Node, rival: Node) -> object:
    names = enumerate((node, rival) * 4)
    return await asyncio.gather(*[each.writing.set_labels(ORDERS, {f"k{n}": "v"}, each.asked()) for n, each in names])


async def retry_everywhere(node: Node, other: Node) -> object:
    return await asyncio.gather(*[change_under_a_key(each, other) for each in (node, other, node, other)])


async def read_behind_a_barrier(node: Node, _: Node) -> object:
    return await node.reading.settle([0, 1], node.asked(consistency=Consistency.BARRIER))


async def read_behind_a_record(node: Node, _: Node) -> object:
    return await node.reading.settle([0, 1], node.asked(consistency=Consistency.LINEARIZABLE))


async def read_what_another_node_wrote(node: Node, other: Node) -> object:
    written = await other.writing.set_labels(ORDERS, {"team": "pay"}, other.asked())
    return await node.reading.settle([0, 1], node.asked(minimum=written.revision))


async def watch(node: Node, other: Node) -> object:
    return await _watched(node, other)


async def watch_and_hardly_read(node: Node, other: Node) -> object:
    return await _watched(node, other, capacity=10)


async def watch_and_be_in_doubt(node: Node, other: Node) -> object:
    async def admits() -> None:
        await asyncio.sleep(0.001)

    return await _watched(node, other, admits=admits)


async def _watched(node: Node, other: Node, *, capacity: int = 10_000, admits: Admits | None = None) -> object:
    """Watch while another node writes, until the node ends the watch; the client reads now and then."""
    watches, loop = node.engine.watches, asyncio.get_running_loop()
    pipe = Counting(Stream(None, watches.now(frozenset(node.engine.states))), 10**9, False, capacity)
    subject = Subject(TopicQuery(), Namespaces(("public/default",)), Frames(node.engine.identity, as_events=True))
    watcher = pipe.watcher = Watcher(watches, subject, pipe, admits)
    for number in range(6):
        loop.call_later(number * 0.004, pipe.read)
        loop.call_later(number * 0.004, watches.recheck)
    loop.call_later(0.03, watcher.end)
    writing = [asyncio.create_task(other.label(n=str(number))) for number in range(4)]
    try:
        return await watcher.run()
    finally:
        await asyncio.wait(writing)


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize(
    "work",
    [
        change, change_under_a_key, change_what_is_not_there, change_in_no_namespace, create_where_no_tenant_is,
        change_beside_rivals, retry_everywhere, read_behind_a_barrier, read_behind_a_record,
        read_what_another_node_wrote, watch, watch_and_hardly_read, watch_and_be_in_doubt,
    ],
)  # fmt: skip
def test_who_goes_away_while_it_waits_is_missed_by_nobody(
    work: Work, when: When, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(interruption: Interruption) -> None:
        async with pair(monkeypatch) as (node, other), asyncio.timeout(PATIENCE_SECONDS):
            task = interruption.start(work(node, other))
            await asyncio.wait({task})
            assert is_answered(task) or interruption.has_come
            await all_is_well(node, other)

    assert interrupted_everywhere(run, when) > 0


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(
    "work",
    [change, change_under_a_key, change_what_is_not_there, read_behind_a_barrier, read_behind_a_record],
)
def test_who_goes_away_takes_nothing_from_who_waits_for_the_same(
    work: Work, place: int, when: When, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(interruption: Interruption) -> None:
        async with pair(monkeypatch) as (node, other), asyncio.timeout(PATIENCE_SECONDS):
            begin = [asyncio.create_task] * 3
            begin[place] = interruption.start
            waiting = [each(work(node, other)) for each in begin]
            await asyncio.wait(waiting)
            del waiting[place]
            assert all(map(is_answered, waiting))
            await all_is_well(node, other)

    assert interrupted_everywhere(run, when) > 0


@pytest.mark.parametrize("when", When)
def test_a_stop_that_is_given_up_can_be_made_again_and_whoever_waits_is_told(
    when: When, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = change, change_under_a_key, change_in_no_namespace, read_behind_a_record

    async def run(interruption: Interruption) -> None:
        async with pair(monkeypatch) as (node, other), asyncio.timeout(PATIENCE_SECONDS):
            watching = Watching(node)
            node.log.fate = node.log.lose
            waiting = [asyncio.create_task(work(node, other)) for work in works]
            await asyncio.sleep(0.001)
            await asyncio.wait({interruption.start(node.engine.stop())})
            await node.engine.stop()
            async with asyncio.timeout(1):
                await asyncio.wait({*waiting, watching.task})
            assert all(map(is_answered, waiting))
            await all_is_well(other)

    assert interrupted_everywhere(run, when) > 0


def test_nobody_is_told_of_an_interruption_that_was_none() -> None:
    async def run(interruption: Interruption) -> None:
        await interruption.start(asyncio.sleep(1))

    with pytest.raises(asyncio.CancelledError):
        on_loop_of_its_own(run(Interruption(1, When.BEFORE)))
    on_loop_of_its_own(run(Interruption(2, When.BEFORE)))


def is_answered(task: asyncio.Task[Any]) -> bool:
    """Return whether what was asked for came, or an error of ours in its place; any other is a defect."""
    if task.cancelled():
        return False
    assert isinstance(task.exception(), TopicfoldError | None)
    return True


async def all_is_well(*nodes: Node) -> None:
    """Return once nothing is under way any more; nodes agree with the log, answer, and keep nothing for anybody."""
    await asyncio.sleep(RESEND_AFTER_SECONDS + 2)
    for number, node in enumerate(nodes):
        await node.label(last=str(number))
        await read_behind_a_barrier(node, node)
        await read_behind_a_record(node, node)
        assert node.labels()["last"] == str(number)
    await asyncio.sleep(2)
    for node in nodes:
        assert [*kept(node)] == []
        for partition, state in node.engine.states.items():
            refolded = await refold(node.log, node.engine.new_state(partition), state.position)
            assert refolded is not None
            assert refolded.digest() == state.digest()


def kept(node: Node) -> Iterator[object]:
    """Yield what a node keeps for those who ask it."""
    engine = node.engine
    yield from engine.updates._queues
    yield from engine.updates.pending.all()
    yield from engine.tracker._events
    yield from [each for waiting in engine.tracker._positions.values() for each in waiting if not each[2].done()]
    yield from engine.watches.watchers
    yield from engine.watches.groups
    yield from [cut for past in engine.tables.cuts._pasts.values() for cut in past.cuts]
    yield from engine.reader.faults
