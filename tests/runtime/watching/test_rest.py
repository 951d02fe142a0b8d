"""What the window has after a cursor, made once for all who ask the same, and kept within bounds."""

from __future__ import annotations

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.nodes import ORDERS, Node, running, turns
from tests.runtime.watching.watchers import Watching
from topicfold.model.grants import grant, revoke
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, TopicRecord, frozen
from topicfold.model.updates import topic_missing
from topicfold.runtime.watching import rest as rest_module
from topicfold.runtime.watching.rest import MAX_PART_BYTES
from topicfold.server.auth.viewer import Viewer


async def let_in(node: Node, role: str) -> None:
    """Grant a role to see `orders`."""
    await node.writing.change_topic(ORDERS, grant(role, ("list-topics",), topic_missing(str(ORDERS))), node.asked())


async def shut_out(node: Node, role: str) -> None:
    """Take that away again."""
    await node.writing.change_topic(ORDERS, revoke(role, topic_missing(str(ORDERS))), node.asked())


async def told_ann(node: Node, since: int, **query: str) -> list[str]:
    """Return the kinds of what somebody is told since then who sees single topics."""
    watching = Watching(node, viewer=Viewer(frozenset({"ann"}), frozenset()), since={0: since}, **query)
    await watching.up_to_date()
    return watching.kinds()


async def test_parts_are_kept_as_long_as_there_is_room_for_their_frames(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest_module, "PART", 4)
    monkeypatch.setattr(rest_module, "MAX_KEPT_BYTES", 5_000)
    since = orders.engine.states[0].position
    for number in range(40):
        await orders.label(k=f"{number}-{'x' * 100}")
    rest = orders.engine.watches.rest
    for _ in range(2):
        watching = Watching(orders, since={0: since})
        await watching.up_to_date()
        assert [labels["k"].partition("-")[0] for _, labels in watching.told()] == list(map(str, range(40)))
        kept = sum(len(frame) for part in rest._parts.values() for frame in part.frames)
        assert 0 < kept == rest._kept_bytes <= 5_000


async def test_of_parts_without_frames_only_so_many_are_kept(orders: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_module, "MAX_PARTS", 3)
    rest, subject = orders.engine.watches.rest, Watching(orders, "none").watcher.subject
    for position in range(orders.engine.states[0].position):
        rest.after(subject, {0: position})
    assert len(rest._parts) == 3


async def test_for_those_who_know_all_already_nothing_is_kept(orders: Node) -> None:
    rest, folded = orders.engine.watches.rest, orders.engine.states[0].position
    for selector in ("one", "another"):
        part = rest.after(Watching(orders, selector).watcher.subject, {0: folded})
        assert (part.frames, part.positions, part.said, part.reset) == ((), {0: folded}, None, None)
    assert not rest._parts


async def test_what_was_kept_for_somebody_is_not_shown_once_they_may_see_it_no_more(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest_module, "PART", 4)
    await let_in(orders, "ann")
    since = orders.engine.states[0].position
    for number in range(9):
        await orders.label(k=str(number))
    told = []
    for _ in range(2):
        told.append(await told_ann(orders, since))
        await shut_out(orders, "ann")
    assert told == [["MODIFIED"] * 9, ["RESET", "BOOKMARK"]]


async def test_a_topic_that_was_shown_for_a_while_is_not_told_of_before_and_begins_no_frame(orders: Node) -> None:
    since = orders.engine.states[0].position
    await orders.label(secret="x")
    await let_in(orders, "ann")
    let_in_at = orders.engine.states[0].position
    assert await told_ann(orders, since) == ["ADDED"]
    await shut_out(orders, "ann")
    for position in (since, let_in_at):
        assert await told_ann(orders, position) == ["RESET", "BOOKMARK"]


async def test_nothing_is_said_of_a_topic_that_may_be_seen_no_more_where_its_name_is_not_asked_for(
    orders: Node,
) -> None:
    since = orders.engine.states[0].position
    await let_in(orders, "ann")
    await shut_out(orders, "ann")
    assert await told_ann(orders, since, regex="other.*") == ["BOOKMARK"]


@pytest.mark.parametrize("is_shut_out", [False, True])
async def test_of_a_topic_that_is_gone_is_told_what_its_last_grants_allow(orders: Node, is_shut_out: bool) -> None:
    await let_in(orders, "bob")
    since = orders.engine.states[0].position
    await let_in(orders, "ann")
    let_in_at = orders.engine.states[0].position
    if is_shut_out:
        await shut_out(orders, "ann")
    await orders.writing.delete_topic(ORDERS, orders.asked())
    told = [await told_ann(orders, position) for position in (since, let_in_at)]
    assert told == ([["RESET", "BOOKMARK"]] * 2 if is_shut_out else [["ADDED", "DELETED"], ["DELETED"]])


@pytest.mark.parametrize("is_resumed", [True, False])
async def test_of_large_records_few_are_written_at_once_from_the_window_and_of_a_start_state(
    orders: Node, is_resumed: bool
) -> None:
    since = orders.engine.states[0].position
    names = [parse_topic(f"orders{number}") for number in range(20)]
    labels = {f"k{number}": "x" * 128 for number in range(64)}
    for name in names:
        await orders.writing.create_topic(name, TopicRecord(labels=frozen(labels)), orders.asked())
    watching = Watching(orders, "k0", reads=False, since={0: since} if is_resumed else None)
    while not (watching.is_up_to_date or watching.task.done()):
        watching.pipe.read()
        await turns(1)
    assert {each.name for each in watching.frames if "topic" in each.members} == set(map(str, names))
    largest = max(map(len, watching.pipe.writes))
    assert MAX_PART_BYTES <= largest < 2 * MAX_PART_BYTES


async def test_a_part_up_to_the_logs_end_is_made_anew_once_any_partition_goes_on() -> None:
    async with running(MemoryStore(partitions=3)) as node:
        namespaces = ("public/a", "public/b", "public/e")
        for each in namespaces:
            await node.writing.create_namespace(each, NamespaceRecord(), node.asked())
        watches = node.engine.watches
        subject = Watching(node, "", *namespaces).watcher.subject
        for each in namespaces:
            here = watches.now(watches.groups.partitions(subject))
            assert watches.rest.after(subject, here).positions == here
            await node.writing.create_topic(parse_topic(f"{each}/orders"), TopicRecord(), node.asked())
            assert len(watches.rest.after(subject, here).frames) == 1
