"""Turns of the loop, counted: what others get of it while something long goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


@asynccontextmanager
async def counted_turns() -> AsyncIterator[Callable[[], int]]:
    """Give what says how many turns the loop has made for others since."""
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(take_turns())
    yield lambda: turns
    other.cancel()
