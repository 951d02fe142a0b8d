"""Slices: long work lets others have their turn."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tests.runtime.nodes import turns
from topicfold.runtime import slices
from topicfold.runtime.slices import Slice, Turns


async def test_of_many_whose_work_takes_long_one_works_in_each_turn_of_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    giver, worked = Turns(), 0

    async def work() -> None:
        nonlocal worked
        for _ in range(3):
            await giver.next()
            worked += 1

    tasks = [asyncio.create_task(work()) for _ in range(20)]
    progress = []
    while not all(task.done() for task in tasks):
        await turns(1)
        progress.append(worked)
    assert max(after - before for before, after in pairwise(progress)) == 1
    assert worked == 60


async def test_of_many_whose_work_is_done_at_once_ever_more_work_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", 60.0)
    giver = Turns()
    tasks = [asyncio.create_task(giver.next()) for _ in range(1_000)]
    await turns(30)
    assert all(task.done() for task in tasks)


async def test_turns_go_round() -> None:
    giver = Turns()
    order: list[str] = []

    async def work(name: str) -> None:
        for _ in range(3):
            await giver.next()
            order.append(name)

    await asyncio.gather(work("a"), work("b"))
    assert order == ["a", "b", "a", "b", "a", "b"]


async def test_who_no_longer_waits_takes_nobodys_turn() -> None:
    giver = Turns()
    gone, stays = asyncio.create_task(giver.next()), asyncio.create_task(giver.next())
    await turns(1)
    gone.cancel()
    await asyncio.wait_for(stays, 60)
    assert gone.cancelled()


async def test_others_have_their_turn_only_once_a_slice_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    has_turned = False

    def turn() -> None:
        nonlocal has_turned
        has_turned = True

    asyncio.get_running_loop().call_soon(turn)
    await Slice().rest()
    assert not has_turned
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    await Slice().rest()
    assert has_turned
