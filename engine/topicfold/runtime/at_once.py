"""Does the same to many things, a limited number of them at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

T = TypeVar("T")


async def each_at_once(do: Callable[[T], Awaitable[object]], things: Collection[T], most: int) -> list[Exception]:
    """Do it to each of `things`, up to `most` at once; where one fails, begin no other, and let end what has begun.

    Returns what was raised, in that order.
    """
    waiting = iter(things)
    failures: list[Exception] = []

    async def go_on() -> None:
        for thing in waiting:
            try:
                await do(thing)
            except Exception as error:  # noqa: BLE001 -- whoever asked for it is told
                failures.append(error)
            if failures:
                return

    await asyncio.gather(*(go_on() for _ in range(min(len(things), most))))
    return failures
