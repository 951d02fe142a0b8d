"""Turns are had by few at once, and by all in the end."""

from __future__ import annotations

import asyncio

import pytest

from topicfold.runtime.turns import Turns


async def granted(turns: Turns, asker: str, order: list[str], name: str) -> None:
    await turns.take(asker)
    order.append(name)


async def rest() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_each_who_waits_is_served_once_in_turn() -> None:
    turns, order = Turns(1), list[str]()
    await turns.take("zoe")
    waiting = [
        asyncio.create_task(granted(turns, name[0], order, name)) for name in ("a1", "a2", "a3", "b1", "b2", "c1")
    ]
    await rest()
    for _ in waiting:
        turns.give_back()
        await rest()
    assert order == ["a1", "b1", "c1", "a2", "b2", "a3"]
    turns.give_back()
    await asyncio.wait_for(turns.take("ann"), 1)


@pytest.mark.parametrize("is_granted", [False, True])
async def test_who_leaves_takes_no_turn_with_him(is_granted: bool) -> None:
    turns, order = Turns(1), list[str]()
    await turns.take("zoe")
    leaving = asyncio.create_task(turns.take("ann"))
    staying = asyncio.create_task(granted(turns, "ann", order, "stayed"))
    await rest()
    if is_granted:
        turns.give_back()
        leaving.cancel()
    else:
        leaving.cancel()
        await rest()
        turns.give_back()
    await asyncio.wait_for(staying, 1)
    assert (leaving.cancelled(), order) == (True, ["stayed"])
