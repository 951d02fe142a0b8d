"""The past is found the same in every log: by time, by position, and once the log's beginning is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contracts.conftest import OpenLog
from tests.snapshot.making import compacted
from topicfold.model.events import AggregateKind
from topicfold.model.names import DEFAULT_NAMESPACE, parse_topic
from topicfold.model.records import TopicRecord
from topicfold.runtime.asking import Asked
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.runtime.past.history import read_history
from topicfold.runtime.writing.writing import Writing

MINUTE_MS = 60_000


@pytest.fixture
async def engine(open_log: OpenLog, tmp_path: Path) -> AsyncIterator[Engine]:
    """An engine with a snapshot still to come. It writes an event a minute: its beginning, then `t0` to `t39`."""
    minute = 1
    made = await Engine.start(await open_log(), EngineOptions(clock_ms=lambda: minute * MINUTE_MS, snapshot=tmp_path))
    await made.readiness.wait(made.states, 20)
    writing = Writing(made)
    for number in range(40):
        minute += 1
        await writing.create_topic(parse_topic(f"t{number}"), TopicRecord(), asked())
    yield made
    await made.stop()


def asked() -> Asked:
    return Asked(asyncio.get_running_loop().time() + 20)


async def topics_at(engine: Engine, position: int) -> list[str]:
    """Return the topics that there were, by their numbers."""
    place = (DEFAULT_NAMESPACE, position)
    found = (await engine.past.namespaces([place], asked().deadline))[place]
    return [] if found.table is None else sorted(found.table.keys, key=lambda name: int(name[1:]))


async def test_each_minute_finds_one_topic_more(engine: Engine) -> None:
    partition = engine.partition(DEFAULT_NAMESPACE)
    found = [len(await topics_at(engine, await engine.past.position_at(partition, m * MINUTE_MS))) for m in range(45)]
    first = found.index(1)
    assert found == [0] * first + [*range(1, 41)] + [40] * (45 - first - 40)
    assert await engine.past.position_at(partition, 10**12) == engine.states[partition].position


async def test_each_position_finds_what_was_folded_up_to_there(engine: Engine) -> None:
    end = engine.states[engine.partition(DEFAULT_NAMESPACE)].position
    assert await topics_at(engine, end) == [f"t{number}" for number in range(40)]
    assert await topics_at(engine, end - 15) == [f"t{number}" for number in range(25)]
    assert await topics_at(engine, 0) == []


async def test_what_was_trimmed_is_found_in_the_snapshot(engine: Engine, tmp_path: Path) -> None:
    partition = engine.partition(DEFAULT_NAMESPACE)
    end = engine.states[partition].position
    await compacted(engine.log, tmp_path, {each: 0 if each != partition else end - 5 for each in engine.states})
    await engine.log.delete_before(partition, end - 5)
    assert (await engine.log.start_offsets())[partition] == end - 5
    assert await topics_at(engine, end - 15) == [f"t{number}" for number in range(25)]
    assert await topics_at(engine, end - 2) == [f"t{number}" for number in range(38)]
    position = await engine.past.position_at(partition, 20 * MINUTE_MS)
    assert position < end - 5
    assert len(await topics_at(engine, position)) == len(await topics_at(engine, end - 15)) - (end - 15 - position)
    first = engine.target(AggregateKind.TOPIC, "persistent://public/default/t0", DEFAULT_NAMESPACE)
    page = await read_history(engine, first, 10, "", asked().deadline)
    assert [(entry.kind, entry.changes is not None) for entry in page.entries] == [("created", True)]
    assert page.gap is None
