"""All watchers of a node: who is told of what, and what becomes of the others when one breaks."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from itertools import pairwise
from typing import Any

import pytest
from pyroaring import BitMap

from tests.memory_log import MemoryStore
from tests.runtime.nodes import Node, running, turns
from tests.runtime.watching.watchers import Watching, many, quiet, tell
from topicfold.errors import Forbidden, NotReady, TopicfoldError
from topicfold.model.finding.query import TopicQuery
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, TenantRecord, TopicRecord, frozen
from topicfold.runtime import slices
from topicfold.runtime.finding import look, tried_names
from topicfold.runtime.watching import pump, watches
from topicfold.runtime.watching.pump import Pump
from topicfold.runtime.watching.subject import Subject
from topicfold.runtime.watching.watcher import Watcher
from topicfold.server.frames import Frames
from topicfold.state.finding import find, prepare
from topicfold.state.topic_table import TopicTable

SPREAD = ("public/a", "public/b", "public/e")
"""Namespaces of three partitions."""


def turns_of(monkeypatch: pytest.MonkeyPatch, method: str) -> list[int]:
    """Return a list that gets the turn of the loop of each call of this method of any watcher."""
    loop, called_in, called, turn = asyncio.get_running_loop(), [], getattr(Watcher, method), 0

    def count() -> None:
        nonlocal turn
        turn += 1
        loop.call_soon(count)

    def noted(self: Watcher, *told: Any) -> Any:
        called_in.append(turn)
        return called(self, *told)

    monkeypatch.setattr(Watcher, method, noted)
    count()
    return called_in


async def test_a_frame_is_made_once_for_all_who_watch_the_same(orders: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    watchings = await many(orders, 50)
    made = 0
    change = Frames.change

    def counted(self: Frames, *told: Any) -> bytes:
        nonlocal made
        made += 1
        return change(self, *told)

    monkeypatch.setattr(Frames, "change", counted)
    await orders.label(k="v")
    await quiet(orders)
    assert made == 1
    assert all(each.told()[-1] == ("MODIFIED", {"k": "v"}) for each in watchings)


async def test_a_write_is_answered_before_anybody_is_told(orders: Node) -> None:
    watchings = await many(orders, 50)
    await orders.label(k="v")
    assert {len(each.frames) for each in watchings} == {2}


@pytest.mark.parametrize("most", [0, 2])
async def test_of_too_much_to_be_matched_everybody_gets_the_same_from_the_window(
    orders: Node, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(pump, "MAX_QUEUED", most)
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    waiting: list[int] = []
    match = Pump._match

    def counted(self: Pump, *told: Any) -> Coroutine[Any, Any, None]:
        waiting.append(len(self._queue))
        return match(self, *told)

    monkeypatch.setattr(Pump, "_match", counted)
    watchings = await many(orders, 20)
    locals_ = [f"t{number}" for number in range(20)]
    making = [
        asyncio.create_task(orders.writing.create_topic(parse_topic(local), TopicRecord(), orders.asked()))
        for local in locals_
    ]
    while not all(each.done() for each in making):
        watchings.append(Watching(orders))
        await turns(1)
    for each in watchings:
        await each.up_to_date()
    await orders.label(k="v")
    await quiet(orders)
    for each in watchings:
        await each.up_to_date()
        names = [frame.name for frame in each.frames if frame.kind == "ADDED"]
        assert sorted(names) == sorted(f"persistent://public/default/{local}" for local in ("orders", *locals_))
        assert each.told()[-1] == ("MODIFIED", {"k": "v"})
    assert max(waiting, default=0) <= most


async def test_who_joins_while_a_frame_is_on_its_way_gets_it_once(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    before = await many(orders, 100)
    await orders.label(k="v")
    during = []
    for _ in range(20):
        during.append(Watching(orders))
        await turns(1)
    for each in during:
        await each.up_to_date()
    await orders.label(k="w")
    await quiet(orders)
    for each in before:
        assert each.told() == [("ADDED", {}), ("MODIFIED", {"k": "v"}), ("MODIFIED", {"k": "w"})]
    for each in during:
        assert each.told() == [("ADDED", {"k": "v"}), ("MODIFIED", {"k": "w"})]


async def test_who_leaves_while_a_frame_is_on_its_way_hurts_nobody(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    watchings = await many(orders, 100)
    await orders.label(k="v")
    for each in watchings[10:]:
        await turns(1)
        each.watcher.abandon()
    await quiet(orders)
    assert all(each.told()[-1] == ("MODIFIED", {"k": "v"}) for each in watchings[:10])
    await asyncio.gather(*(each.task for each in watchings[10:]))
    assert len(orders.engine.watches.watchers) == 10


async def test_frames_are_sent_in_pieces_that_bound_what_a_connection_holds(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump, "MAX_SENT_BYTES", 1_000)
    monkeypatch.setattr(pump.Pump, "_wake", lambda self: None)
    (watching,) = await many(orders, 1)
    for number in range(50):
        await orders.label(k=str(number))
    await orders.engine.watches.pump._run()
    assert len(watching.told()) == 51
    assert max(map(len, watching.pipe.writes)) <= 1_000


async def test_who_leaves_while_others_are_sent_a_frame_is_sent_it_once(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0.0)
    watching = await many(orders, 600)
    first, last = watching[0], watching[-1]
    write = first.pipe.write

    def ends_the_last(data: bytes) -> None:
        last.watcher.end()
        write(data)

    monkeypatch.setattr(first.pipe, "write", ends_the_last)
    await orders.label(k="v")
    await last.task
    await quiet(orders)
    assert {str(each.told()) for each in watching} == {str([("ADDED", {}), ("MODIFIED", {"k": "v"})])}


async def test_one_that_breaks_ends_alone_with_an_error(orders: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    broken, sound = await many(orders, 2)

    def fails(data: bytes) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(broken.pipe, "write", fails)
    await orders.label(k="v")
    with pytest.raises(TopicfoldError, match="the server failed: RuntimeError"):
        await asyncio.wait_for(broken.task, 1)
    assert not broken.is_up_to_date
    await orders.label(k="w")
    await quiet(orders)
    assert [labels for _, labels in sound.told()] == [{}, {"k": "v"}, {"k": "w"}]


async def test_where_a_change_could_not_be_noted_streams_end_rather_than_go_on_without_it(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = Watching(orders)
    await watching.up_to_date()

    def has_no_room(*told: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(orders.engine.watches.window, "add", has_no_room)
    await orders.label(k="v")
    with pytest.raises(NotReady, match=r"partition 0 has stopped: telling of changes failed .*: not enough memory"):
        await asyncio.wait_for(watching.task, 1)
    assert not orders.engine.readiness.can_be_read(0)


async def test_a_group_that_breaks_ends_alone_with_an_error(orders: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    broken, sound = Watching(orders, "k"), Watching(orders)
    await asyncio.gather(broken.up_to_date(), sound.up_to_date())
    kind_of = Subject.kind_of

    def fails(self: Subject, *told: Any) -> str | None:
        if self == broken.watcher.subject:
            raise RuntimeError("no")
        return kind_of(self, *told)

    monkeypatch.setattr(Subject, "kind_of", fails)
    await orders.label(k="v")
    with pytest.raises(TopicfoldError, match="the server failed: RuntimeError"):
        await asyncio.wait_for(broken.task, 1)
    assert not broken.is_up_to_date
    await orders.label(k="w")
    await quiet(orders)
    assert [labels for _, labels in sound.told()] == [{}, {"k": "v"}, {"k": "w"}]


async def test_positions_say_only_what_was_sent_where_a_batch_is_of_several_partitions() -> None:
    async with running(MemoryStore(3)) as node:
        for namespace in SPREAD:
            await node.writing.create_namespace(namespace, NamespaceRecord(), node.asked())
        watching = Watching(node, "", *SPREAD)
        await watching.up_to_date()
        node.log.pause()
        topics = [parse_topic(f"{namespace}/{name}") for name in "xy" for namespace in SPREAD]
        writes = [asyncio.create_task(node.writing.create_topic(each, TopicRecord(), node.asked())) for each in topics]
        await turns()
        node.log.resume()
        await asyncio.gather(*writes)
        await quiet(node)
        places = [frame.positions for frame in watching.frames]
        raised = [sum((after or {}).values()) - sum((before or {}).values()) for before, after in pairwise(places)]
        assert raised == [1] * len(topics)


async def test_the_beat_brings_a_bookmark_where_something_moved_and_a_ping_where_nothing_did(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watches, "BEAT_SECONDS", 0.01)
    (watching,) = await many(orders, 1, "other")
    beat = asyncio.create_task(orders.engine.watches.beat())
    await orders.label(k="v")
    async with asyncio.timeout(60):
        while not (len(watching.frames) == 2 and watching.pipe.pings >= 2):
            await turns(1)
    beat.cancel()
    assert watching.kinds() == ["BOOKMARK", "BOOKMARK"]


async def test_others_have_their_turn_between_two_groups(orders: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    for number in range(30):
        await Watching(orders, f"k!=x{number}").up_to_date()
    taken_in = turns_of(monkeypatch, "take")
    await orders.label(k="v")
    await quiet(orders)
    assert len(set(taken_in)) == len(taken_in) == 30


async def test_a_change_does_not_wait_for_everybodys_bookmarks(orders: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    watchings = [Watching(orders, f"k=v{number}") for number in range(300)]
    for each in watchings:
        await each.up_to_date()
    tell(orders)
    await orders.label(k="v0")
    async with asyncio.timeout(60):
        while not watchings[0].told():
            await turns(1)
    before = sum(each.pipe.pings for each in watchings) + sum(each.kinds()[1:] == ["BOOKMARK"] for each in watchings)
    assert before < 100
    await quiet(orders)
    assert all(each.pipe.pings or each.kinds()[1:] for each in watchings)


async def test_where_changes_come_faster_than_they_are_matched_frames_are_sent_all_the_same(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    watchings = [Watching(orders, f"k!=x{number}") for number in range(30)]
    for each in watchings:
        await each.up_to_date()
    match, matched = Pump._match, 0

    async def slowly(self: Pump, noted: Any, work: Any) -> None:
        nonlocal matched
        matched += 1
        await asyncio.sleep(pump.MATCH_SECONDS)
        await match(self, noted, work)
        if matched < 200:
            self._queue.append(noted)

    monkeypatch.setattr(Pump, "_match", slowly)
    await orders.label(k="v")
    async with asyncio.timeout(60):
        while not all("MODIFIED" in each.kinds() for each in watchings):
            await turns(1)
    assert matched < 20


@pytest.mark.parametrize("what", ["recheck", "end", "start_anew"])
async def test_of_many_watchers_some_are_woken_in_each_turn(
    orders: Node, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    await many(orders, 3 * slices.MAX_AT_ONCE)
    woken_in = turns_of(monkeypatch, what)
    match what:
        case "recheck":
            await orders.engine.watches.recheck()
        case "end":
            await orders.engine.watches.close()
        case _:
            await orders.writing.delete_namespace("public/default", orders.asked(), force=True)
            await quiet(orders)
    assert max(Counter(woken_in).values()) == slices.MAX_AT_ONCE


async def test_any_change_of_a_tenant_or_a_namespace_is_a_reason_to_look_at_rights_again(orders: Node) -> None:
    asked = 0

    async def admits() -> None:
        nonlocal asked
        asked += 1

    await many(orders, 1, admits=admits)
    seen = [asked]
    await orders.writing.create_namespace("public/other", NamespaceRecord(), orders.asked())
    await turns(20)
    seen.append(asked)
    await orders.writing.create_tenant("acme", TenantRecord(), orders.asked())
    await turns(20)
    seen.append(asked)
    await orders.label(k="v")
    await turns(20)
    assert [*seen, asked] == [1, 2, 3, 3]


class Sink:
    """A client that reads at once, and only counts."""

    is_full = False
    written = 0

    def write(self, data: bytes) -> None:
        """Count the events."""
        self.written += data.count(b"event: ADDED") + data.count(b"event: MODIFIED")

    async def drained(self) -> None:
        """Return at once."""

    def abort(self) -> None:
        """Do nothing."""


async def test_of_a_storm_of_watchers_all_come_up_to_date_while_writes_are_answered(node: Node) -> None:
    names = [parse_topic(f"t{number}") for number in range(200)]
    start = node.engine.states[0].position
    for name in names:
        await node.writing.create_topic(name, TopicRecord(), node.asked())
    model = Watching(node)
    await model.up_to_date()
    sinks = [Sink() for _ in range(1_000)]
    storm = [Watcher(node.engine.watches, model.watcher.subject, sink) for sink in sinks]
    tasks = [asyncio.create_task(each.run({0: start + number % 50})) for number, each in enumerate(storm)]
    changes = 0
    group = node.engine.watches.groups.find(model.watcher.subject)
    while group is not None and len(group.members) <= len(storm):
        await node.writing.set_labels(names[0], {"k": str(changes)}, node.asked())
        changes += 1
    await quiet(node)
    written = [sink.written + number % 50 for number, sink in enumerate(sinks)]
    assert set(written) == {len(names) + changes}
    assert changes > 20  # some 600: had the storm been served first, 1 or 2
    for each in storm:
        each.abandon()
    await asyncio.gather(*tasks)


async def test_closing_ends_every_stream_and_takes_no_more_than_it_says(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.runtime.watching.watcher.CLOSE_SECONDS", 0.05)
    reading, stuck = Watching(orders, "k"), Watching(orders, reads=False, capacity=0)
    await reading.up_to_date()
    await orders.label(k="v")
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await orders.engine.watches.close()
    assert loop.time() - begun < 1
    await asyncio.gather(reading.task, stuck.task)
    assert reading.kinds() == ["BOOKMARK", "ADDED"]
    assert stuck.pipe.is_cut
    await orders.engine.watches.close()


async def test_a_defect_in_looking_at_rights_ends_only_that_watch(orders: Node) -> None:
    async def breaks() -> None:
        raise Forbidden("no")

    denied, sound = Watching(orders, admits=breaks), Watching(orders)
    await sound.up_to_date()
    with pytest.raises(Forbidden):
        await denied.task
    await orders.label(k="v")
    await quiet(orders)
    assert len(sound.told()) == 2


async def test_who_begins_to_watch_many_namespaces_has_each_gone_through_once(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    for namespace in SPREAD:
        await orders.writing.create_namespace(namespace, NamespaceRecord(), orders.asked())
        for local in ("x", "y", "z"):
            record = TopicRecord(labels=frozen({"size": "3"}))
            await orders.writing.create_topic(parse_topic(f"{namespace}/{local}"), record, orders.asked())
    went: list[TopicTable] = []
    prepared: list[TopicTable] = []

    def noting(table: TopicTable, query: TopicQuery) -> BitMap:
        went.append(table)
        return find(table, query)

    def preparing(table: TopicTable, query: TopicQuery, is_late: look.IsLate) -> bool:
        prepared.append(table)
        return prepare(table, query, is_late)

    def hashing(self: watches.Watches, subject: Subject, seen: look.Look) -> str | None:
        before = len(went)
        made = hash_now(self, subject, seen)
        at_once.append(len(went) - before)
        return made

    at_once: list[int] = []
    hash_now = watches.Watches.hash_now
    monkeypatch.setattr(watches.Watches, "hash_now", hashing)
    monkeypatch.setattr(look, "find", noting)
    monkeypatch.setattr(look, "prepare", preparing)
    monkeypatch.setattr(watches, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(tried_names, "_BETWEEN_LOOKS", 1)
    watching = Watching(orders, "size>2", *SPREAD, regex="[xy]")
    while "BOOKMARK" not in watching.kinds():
        await turns(1)
    assert sorted(watching.kinds()) == ["ADDED"] * 6 + ["BOOKMARK"]
    assert (len(went), len(prepared)) == (6, 3), "once for the topics, once for the hash of their names"
    assert at_once == [0], "the hash is made of what was gone through in slices"
