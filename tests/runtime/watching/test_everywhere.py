"""Watching namespaces that patterns mean, all of them too: those that there are, and those that come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.nodes import Node, running, turns
from tests.runtime.watching.watchers import Watching, quiet
from topicfold.model.events import partition_of
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, TenantRecord, TopicRecord, frozen

PARTITIONS = 4
FIRST, LATER = "public/default", "public/later"


@pytest.fixture
async def node() -> AsyncIterator[Node]:
    """Yield a node whose namespaces lie in several partitions."""
    assert partition_of(FIRST, PARTITIONS) != partition_of(LATER, PARTITIONS)
    async with running(MemoryStore(partitions=PARTITIONS)) as started:
        yield started


async def make(node: Node, namespace: str, local: str, **labels: str) -> None:
    """Make a topic, and its namespace where that is not there."""
    if node.engine.tables.of(namespace) is None:
        await node.writing.create_namespace(namespace, NamespaceRecord(), node.asked())
    record = TopicRecord(labels=frozen(labels))
    await node.writing.create_topic(parse_topic(f"{namespace}/{local}"), record, node.asked())


def names(watching: Watching, kind: str = "ADDED") -> list[str]:
    """Return the topics of frames of this kind, in order."""
    return [frame.members["topic"]["name"] for frame in watching.frames if frame.kind == kind]


async def test_it_begins_with_the_topics_of_all_namespaces_and_one_bookmark(node: Node) -> None:
    for namespace in (FIRST, LATER):
        await make(node, namespace, "a", team="pay")
        await make(node, namespace, "b", team="risk")
    watching = Watching(node, "team=pay", "*")
    await watching.up_to_date()
    assert sorted(names(watching)) == [f"persistent://{FIRST}/a", f"persistent://{LATER}/a"]
    assert watching.kinds() == ["ADDED", "ADDED", "BOOKMARK"]
    assert watching.frames[-1].positions == node.engine.watches.now(frozenset(range(PARTITIONS)))


async def test_topics_of_a_namespace_that_is_made_later_come_as_any_other(node: Node) -> None:
    start = node.engine.watches.now(frozenset(range(PARTITIONS)))
    live, by_pattern = Watching(node, "team=pay", "*"), Watching(node, "", "*")
    await asyncio.gather(live.up_to_date(), by_pattern.up_to_date())
    await make(node, LATER, "a", team="pay")
    await make(node, LATER, "b")
    await quiet(node)
    resumed = Watching(node, "team=pay", "*", since=start)
    await resumed.up_to_date()
    assert names(live) == names(resumed) == [f"persistent://{LATER}/a"]
    assert names(by_pattern) == [f"persistent://{LATER}/a", f"persistent://{LATER}/b"]


async def test_who_watches_one_namespace_hears_nothing_of_another_and_each_hears_once(node: Node) -> None:
    one, everywhere = Watching(node, "", FIRST), Watching(node, "", "*")
    await asyncio.gather(one.up_to_date(), everywhere.up_to_date())
    await make(node, FIRST, "a")
    await make(node, LATER, "a")
    await quiet(node)
    assert names(one) == [f"persistent://{FIRST}/a"]
    assert names(everywhere) == [f"persistent://{FIRST}/a", f"persistent://{LATER}/a"]


async def test_the_end_of_an_empty_namespace_concerns_nobody_who_watches_all(node: Node) -> None:
    await make(node, LATER, "a")
    start = node.engine.watches.now(frozenset(range(PARTITIONS)))
    everywhere, named = Watching(node, "", "*"), Watching(node, "", LATER)
    await asyncio.gather(everywhere.up_to_date(), named.up_to_date())
    await node.writing.delete_topic(parse_topic(f"{LATER}/a"), node.asked())
    await node.writing.delete_namespace(LATER, node.asked())
    await quiet(node)
    resumed = Watching(node, "", "*", since=start)
    await asyncio.gather(resumed.up_to_date(), named.up_to_date())
    assert everywhere.kinds() == ["ADDED", "BOOKMARK", "DELETED"]
    assert resumed.kinds() == ["DELETED", "BOOKMARK"]
    assert "RESET" in named.kinds()


async def test_a_namespace_that_ends_with_its_topics_is_a_reset_to_what_is_left(node: Node) -> None:
    await make(node, FIRST, "a")
    await make(node, LATER, "a")
    start = node.engine.watches.now(frozenset(range(PARTITIONS)))
    live = Watching(node, "", "*")
    await live.up_to_date()
    await node.writing.delete_namespace(LATER, node.asked(), force=True)
    await quiet(node)
    resumed = Watching(node, "", "*", since=start)
    await asyncio.gather(live.up_to_date(), resumed.up_to_date())
    for each in (live, resumed):
        reset = each.kinds().index("RESET")
        assert each.frames[reset].members["reason"] == f"namespace {LATER} has ended"
        assert each.kinds()[reset:] == ["RESET", "ADDED", "BOOKMARK"]
        assert names(each)[-1] == f"persistent://{FIRST}/a"


async def test_who_leaves_takes_its_group_along(node: Node) -> None:
    watching = Watching(node, "team=pay", "*")
    await watching.up_to_date()
    groups = node.engine.watches.groups
    assert [len(index) for index in groups.indexes("not/there")] == [1]
    await watching.ended()
    assert list(groups) == []
    assert groups.indexes("not/there") == ()


async def test_a_query_is_filed_under_what_is_rare_in_all_namespaces_together(node: Node) -> None:
    for number in range(3):
        await make(node, FIRST, f"f{number}", env="prod", team="pay")
        await make(node, LATER, f"l{number}", env="prod")
    watching = Watching(node, "env=prod,team=pay", "*")
    await watching.up_to_date()
    [index] = node.engine.watches.groups.indexes("not/there")
    assert list(index._places) == [("team", "pay")]


async def test_the_hash_in_its_bookmarks_is_of_all_names(node: Node) -> None:
    await make(node, FIRST, "a")
    watching = Watching(node, "", "*")
    await watching.up_to_date()
    before = watching.frames[-1].members["hash"]
    await make(node, LATER, "a")
    await quiet(node)
    again = Watching(node, "", "*", known_hash=before)
    await again.up_to_date()
    assert again.kinds() == ["ADDED", "ADDED", "BOOKMARK"]
    same = Watching(node, "", "*", known_hash=again.frames[-1].members["hash"])
    await same.up_to_date()
    assert same.kinds() == ["BOOKMARK"]


async def test_a_start_state_is_one_cut_of_all_namespaces(node: Node) -> None:
    for namespace in (FIRST, LATER):
        for number in range(100):
            await make(node, namespace, f"t{number}", k="v")
    watching = Watching(node, "k=v", "*")
    while not watching.frames:
        await turns(1)
    for namespace in (FIRST, LATER):
        await node.writing.delete_topic(parse_topic(f"{namespace}/t99"), node.asked())
    await watching.up_to_date()
    await quiet(node)
    assert len(names(watching)) == len(set(names(watching))) == 200
    assert len(names(watching, "DELETED")) == 2


async def test_a_pattern_holds_what_matches_it_and_what_is_named_beside_it(node: Node) -> None:
    await node.writing.create_tenant("acme", TenantRecord(), node.asked())
    for namespace in (FIRST, LATER, "acme/pay"):
        await make(node, namespace, "a", team="pay")
    start = node.engine.watches.now(frozenset(range(PARTITIONS)))
    watching = Watching(node, "team=pay", "public/l*", "acme/pay")
    await watching.up_to_date()
    assert sorted(names(watching)) == ["persistent://acme/pay/a", f"persistent://{LATER}/a"]
    for namespace in (FIRST, LATER, "acme/pay", "public/last", "acme/last"):
        await make(node, namespace, "b", team="pay")
    await quiet(node)
    resumed = Watching(node, "team=pay", "public/l*", "acme/pay", since=start)
    await resumed.up_to_date()
    assert names(watching)[2:] == [f"persistent://{LATER}/b", "persistent://acme/pay/b", "persistent://public/last/b"]
    assert sorted(names(resumed)) == sorted(names(watching)[2:])


async def test_one_whose_name_several_patterns_mean_is_heard_of_once(node: Node) -> None:
    await make(node, LATER, "a")
    watching = Watching(node, "", "public/*", "*/later", LATER)
    await watching.up_to_date()
    await make(node, LATER, "b")
    await quiet(node)
    assert names(watching) == [f"persistent://{LATER}/a", f"persistent://{LATER}/b"]


async def test_the_end_of_an_empty_namespace_concerns_whoever_names_it_beside_a_pattern(node: Node) -> None:
    await make(node, LATER, "a")
    named, meant = Watching(node, "", "*/default", LATER), Watching(node, "", "*/later", FIRST)
    await asyncio.gather(named.up_to_date(), meant.up_to_date())
    await node.writing.delete_topic(parse_topic(f"{LATER}/a"), node.asked())
    await node.writing.delete_namespace(LATER, node.asked())
    await quiet(node)
    await asyncio.gather(named.up_to_date(), meant.up_to_date())
    assert "RESET" in named.kinds()
    assert "RESET" not in meant.kinds()


async def test_what_is_found_of_patterns_follows_those_that_come_and_go(node: Node) -> None:
    groups = node.engine.watches.groups
    every, tenant = Watching(node, "", "*"), Watching(node, "", "acme/*")
    await asyncio.gather(every.up_to_date(), tenant.up_to_date())
    assert [len(groups.indexes(each)) for each in ("acme/pay", "acme/pay", FIRST)] == [2, 2, 1]
    await every.ended()
    assert [len(groups.indexes(each)) for each in ("acme/pay", FIRST)] == [1, 0]
    by_end = Watching(node, "", "*/pay")
    await by_end.up_to_date()
    assert [len(groups.indexes(each)) for each in ("acme/pay", "b/pay", FIRST)] == [2, 1, 0]


async def test_what_is_known_of_namespaces_stays_bounded(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.runtime.watching.groups._MAX_KNOWN", 3)
    watching = Watching(node, "", "acme/*")
    await watching.up_to_date()
    groups = node.engine.watches.groups
    for number in range(10):
        assert len(groups.indexes(f"acme/n{number}")) == 1
        assert groups.indexes(f"b/n{number}") == ()
        assert len(groups._known) <= 3
