"""A namespace is not ready, never silently empty, until its partition is folded."""

from __future__ import annotations

import asyncio

import pytest

from tests.builders import NAMESPACE, empty_state
from tests.memory_log import MemoryStore
from tests.runtime.nodes import WilfulLog, held_up, running, turns
from topicfold.errors import LogGap, LogUnavailable, NotReady, TopicfoldError
from topicfold.runtime.engine import Engine
from topicfold.runtime.readiness import Readiness


@pytest.fixture
def faults() -> dict[int, TopicfoldError]:
    """What stopped which partition."""
    return {}


@pytest.fixture
def readiness(faults: dict[int, TopicfoldError]) -> Readiness:
    """The gates of two partitions."""
    return Readiness({0: empty_state(), 1: empty_state()}, faults)


async def test_before_the_log_has_answered_nobody_knows_how_far_it_is(readiness: Readiness) -> None:
    with pytest.raises(NotReady, match="the log has not said yet where it ends") as caught:
        await readiness.wait([0], 0.0)
    assert caught.value.values == {"partition": 0}


async def test_while_folding_it_is_said_how_far_it_is(readiness: Readiness) -> None:
    readiness.expect({0: 7, 1: 0})
    readiness.open(1)
    with pytest.raises(NotReady, match="partition 0 is folded up to 0 of 7"):
        await readiness.wait([1, 0], 0.0)


def test_what_came_behind_the_end_at_the_start_is_part_of_the_log() -> None:
    state = empty_state()
    readiness = Readiness({0: state}, {})
    readiness.expect({0: 7})
    state.position = 9
    assert readiness.reason(0) == "partition 0 is folded up to 9 of 9"


async def test_those_who_wait_go_on_when_all_their_partitions_are_open(readiness: Readiness) -> None:
    wait = asyncio.create_task(readiness.wait([0, 1], 5.0))
    assert not readiness.is_ready(0)
    readiness.open(0)
    await turns()
    assert not wait.done()
    readiness.open(1)
    await wait
    assert readiness.is_ready(0)


async def test_several_partitions_have_the_time_of_one(readiness: Readiness) -> None:
    for partition, seconds in enumerate((0.04, 0.09)):
        asyncio.get_running_loop().call_later(seconds, readiness.open, partition)
    with pytest.raises(NotReady):
        await readiness.wait([0, 1], 0.06)


async def test_a_partition_that_stopped_before_it_was_ready_says_why_at_once(
    readiness: Readiness, faults: dict[int, TopicfoldError]
) -> None:
    faults[0] = LogGap("offsets are missing", hint="Restore them.")
    with pytest.raises(NotReady, match="has stopped: offsets are missing") as caught:
        await readiness.wait([0], 60.0)
    assert caught.value.hint == "Restore them."


async def test_a_partition_that_stopped_later_stays_readable_but_is_not_ready(
    readiness: Readiness, faults: dict[int, TopicfoldError]
) -> None:
    readiness.open(0)
    faults[0] = LogGap("offsets are missing")
    await readiness.wait([0], 0.0)
    assert (readiness.can_be_read(0), readiness.is_ready(0)) == (True, False)


async def test_a_partition_whose_state_is_wrong_is_not_opened_by_what_was_on_its_way(readiness: Readiness) -> None:
    readiness.close(0)
    readiness.open(0)
    assert not readiness.can_be_read(0)


async def test_a_node_that_has_not_folded_the_log_is_not_ready_rather_than_empty(store: MemoryStore) -> None:
    async with running(store):
        pass
    async with held_up(store) as node:
        with pytest.raises(NotReady, match="folded up to 0 of 3"):
            await node.reading.settle([0], node.asked())
        node.log.resume()
        await node.reading.settle([0], node.asked())
        assert node.reading.namespaces("public") == [NAMESPACE]


async def test_a_node_that_starts_while_a_partition_is_silent_keeps_only_who_lives_there_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("topicfold.runtime.engine.TICK_SECONDS", 0.01)
    store = MemoryStore(partitions=2)
    async with running(store):
        pass
    log = WilfulLog(store)
    log.silent = {1}
    engine = await Engine.start(log)
    try:
        await engine.readiness.wait([0], 5.0)
        with pytest.raises(NotReady, match="partition 1 of the log has not said yet where it ends"):
            await engine.readiness.wait([1], 0.05)
        assert engine.readiness.is_ready(0)
        log.silent = set()
        await engine.readiness.wait(engine.states, 5.0)
    finally:
        await engine.stop()


async def test_whether_a_log_is_new_is_not_said_by_the_partitions_that_answer() -> None:
    log = WilfulLog(MemoryStore(partitions=2))
    log.silent = {1}
    with pytest.raises(LogUnavailable):
        await Engine.start(log)
    assert log.tries == 0
    await log.close()


async def test_a_log_that_does_not_answer_at_start_is_asked_again(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.runtime.engine.TICK_SECONDS", 0.01)
    async with running(store):
        pass
    log = WilfulLog(store)
    engine = await Engine.start(log)
    log.is_cut = True
    await asyncio.sleep(0.02)
    assert not engine.readiness.can_be_read(0)
    log.is_cut, log.silent = False, {0}
    await asyncio.sleep(0.02)
    assert not engine.readiness.can_be_read(0)
    log.silent.clear()
    await engine.readiness.wait([0], 5.0)
    await engine.stop()
