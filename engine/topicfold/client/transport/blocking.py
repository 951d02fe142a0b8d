"""Sending calls from a thread that waits for the answers. `awaiting` does the same in an event loop."""

from __future__ import annotations

import time
from typing import Any, Self, TypeVar

import httpx2

from topicfold.client.call import Answer, Call
from topicfold.client.find_calls import Listing
from topicfold.client.pages import Pager
from topicfold.client.transport.conversation import Attempt, Outcome, Pause
from topicfold.client.transport.sending import FAILURES, Sender, redirected, silence_of
from topicfold.client.transport.silence import NoAnswer
from topicfold.client.transport.whole_answers import read_whole
from topicfold.client.watch import Watch
from topicfold.client.watching import Watching, WatchQuery

T = TypeVar("T")


class BlockingSender(Sender[httpx2.Client, httpx2.BaseTransport]):
    """Performs calls over its own connections. It can be shared between threads, and used on after a fork."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all watches, and close all connections. Later calls raise RuntimeError."""
        try:
            for each in self._to_be_ended():
                each.close()
        finally:
            self._http.close()

    def perform(self, call: Call[T]) -> T:
        """Return what `call` asks for, and remember the position of the answer.

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
                outcome = self._act(call, step)
            except RuntimeError as closed:
                steps.throw(closed)
                raise

    def page_through(self, listing: Listing) -> Pager:
        """Return what `listing` asks for, page by page."""
        return Pager(listing, self.perform)

    def follow(self, query: WatchQuery) -> Watch:
        """Return the frames that `query` asks for."""
        return self.ending(Watch(Watching(query, self._server, self._retry), self._connected))

    def _connected(self) -> httpx2.Client:
        return self._http

    def _connect(self) -> httpx2.Client:
        return httpx2.Client(**self._options, transport=self._transport)

    def _act(self, call: Call[Any], step: Attempt | Pause) -> Outcome:
        match step:
            case Attempt():
                return self._send(call, step)
            case Pause(seconds):
                time.sleep(seconds)
                return None

    def _send(self, call: Call[Any], attempt: Attempt) -> Answer | NoAnswer:
        request, onward = self._request(call, attempt), None
        try:
            response = self._connected().send(request, stream=True)
            answer = read_whole(response)
            if onward := redirected(request, response):
                answer = read_whole(self._connected().send(onward, stream=True))
        except FAILURES as error:
            return silence_of(error, attempt.timeout_seconds, onward)
        return answer
