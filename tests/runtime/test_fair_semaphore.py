"""Turns are had by few at once, and by all in the end."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from topicfold.runtime.fair_semaphore import FairSemaphore


async def granted(turns: FairSemaphore, asker: str, order: list[str], name: str) -> None:
    await turns.acquire(asker)
    order.append(name)


async def rest() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_each_who_waits_is_served_once_in_turn() -> None:
    turns, order = FairSemaphore(1), list[str]()
    await turns.acquire("zoe")
    waiting = [
        asyncio.create_task(granted(turns, name[0], order, name)) for name in ("a1", "a2", "a3", "b1", "b2", "c1")
    ]
    await rest()
    for _ in waiting:
        turns.release()
        await rest()
    assert order == ["a1", "b1", "c1", "a2", "b2", "a3"]
    turns.release()
    await asyncio.wait_for(turns.acquire("ann"), 1)


async def held(turns: FairSemaphore, asker: str, is_over: asyncio.Event, holding: set[asyncio.Event]) -> None:
    """Hold a turn until it is over; nobody who has left holds one."""
    await turns.acquire(asker)
    holding.add(is_over)
    try:
        await is_over.wait()
    finally:
        holding.discard(is_over)
        turns.release()


@given(st.integers(1, 3), st.lists(st.sampled_from(["ann", "bob", "zoe", "leave", "end", "rest"])))
def test_whoever_leaves_at_whatever_moment_takes_no_turn_with_him(limit: int, steps: list[str]) -> None:
    async def run() -> None:
        turns, holding = FairSemaphore(limit), set[asyncio.Event]()
        tasks: list[tuple[asyncio.Task[None], asyncio.Event]] = []
        leaving: list[asyncio.Task[None]] = []
        for number, step in enumerate(steps):
            match step:
                case "rest":
                    await rest()
                case "end":
                    for is_over in [*holding][:1]:
                        is_over.set()
                case "leave":
                    for task, _ in tasks[number % 4 :][:1]:
                        task.cancel()
                        leaving.append(task)
                    tasks = [each for each in tasks if each[0] not in leaving]
                case _:
                    is_over = asyncio.Event()
                    tasks.append((asyncio.create_task(held(turns, step, is_over, holding)), is_over))
            assert len(holding) <= limit
        for _, is_over in tasks:
            is_over.set()
        await asyncio.gather(*(task for task, _ in tasks))
        await asyncio.gather(*leaving, return_exceptions=True)
        assert not any(task.exception() for task in leaving if not task.cancelled())
        assert turns.waiting("ann") == turns.waiting("bob") == 0
        for _ in range(limit):
            await asyncio.wait_for(turns.acquire("ann"), 1)

    asyncio.run(run())
