"""One asynchronous client in several event loops, and in none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable

import pytest

from tests.client.scripted import line, scripted, stream
from topicfold.client import AsyncClient
from topicfold.client.frames import Frame
from topicfold.client.transport.loops import await_in
from topicfold.errors import BadSetting

START = line("BOOKMARK", "c0", initial=True)


def test_closing_in_one_loop_ends_a_watch_that_waits_in_another() -> None:
    told: list[Frame] = []
    waits = threading.Event()

    async def follow() -> None:
        async for frame in client.watch():
            told.append(frame)
            waits.set()

    with scripted(stream(START, stays_open=True)) as server:
        client = AsyncClient(server.url)
        following = threading.Thread(target=asyncio.run, args=(follow(),))
        following.start()
        assert waits.wait(20)
        asyncio.run(client.close())
        following.join(20)
        assert not following.is_alive()
    assert len(told) == 1


def test_a_loop_that_is_busy_or_ends_is_not_waited_for_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.client.transport.loops.CLOSE_SECONDS", 0.01)
    is_busy, may_end = threading.Event(), threading.Event()

    async def be_busy() -> None:
        loops.append(asyncio.get_running_loop())
        is_busy.set()
        may_end.wait(20)

    loops: list[asyncio.AbstractEventLoop] = []
    working = threading.Thread(target=asyncio.run, args=(be_busy(),))
    working.start()
    assert is_busy.wait(20)
    asyncio.run(await_in(loops[0], _nothing))
    assert working.is_alive()
    may_end.set()
    working.join(20)
    asyncio.run(await_in(loops[0], _nothing))


def test_without_a_loop_of_asyncio_it_says_what_it_needs() -> None:
    with pytest.raises(BadSetting, match="needs an event loop of asyncio"):
        _begin(AsyncClient().list_tenants())
    with pytest.raises(BadSetting, match="needs an event loop of asyncio"):
        _begin(anext(AsyncClient().watch()))


async def _nothing() -> None:
    """Do nothing."""


def _begin(asked: Awaitable[object]) -> None:
    """Go on with what is awaited up to where it waits, as a loop of another kind does."""
    next(asked.__await__())
