"""History, older versions and rollback read the same from every log, however far apart the versions of a topic lie."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.contracts.conftest import OpenLog
from topicfold.model.events import AggregateKind
from topicfold.model.names import TopicName, parse_topic
from topicfold.model.records import TopicRecord
from topicfold.runtime.asking import Asked
from topicfold.runtime.engine import Engine
from topicfold.runtime.past.history import Page, read_history
from topicfold.runtime.past.rollback import roll_back, version_to_restore
from topicfold.runtime.past.versions import version_at
from topicfold.runtime.writing.writing import Writing

ORDERS, OTHER = parse_topic("orders"), parse_topic("other")
VERSIONS, BETWEEN = 5, 120


def asked() -> Asked:
    """Return the circumstances of a request that has twenty seconds."""
    return Asked(asyncio.get_running_loop().time() + 20, actor="ann")


async def page_of(engine: Engine, name: TopicName, limit: int = 1_000, before: str = "") -> Page:
    """Return a page of a topic's history."""
    target = engine.target(AggregateKind.TOPIC, str(name), name.namespace)
    return await read_history(engine, target, limit, before, asked().deadline)


async def whole_history(engine: Engine, name: TopicName, limit: int) -> Page:
    """Return what pages of so many changes, or fewer where records are long, have together, as one page."""
    page = await page_of(engine, name, limit)
    entries = page.entries
    while page.before:
        page = await page_of(engine, name, limit, page.before)
        entries += page.entries
    return replace(page, entries=entries)


@pytest.fixture
async def engine(open_log: OpenLog) -> AsyncIterator[Engine]:
    """An engine whose log holds five versions of `orders`, with many of `other` between any two."""
    made = await Engine.start(await open_log())
    await made.readiness.wait(made.states, 20)
    writing = Writing(made)
    for name in (ORDERS, OTHER):
        await writing.create_topic(name, TopicRecord(properties={"long": "x" * 50_000}), asked())
    for version in range(1, VERSIONS):
        for number in range(BETWEEN):
            await writing.set_labels(OTHER, {"number": f"{version}-{number}"}, asked())
        await writing.set_labels(ORDERS, {"version": str(version)}, asked())
    yield made
    await made.stop()


async def test_a_history_is_whole_whether_versions_lie_far_apart_or_close_together(engine: Engine) -> None:
    for name, count in ((ORDERS, VERSIONS), (OTHER, 1 + (VERSIONS - 1) * BETWEEN)):
        whole = await whole_history(engine, name, 1_000)
        assert (len(whole.entries), whole.gap, whole.before) == (count, None, "")
        assert [entry.kind for entry in whole.entries] == ["changed"] * (count - 1) + ["created"]
        assert {audit.actor for entry in whole.entries for audit in entry.made_by} == {"ann"}


async def test_pages_put_together_are_the_whole_history_however_long_they_are(engine: Engine) -> None:
    pages = [await whole_history(engine, OTHER, limit) for limit in (7, 50, 1_000)]
    assert pages[0].entries == pages[1].entries == pages[2].entries


async def test_an_older_version_is_read_and_gone_back_to(engine: Engine) -> None:
    target = engine.target(AggregateKind.TOPIC, str(ORDERS), ORDERS.namespace)
    older = (await page_of(engine, ORDERS)).entries[2].version
    found = await version_at(engine, target, older.offset + 1, asked().deadline)
    assert (found, found.record.labels) == (older, {"version": "2"})
    version = await version_to_restore(engine, ORDERS, str(older.offset), asked())
    await roll_back(engine, Writing(engine), ORDERS, version, asked())
    newest = (await page_of(engine, ORDERS)).entries[0]
    assert newest.changes == ((("labels", "version"), "4", "2"),)
