"""Watches for asyncio: the I/O of `watching`. `watch` does the same in a thread."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Self

import httpx2

from topicfold.client.call import Answer
from topicfold.client.frames import Frame
from topicfold.client.transport.conversation import Pause
from topicfold.client.transport.loops import await_in, running_loop
from topicfold.client.transport.sending import FAILURES, silence_of
from topicfold.client.transport.silence import NoAnswer
from topicfold.client.transport.streaming import OPENED, opening, opening_of
from topicfold.client.transport.whole_answers import read_whole_awaiting
from topicfold.client.watching import READ_SECONDS, Event, Interrupted, Open, Read, Watching
from topicfold.errors import TopicfoldError


class AsyncWatch:
    """`Watch` for `async for`, in one task. If cancelled while it waits for a frame, it can be continued where it was;
    so it can in another event loop or after a fork. Each time it connects anew: to wait for frames with a limit that
    is shorter than that takes brings none.

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
        self._home: tuple[int, asyncio.AbstractEventLoop] | None = None
        """The process and the loop in which it is iterated over."""
        self._of_elsewhere: tuple[object, ...] = ()
        self._is_closed = False
        self._woken = asyncio.Event()

    @property
    def cursor(self) -> str:
        """The value of `since` that continues after the last frame; "" until the initial topics are complete."""
        return self._watching.cursor

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[Frame]:
        return self

    async def __anext__(self) -> Frame:
        self._move_here()
        try:
            return await self._next()
        except (TopicfoldError, StopAsyncIteration):
            await self.close()
            raise

    async def close(self) -> None:
        """Close the watch. The iteration of a task that waits for a frame ends at once; that of one still waiting for
        the server to answer ends with the answer or its timeout.
        """
        self._is_closed = True
        if self._home is not None and self._home[0] == os.getpid():
            await await_in(self._home[1], self._end)

    async def _end(self) -> None:
        self._woken.set()
        await self._release()

    def _move_here(self) -> None:
        """Have a stream end that another loop reads, or the process from which this one was forked.

        It is kept, for only there it can be closed.
        """
        here = os.getpid(), running_loop()
        if here != self._home:
            if self._response is not None:
                self._of_elsewhere = self._response, self._chunks
                self._response = None
            self._home = here

    async def _next(self) -> Frame:
        while not self._is_closed:
            step = self._steps.send(self._event)
            self._event = Interrupted()
            match step:
                case Open():
                    self._event = await self._open(step)
                case Read():
                    self._event = await self._read()
                case Pause(seconds):
                    await self._release()
                    await self._pause(seconds)
                    self._event = None
                case _:
                    self._event = None
                    return step
        raise StopAsyncIteration

    async def _pause(self, seconds: float) -> None:
        # An event belongs to the loop in which it was waited for.
        self._woken = asyncio.Event()
        if not self._is_closed:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), seconds)

    async def _open(self, step: Open) -> Answer | NoAnswer:
        http = self._connected()
        try:
            self._response = response = await http.send(opening(http, step), stream=True)
            if response.status_code == OPENED:
                self._chunks = response.aiter_bytes()
                return opening_of(response)
            return await read_whole_awaiting(response)
        except FAILURES as error:
            return silence_of(error, READ_SECONDS)

    async def _read(self) -> bytes | NoAnswer | Interrupted:
        if self._response is None:
            return Interrupted()
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
