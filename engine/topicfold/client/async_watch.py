"""Watches as a task iterates over them: the I/O of `watching`. `watch` does the same in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Self

import httpx2

from topicfold.client.call import Answer
from topicfold.client.conversation import Pause
from topicfold.client.frames import Frame
from topicfold.client.sending import FAILURES, answer_of, silence_of
from topicfold.client.silence import NoAnswer
from topicfold.client.streaming import OPENED, opening, opening_of
from topicfold.client.watching import READ_SECONDS, Event, Interrupted, Open, Read, Watching
from topicfold.errors import TopicfoldError


class AsyncWatch:
    """`Watch` for `async for`, in one task. Cancelled while it waits for a frame, it goes on where it was.

    async with client.watch("team=pay") as frames:
        async for frame in frames: ...
    """

    def __init__(self, watching: Watching, connected: Callable[[], httpx2.AsyncClient]) -> None:
        """Take what returns the HTTP client to open streams with."""
        self._watching = watching
        self._steps = watching.steps()
        self._connected = connected
        self._event: Event = None
        self._response: httpx2.Response | None = None
        self._chunks: AsyncIterator[bytes]
        self._is_closed = asyncio.Event()

    @property
    def cursor(self) -> str:
        """What `since` takes to go on behind the last frame; "" before and inside a start state."""
        return self._watching.cursor

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[Frame]:
        return self

    async def __anext__(self) -> Frame:
        try:
            return await self._next()
        except (TopicfoldError, StopAsyncIteration):
            await self.close()
            raise

    async def close(self) -> None:
        """End it. A task that waits for a frame ends its iteration; one that waits for a server's first word hears it
        or times out before.
        """
        self._is_closed.set()
        await self._release()

    async def _next(self) -> Frame:
        while not self._is_closed.is_set():
            step = self._steps.send(self._event)
            self._event = Interrupted()
            match step:
                case Open():
                    self._event = await self._open(step)
                case Read():
                    self._event = await self._read()
                case Pause(seconds):
                    await self._release()
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._is_closed.wait(), seconds)
                    self._event = None
                case _:
                    self._event = None
                    return step
        raise StopAsyncIteration

    async def _open(self, step: Open) -> Answer | NoAnswer:
        http = self._connected()
        try:
            self._response = response = await http.send(opening(http, step), stream=True)
            if response.status_code == OPENED:
                self._chunks = response.aiter_bytes()
                return opening_of(response)
            await response.aread()
        except FAILURES as error:
            return silence_of(error, READ_SECONDS)
        return answer_of(response)

    async def _read(self) -> bytes | NoAnswer:
        try:
            async for chunk in self._chunks:
                if chunk:
                    return chunk
        except FAILURES as error:
            return silence_of(error, READ_SECONDS)
        return b""

    async def _release(self) -> None:
        response, self._response = self._response, None
        if response is not None:
            await response.aclose()
