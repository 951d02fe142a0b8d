"""The loop on which the simulation runs: its time is virtual, its order fixed, and it knows no outside."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from tests.simulation.virtual_loop import Deadlock, RealIo, VirtualLoop, owned_by

_T = TypeVar("_T")


def _run(work: Coroutine[Any, Any, _T]) -> _T:
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


def test_an_hour_of_sleep_takes_no_time() -> None:
    began = time.monotonic()

    async def sleep() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    assert _run(sleep()) == 3600
    assert time.monotonic() - began < 60


def test_timers_fire_in_the_order_of_their_times() -> None:
    fired: list[int] = []

    async def sleep(seconds: int) -> None:
        await asyncio.sleep(seconds)
        fired.append(seconds)

    async def all_of_them() -> None:
        await asyncio.gather(*map(sleep, (3, 1, 2)))

    _run(all_of_them())
    assert fired == [1, 2, 3]


def test_waiting_for_what_nobody_will_do_is_an_error() -> None:
    loop = VirtualLoop()
    with pytest.raises(Deadlock):
        loop.run_until_complete(loop.create_future())
    loop.close()


def test_threads_are_refused() -> None:
    async def use_a_thread() -> None:
        await asyncio.to_thread(time.monotonic)

    with pytest.raises(RealIo):
        _run(use_a_thread())


def test_a_killed_owner_does_nothing_more() -> None:
    done: list[str] = []

    async def work() -> None:
        asyncio.get_running_loop().call_later(1, done.append, "timer")
        await asyncio.sleep(2)
        done.append("task")

    async def kill() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        task = loop.create_task(work(), context=owned_by("victim"))
        await asyncio.sleep(0.5)
        loop.kill("victim")
        await asyncio.sleep(5)
        assert task.cancelled()

    _run(kill())
    assert done == []


def test_an_error_that_nobody_retrieved_is_kept() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    async def forget() -> None:
        task = asyncio.get_running_loop().create_task(fail())
        await asyncio.wait([task])

    loop = VirtualLoop()
    loop.run_until_complete(forget())
    loop.close()
    assert any("ZeroDivisionError" in error for error in loop.errors)
