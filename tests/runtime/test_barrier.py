"""Barriers: one query serves all who came before it was sent, and nobody who came later."""

from __future__ import annotations

import asyncio

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.nodes import Node, running, turns
from topicfold.errors import LogUnavailable, PositionTimeout
from topicfold.model.events import Kind
from topicfold.runtime.barrier import RECORD_SECONDS


async def test_one_query_serves_all_who_wait(node: Node) -> None:
    node.log.queries = 0
    await asyncio.gather(*(node.caught_up() for _ in range(50)))
    assert node.log.queries <= 2


async def test_one_who_comes_while_a_query_runs_is_not_served_by_it(node: Node, store: MemoryStore) -> None:
    node.log.answers.clear()
    early = asyncio.create_task(node.engine.barriers.ends())
    await turns()
    before = node.log.queries
    late = [asyncio.create_task(node.engine.barriers.ends()) for _ in range(5)]
    await turns()
    assert node.log.queries == before
    node.log.answers.set()
    await asyncio.gather(early, *late)
    assert node.log.queries == before + 1


async def test_an_answer_is_as_old_as_its_question(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    barriers, asked_at = node.engine.barriers, list[float]()
    monkeypatch.setattr(barriers, "_on_ends", lambda ends, asked: asked_at.append(asked))
    node.log.answers.clear()
    asking = asyncio.create_task(barriers.ends())
    await turns()
    asked_by = asyncio.get_running_loop().time()
    await asyncio.sleep(0.01)
    node.log.answers.set()
    await asking
    assert asked_at[0] <= asked_by


async def test_a_barrier_returns_only_when_the_end_it_was_told_is_folded(node: Node, store: MemoryStore) -> None:
    node.log.pause()
    store.append(0, b"garbage")
    barrier = asyncio.create_task(node.caught_up())
    await turns()
    assert not barrier.done()
    node.log.resume()
    await barrier
    assert node.engine.states[0].position == len(store.entries[0])


async def test_a_log_that_does_not_answer_in_time_is_unavailable(node: Node) -> None:
    node.log.answers.clear()
    with pytest.raises(LogUnavailable):
        await node.engine.barriers.wait([0], node.asked(0.02).deadline)
    node.log.answers.set()
    await node.caught_up()


async def test_a_fold_that_does_not_get_there_in_time_is_said(node: Node, store: MemoryStore) -> None:
    node.log.pause()
    store.append(0, b"garbage")
    with pytest.raises(PositionTimeout):
        await node.engine.barriers.wait([0], node.asked(0.02).deadline)


async def test_a_query_that_fails_fails_all_it_served_and_the_next_one_is_sent_anew(node: Node) -> None:
    node.log.is_cut = True
    for error in await asyncio.gather(*(node.engine.barriers.ends() for _ in range(3)), return_exceptions=True):
        assert isinstance(error, LogUnavailable)
    node.log.is_cut = False
    await node.caught_up()


async def test_a_linearizable_barrier_is_a_record_and_one_serves_all_who_wait(node: Node) -> None:
    deadline = node.asked().deadline
    with node.events() as appended:
        await asyncio.gather(*(node.engine.barriers.wait_linearizable([0], deadline) for _ in range(20)))
    assert [event.kind for event in appended] == [Kind.BARRIER] * len(appended)
    assert 1 <= len(appended) <= 2


async def test_a_linearizable_barrier_never_goes_by_a_record_that_was_appended_before(node: Node) -> None:
    with node.events() as appended:
        for _ in range(3):
            await node.engine.barriers.wait_linearizable([0], node.asked().deadline)
    assert [event.kind for event in appended] == [Kind.BARRIER] * 3


async def test_a_barrier_record_changes_no_digest(node: Node) -> None:
    before = node.digests()
    await node.engine.barriers.wait_linearizable([0], node.asked().deadline)
    assert node.digests() == before


async def test_a_barrier_record_that_is_lost_is_waited_for_until_the_deadline_and_no_longer(node: Node) -> None:
    node.log.fate = node.log.lose
    async with asyncio.timeout(RECORD_SECONDS / 2):
        with pytest.raises(PositionTimeout):
            await node.engine.barriers.wait_linearizable([0], node.asked(0.02).deadline)


async def test_after_a_barrier_record_that_is_lost_the_next_is_sent(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.runtime.barrier.RECORD_SECONDS", 0.05)
    node.log.fate = node.log.lose
    with pytest.raises(PositionTimeout):
        await node.engine.barriers.wait_linearizable([0], node.asked(5).deadline)
    with pytest.raises(PositionTimeout):
        await node.engine.barriers.wait_linearizable([0], node.asked(0.02).deadline)
    node.log.fate = node.log.take
    await node.engine.barriers.wait_linearizable([0], node.asked(5).deadline)


async def test_a_barrier_record_that_the_log_gives_up_is_unavailable(node: Node) -> None:
    node.log.fate = node.log.lose_and_say_so
    with pytest.raises(LogUnavailable):
        await node.engine.barriers.wait_linearizable([0], node.asked().deadline)


async def test_one_in_a_hurry_is_not_held_up_by_one_who_has_time(node: Node) -> None:
    node.log.fate = node.log.lose
    patient = asyncio.create_task(node.engine.barriers.wait_linearizable([0], node.asked(60).deadline))
    await turns()
    with pytest.raises(PositionTimeout):
        async with asyncio.timeout(RECORD_SECONDS / 2):
            await node.engine.barriers.wait_linearizable([0], node.asked(0.02).deadline)
    patient.cancel()


async def test_one_who_has_time_does_not_fail_with_one_in_a_hurry(node: Node) -> None:
    node.log.fate = node.log.hold
    hurried = asyncio.create_task(node.engine.barriers.wait_linearizable([0], node.asked(0.02).deadline))
    with pytest.raises(PositionTimeout):
        await hurried
    patient = asyncio.create_task(node.engine.barriers.wait_linearizable([0], node.asked().deadline))
    await turns()
    node.log.release()
    await patient


async def test_a_barrier_record_that_cannot_be_appended_leaves_nothing_behind(node: Node) -> None:
    def refuse(*append: object) -> None:
        raise LogUnavailable("closed")

    node.log.fate = refuse
    with pytest.raises(LogUnavailable):
        await node.engine.barriers.wait_linearizable([0], node.asked().deadline)
    await turns()
    assert node.engine.tracker._events == {}


async def test_a_partition_that_cannot_be_reached_fails_only_those_who_wait_for_it() -> None:
    async with running(MemoryStore(partitions=8)) as node:
        node.log.silent = {5}
        deadline = asyncio.get_running_loop().time() + 1
        await node.engine.barriers.wait([0, 4], deadline)
        with pytest.raises(LogUnavailable, match="partition 5 of the log cannot be reached"):
            await node.engine.barriers.wait([4, 5], deadline)
