"""Sending calls in an event loop. `blocking` does the same in a thread."""

from __future__ import annotations

import asyncio
from typing import Any, Self, TypeVar

import httpx2

from topicfold.client.async_watch import AsyncWatch
from topicfold.client.call import Answer, Call
from topicfold.client.find_calls import Listing
from topicfold.client.pages import AsyncPager
from topicfold.client.transport.conversation import Attempt, Outcome, Pause
from topicfold.client.transport.loops import await_in, running_loop
from topicfold.client.transport.sending import FAILURES, Sender, redirected, silence_of
from topicfold.client.transport.silence import NoAnswer
from topicfold.client.transport.whole_answers import read_whole_awaiting
from topicfold.client.watching import Watching, WatchQuery

T = TypeVar("T")


class AwaitingSender(Sender[httpx2.AsyncClient, httpx2.AsyncBaseTransport]):
    """Performs calls over connections of its own, of each event loop others. Tasks may share one."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all watches, and close all connections, those of loops in other threads too.

        Later calls raise RuntimeError.
        """
        try:
            for each in self._to_be_ended():
                await each.close()
        finally:
            await self._http.aclose()
            with self._remembering:
                of_loops = [*self._of_loops.items()]
                self._of_loops.clear()
            for loop, http in of_loops:
                await await_in(loop, http.aclose)

    async def perform(self, call: Call[T]) -> T:
        """Return what `call` asks for, and remember the position of the answer.

        Cancelled, a change may or may not be applied; sent again with its Idempotency-Key, it is applied once.

        Raises:
            TopicfoldError: what the server refused with, or why there is no answer.
            RuntimeError: this is closed, and nothing was sent whose outcome is unknown.
        """
        steps, outcome = self._performance(call), None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                result: T = end.value
                return result
            try:
                outcome = await self._act(call, step)
            except RuntimeError as closed:
                steps.throw(closed)
                raise

    def page_through(self, listing: Listing) -> AsyncPager:
        """Return what `listing` asks for, page by page."""
        return AsyncPager(listing, self.perform)

    def follow(self, query: WatchQuery) -> AsyncWatch:
        """Return the frames that `query` asks for."""
        return self.ending(AsyncWatch(Watching(query, self._server, self._retry), self._connected))

    def _begin(self) -> None:
        super()._begin()
        self._of_loops: dict[asyncio.AbstractEventLoop, httpx2.AsyncClient] = {}

    def _connected(self) -> httpx2.AsyncClient:
        """Return what sends in the running loop, which cannot use connections of another; where this is closed, none.

        Connections of loops that have ended are let go.

        Raises:
            BadSetting: no loop of asyncio runs here.
        """
        loop = running_loop()
        if self._http.is_closed:
            return self._http
        with self._remembering:
            if loop not in self._of_loops:
                live = {each: http for each, http in self._of_loops.items() if not each.is_closed()}
                self._of_loops = {**live, loop: self._connect()}
            return self._of_loops[loop]

    def _connect(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(**self._options, transport=self._transport)

    async def _act(self, call: Call[Any], step: Attempt | Pause) -> Outcome:
        match step:
            case Attempt():
                return await self._send(call, step)
            case Pause(seconds):
                await asyncio.sleep(seconds)
                return None

    async def _send(self, call: Call[Any], attempt: Attempt) -> Answer | NoAnswer:
        request, onward = self._request(call, attempt), None
        try:
            response = await self._connected().send(request, stream=True)
            answer = await read_whole_awaiting(response)
            if onward := redirected(request, response):
                answer = await read_whole_awaiting(await self._connected().send(onward, stream=True))
        except FAILURES as error:
            return silence_of(error, attempt.timeout_seconds, onward)
        return answer
