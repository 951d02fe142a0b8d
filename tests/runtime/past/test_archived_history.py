"""What the log no longer holds is read from the snapshot's table of history, and nobody can tell the difference."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import NAMESPACE, TOPIC
from tests.compaction.folds import Tables
from tests.memory_log import MemoryStore
from tests.runtime.histories import append_unreadable, append_written_at, at, back, history, trim
from tests.runtime.nodes import ORDERS, Node, running
from tests.snapshot.making import compacted, compacted_further
from topicfold import errors
from topicfold.compaction.delta.publishing import publish
from topicfold.model.events import AggregateKind
from topicfold.model.names import DEFAULT_NAMESPACE
from topicfold.model.records import TopicRecord
from topicfold.runtime.past.chain import Chain
from topicfold.runtime.past.history import Page
from topicfold.snapshot.commits import MANIFESTS
from topicfold.text.rfc3339 import brief_time_text
from topicfold.wire.history import history_entry

NAMES = (TOPIC, NAMESPACE, "public")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "snapshot"


async def live(node: Node) -> None:
    """Give `orders` a long and changeful life."""
    await node.writing.create_topic(ORDERS, TopicRecord(2, labels={"tier": "lead"}), node.asked(actor="ann"))
    await node.writing.set_labels(ORDERS, {"tier": "gold"}, node.asked(actor="bob", reason="SLA", request_id="r1"))
    with pytest.raises(errors.NotEmpty):
        await node.writing.delete_namespace(DEFAULT_NAMESPACE, node.asked(key="k"), force=False)
    await node.writing.delete_topic(ORDERS, node.asked(actor="eve"), is_partitioned=True)
    await node.writing.create_topic(ORDERS, TopicRecord(labels={"a": "b"}), node.asked())
    await node.label(team="pay")


@pytest.fixture
async def node(store: MemoryStore, root: Path) -> AsyncIterator[Node]:
    """A node on which `orders` lived, and was compacted."""
    async with running(store, snapshot=root) as node:
        await live(node)
        await snapshot(node, root)
        yield node


async def snapshot(node: Node, root: Path) -> Tables:
    first = await node.log.end_offsets()
    await node.label(team="ship")
    return await compacted(node.log, root, first)


async def test_histories_and_versions_are_the_same_once_the_log_is_trimmed(node: Node, store: MemoryStore) -> None:
    await node.label(team="tail")
    end = len(store.entries[0])
    positions = range(4, end + 1)
    before = [await history(node, name) for name in NAMES], [await seen(node, each) for each in positions]
    trim(store, before=end - 1)
    assert ([await history(node, name) for name in NAMES], [await seen(node, each) for each in positions]) == before
    assert [page.gap for page in before[0]] == [None] * 3


async def seen(node: Node, position: int) -> object:
    """Return `orders` as it was, or that it was not there."""
    try:
        return await at(node, position)
    except errors.TopicNotFound:
        return None


async def test_a_step_that_the_table_did_not_answer_in_time_can_be_taken_again(
    node: Node, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = node.engine.target(AggregateKind.TOPIC, TOPIC, NAMESPACE)
    whole = await walked(Chain(node.engine, target, node.asked().deadline))
    trim(store, before=len(store.entries[0]) - 1)
    chain, ask = Chain(node.engine, target, node.asked().deadline), node.engine.snapshots.ask

    async def too_late(*_: object) -> None:
        monkeypatch.setattr(node.engine.snapshots, "ask", ask)
        raise TimeoutError

    monkeypatch.setattr(node.engine.snapshots, "ask", too_late)
    with pytest.raises(errors.LogUnavailable):
        await walked(chain)
    rest = await walked(chain)
    assert len(rest) > 1
    assert rest == whole[-len(rest) :]


async def test_a_table_that_does_not_answer_ends_a_step_at_its_deadline(
    node: Node, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = node.engine.target(AggregateKind.TOPIC, TOPIC, NAMESPACE)
    trim(store, before=len(store.entries[0]))

    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(node.engine.snapshots, "ask", never)
    with pytest.raises(errors.LogUnavailable, match="in time"):
        await Chain(node.engine, target, asyncio.get_running_loop().time() + 0.05).step()


async def test_what_the_table_tells_at_once_is_asked_for_once(
    node: Node, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    trim(store, before=len(store.entries[0]) - 1)
    asked: list[object] = []
    ask = node.engine.snapshots.ask

    async def counted(*question: Any) -> object:
        asked.append(question)
        return await ask(*question)

    monkeypatch.setattr(node.engine.snapshots, "ask", counted)
    assert len((await history(node)).entries) > 2
    assert len(asked) == 1


async def walked(chain: Chain) -> list[int]:
    """Walk to the end; return where the events lie."""
    offsets = []
    while (link := await chain.step()) is not None:
        offsets.append(link.offset)
    return offsets


async def test_a_walk_that_goes_on_in_the_table_asks_the_log_no_more(
    node: Node, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    trim(store, before=len(store.entries[0]))
    chain = Chain(node.engine, node.engine.target(AggregateKind.TOPIC, TOPIC, NAMESPACE), node.asked().deadline)
    assert await chain.step()
    monkeypatch.setattr(node.engine.log, "read", None)
    assert len(await walked(chain)) > 2
    assert chain.gap is None


async def test_pages_go_on_from_the_log_into_the_table(node: Node, store: MemoryStore) -> None:
    whole = await history(node)
    trim(store, before=len(store.entries[0]) - 1)
    entries, before = [], ""
    while not entries or before:
        page = await history(node, limit=1, before=before)
        entries, before = [*entries, *page.entries], page.before
    assert tuple(entries) == whole.entries


async def test_one_can_go_back_to_a_version_that_the_log_no_longer_holds(node: Node, store: MemoryStore) -> None:
    version = next(each.version for each in (await history(node)).entries if each.kind == "created")
    trim(store, before=len(store.entries[0]))
    assert await back(node, version.etag)
    assert node.labels() == {"a": "b"}


async def test_what_old_commits_added_is_known_to_the_table_alone(store: MemoryStore, root: Path) -> None:
    async with running(store, snapshot=root) as node:
        await live(node)
        tables = await snapshot(node, root)
        publish(root, tables.commit)
        (root / MANIFESTS / "000000000001.json").unlink()
        whole = await history(node)
        trim(store, before=len(store.entries[0]))
        assert await history(node) == whole


async def test_of_a_commit_that_was_given_up_nothing_is_asked(store: MemoryStore, root: Path) -> None:
    async with running(store, snapshot=root) as node:
        await live(node)
        await compacted_further(node.log, root)
        await node.label(team="ship")
        given_up = await compacted_further(node.log, root)
        for file in (*given_up.own_files, *given_up.added):
            (root / file.path).write_bytes(b"damaged")
        assert (await compacted_further(node.log, root)).after == 1
        whole = await history(node)
        trim(store, before=len(store.entries[0]))
        assert await history(node) == whole


@pytest.mark.parametrize("harm", ["no snapshot", "unread", "other log", "lost"])
async def test_what_neither_holds_is_a_gap_that_says_why(store: MemoryStore, root: Path, harm: str) -> None:
    async with running(store, snapshot=None if harm == "no snapshot" else root) as node:
        await live(node)
        tables = await snapshot(node, root)
        if harm == "lost":
            publish(root, tables.commit)
            (root / MANIFESTS / "000000000001.json").unlink()
            for entry in sorted((root / "history" / "_delta_log").glob("*.json"))[1:]:
                entry.unlink()
        if harm == "unread":
            for path in (root / "history").glob("*.parquet"):
                path.write_bytes(b"")
        if harm == "other log":
            node.engine.snapshots.archive._incarnation = bytes(16)
        trim(store, before=len(store.entries[0]))
        page = await history(node)
        assert page.entries == ()
        assert page.gap is not None
        reasons = {"unread": "cannot be read", "other log": "is of the log", "lost": "it has 1 rows, and the commits"}
        assert page.gap.reason.startswith("the log no longer holds the record")
        assert reasons.get(harm, "") in page.gap.reason


async def test_a_record_whose_trail_cannot_be_read_ends_the_history_there_too(store: MemoryStore, root: Path) -> None:
    async with running(store, snapshot=root) as node:
        await live(node)
        append_unreadable(node, store, audit=b"garbage")
        await node.caught_up()
        await compacted(node.log, root)
        whole = await history(node)
        trim(store, before=len(store.entries[0]))
        assert await history(node) == whole
        assert whole.gap is not None
        assert "does not say" in whole.gap.reason


@pytest.mark.parametrize("time_ms", [0, -1, 2**48, 2**60, 2**63 - 1, -(2**63)])
async def test_a_time_that_no_calendar_holds_is_none_there_too(store: MemoryStore, root: Path, time_ms: int) -> None:
    async with running(store, snapshot=root) as node:
        await live(node)
        append_written_at(node, store, time_ms)
        await snapshot(node, root)
        before = wire(await history(node))
        trim(store, before=len(store.entries[0]) - 1)
        assert wire(await history(node)) == before
        archive = node.engine.snapshots.archive
        assert archive.position_at(0, 1, 10**6) == 0
        assert brief_time_text(archive.first_time_ms(0))[:2] == "20"


async def test_a_clock_that_stood_far_back_where_the_log_begins_moves_no_time_there(
    store: MemoryStore, root: Path
) -> None:
    async with running(store, snapshot=root) as node:
        await live(node)
        start = len(store.entries[0])
        append_written_at(node, store, 1)
        await snapshot(node, root)
        before = await node.engine.past.position_at(0, 10)
        await node.log.delete_before(0, start)
        assert await node.engine.past.position_at(0, 10) == before == 0


def wire(page: Page) -> list[dict[str, object]]:
    return [history_entry(each, shows_grants=True) for each in page.entries]


@pytest.mark.parametrize("place", [0.1, 0.3, 0.5, 0.7, 0.9])
async def test_nothing_is_told_from_a_table_with_a_flipped_bit(
    node: Node, store: MemoryStore, root: Path, place: float
) -> None:
    for path in (root / "history").glob("*.parquet"):
        damaged = bytearray(path.read_bytes())
        damaged[int(place * len(damaged))] ^= 8
        path.write_bytes(damaged)
    trim(store, before=len(store.entries[0]))
    page = await history(node)
    assert page.entries == ()
    assert page.gap is not None
    assert "is not what was written" in page.gap.reason
