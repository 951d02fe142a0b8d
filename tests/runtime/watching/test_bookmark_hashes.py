"""The hash of the names that match, as bookmarks tell it: Pulsar's clients hold what they know against it."""

from __future__ import annotations

import asyncio

import pytest

from tests.runtime.nodes import Node, turns
from tests.runtime.watching.watchers import Watching, many, quiet, tell
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.model.topic_hash import topic_list_hash
from topicfold.runtime import slices
from topicfold.runtime.watching import pump as pump_module
from topicfold.runtime.watching import watches


async def hash_told(node: Node, watching: Watching) -> str | None:
    """Return the hash of the next bookmark, after something that is no frame."""
    node.log.store.append(0, b"garbage")
    await node.caught_up()
    tell(node)
    await quiet(node)
    assert watching.kinds()[-1] == "BOOKMARK"
    hash_: str | None = watching.frames[-1].members.get("hash")
    return hash_


async def test_the_hash_of_a_bookmark_follows_what_comes_and_goes(orders: Node) -> None:
    watching = Watching(orders, "k")
    await watching.up_to_date()
    hashes = [watching.frames[0].members["hash"]]
    for labels in ({"k": "v"}, {"k": "w"}):
        await orders.label(**labels)
        await orders.writing.create_topic(parse_topic(f"no-{labels['k']}"), TopicRecord(), orders.asked())
        await quiet(orders)
        tell(orders)
        await quiet(orders)
        hashes.append(watching.frames[-1].members["hash"])
    assert hashes[0] == "00000000" != hashes[1] == hashes[2]


@pytest.mark.parametrize("ends", [False, True])
async def test_the_hash_of_who_came_last_is_of_what_they_were_shown_though_others_have_to_go_on_alone(
    orders: Node, monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    pump = orders.engine.watches.pump
    monkeypatch.setattr(pump_module, "MAX_QUEUED", 1)
    others = [*await many(orders, 1), *await many(orders, 1)]
    with monkeypatch.context() as held:
        held.setattr(pump, "_wake", lambda: None)
        for name in () if ends else ("a", "b"):
            await orders.writing.create_topic(parse_topic(name), TopicRecord(), orders.asked())
        if ends:
            monkeypatch.setattr(pump_module, "MAX_QUEUED", 100)
            await orders.writing.delete_namespace("public/default", orders.asked(), force=True)
            await orders.writing.create_namespace("public/default", NamespaceRecord(), orders.asked())
        last = Watching(orders)
        await last.up_to_date()
    tell(orders)
    await quiet(orders)
    for each in others:
        await each.ended()
    names = [each.name for each in last.frames if "topic" in each.members]
    assert len(names) == (0 if ends else 3)
    assert await hash_told(orders, last) == topic_list_hash(names)


async def test_a_bookmark_has_no_hash_of_what_came_while_names_were_tried(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    monkeypatch.setattr(pump_module, "MATCH_SECONDS", 60.0)
    watching = Watching(orders, regex=".*")
    await watching.up_to_date()
    made = asyncio.Event()
    monkeypatch.setattr(orders.engine.watches, "try_names", lambda subject, look: made.is_set())
    orders.log.store.append(0, b"garbage")
    await orders.caught_up()
    tell(orders)
    await turns()
    await orders.writing.create_topic(parse_topic("refunds"), TopicRecord(), orders.asked())
    made.set()
    await quiet(orders)
    assert watching.kinds() == ["ADDED", "BOOKMARK", "BOOKMARK", "ADDED"]
    assert "hash" not in watching.frames[2].members


async def test_a_bookmark_of_many_topics_has_no_hash(orders: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "MAX_HASHED", 0)
    (watching,) = await many(orders, 1)
    assert "hash" not in watching.frames[-1].members


async def test_a_bookmarks_hash_is_that_of_a_finding_where_few_of_many_topics_match(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watches, "MAX_HASHED", 2)
    for number in range(4):
        await orders.writing.create_topic(parse_topic(f"t{number}"), TopicRecord(), orders.asked())
    few, more = Watching(orders, regex="t[01]"), Watching(orders, regex="t[012]")
    await asyncio.gather(few.up_to_date(), more.up_to_date())
    assert few.frames[-1].members["hash"] == topic_list_hash([f"persistent://public/default/t{each}" for each in "01"])
    assert "hash" not in more.frames[-1].members
