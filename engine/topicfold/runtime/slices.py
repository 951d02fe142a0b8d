"""Slices: long work on the loop that lets others have their turn, above all requests.

A task of its own     `Slice`   works until a slice is used up, then lets the loop turn once
Thousands of tasks    `Turns`   share a slice in each turn of the loop, a few at a time, in the order they came
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeVar

SLICE_SECONDS = 0.001
MAX_AT_ONCE = 64
CHUNK = 256
"""So many topics are gone through before anybody looks whether a slice is used up."""

T = TypeVar("T")
IsLate = Callable[[], bool]


def lateness(seconds: float) -> IsLate:
    """Return what says whether a slice of so many seconds that begins now is used up."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    return lambda: loop.time() > until


class Slice:
    """What is left of one task's slice."""

    def __init__(self) -> None:
        self._until = asyncio.get_running_loop().time() + SLICE_SECONDS

    async def rest(self) -> None:
        """Let others have their turn where the slice is used up, and begin another."""
        loop = asyncio.get_running_loop()
        if loop.time() > self._until:
            await asyncio.sleep(0)
            self._until = loop.time() + SLICE_SECONDS


async def some_in_each_turn(them: Iterable[T]) -> AsyncIterator[T]:
    """Yield `them`, letting the loop turn after each `MAX_AT_ONCE`: for waking tasks, whose work comes in that turn."""
    for count, each in enumerate(them, 1):
        yield each
        if not count % MAX_AT_ONCE:
            await asyncio.sleep(0)


class Turns:
    """Gives out turns. Without it a thousand tasks that only give way to the loop each work in every turn of it.

    How many have their turn at once follows from how long those before them took.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_giving = False
        self._given_at = 0.0
        self._at_once = 1

    async def next(self) -> None:
        """Return when it is the caller's turn to work for a slice at most."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.append(turn)
        if not self._is_giving:
            self._is_giving = True
            self._at_once, self._given_at = 1, loop.time()
            loop.call_soon(self._give)
        await turn

    def _give(self) -> None:
        loop = asyncio.get_running_loop()
        took, self._given_at = loop.time() - self._given_at, loop.time()
        self._at_once = max(1, self._at_once // 2) if took > SLICE_SECONDS else min(MAX_AT_ONCE, self._at_once * 2)
        given = 0
        while self._waiting and given < self._at_once:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                given += 1
        self._is_giving = bool(given)
        if given:
            loop.call_soon(self._give)
