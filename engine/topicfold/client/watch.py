"""Watches for threads: the I/O of `watching`. `async_watch` does the same in an event loop."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Self

import httpx2

from topicfold.client.call import Answer
from topicfold.client.frames import Frame
from topicfold.client.transport.conversation import Pause
from topicfold.client.transport.sending import FAILURES, silence_of
from topicfold.client.transport.silence import NoAnswer
from topicfold.client.transport.streaming import OPENED, opening, opening_of
from topicfold.client.transport.whole_answers import read_whole
from topicfold.client.watching import READ_SECONDS, Event, Interrupted, Open, Read, Watching
from topicfold.errors import TopicfoldError

_CLOSE_SECONDS = 1.0


class Watch:
    """Frames of a watch, as they arrive, from any node. One thread iterates; any thread can close it.

        with client.watch("team=pay") as frames:
            for frame in frames:
                match frame:
                    case Added(topic=topic): ...

    It never ends by itself: when the connection breaks, it reconnects and continues. If it cannot continue, it raises
    one of the errors of `topicfold.errors` and is closed. Another watch, also in another process, can continue from
    its `cursor`. After a fork, the child's watch continues from the same place over a connection of its own. Iterated
    over again after an interrupt, such as Ctrl-C, it continues too, if need be with a `Reset`.
    """

    def __init__(self, watching: Watching, connected: Callable[[], httpx2.Client]) -> None:
        """Take what returns the HTTP client to open streams with."""
        self._watching = watching
        self._steps = watching.steps()
        self._connected = connected
        self._event: Event = None
        self._is_struck = False
        self._response: httpx2.Response | None = None
        self._chunks: Iterator[bytes] = iter(())
        self._process = os.getpid()
        self._of_parent: tuple[object, ...] = ()
        self._in_use = threading.Lock()
        self._is_closed = threading.Event()

    @property
    def cursor(self) -> str:
        """The value of `since` that continues after the last frame; "" until the initial topics are complete."""
        return self._watching.cursor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Frame]:
        return self

    def __next__(self) -> Frame:
        self._leave_to_parent()
        is_ours = False
        try:
            with self._in_use:
                is_ours = True
                return self._frame()
        except (TopicfoldError, StopIteration):
            raise
        except BaseException:
            # A signal handler's: a frame is lost that was being told, or was on its way to who iterates.
            self._is_struck = self._is_struck or (is_ours and not isinstance(self._event, Interrupted))
            raise

    def close(self) -> None:
        """Close the watch. The iteration of a thread that waits for a frame ends at once; that of one still waiting for
        the server to answer may end only with the answer or its timeout.
        """
        self._leave_to_parent()
        self._is_closed.set()
        if (response := self._response) and (stream := response.extensions.get("network_stream")):
            with suppress(OSError):
                stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        if self._in_use.acquire(timeout=_CLOSE_SECONDS):
            try:
                self._release()
            finally:
                self._in_use.release()

    def _leave_to_parent(self) -> None:
        """Have the stream end where this process was forked: what is read of it here, the parent would miss.

        It is kept, for to close it may take a lock of a thread that is not here.
        """
        if self._process != os.getpid():
            self._process = os.getpid()
            self._in_use = threading.Lock()
            self._of_parent = self._response, self._chunks
            self._response, self._chunks = None, iter(())

    def _frame(self) -> Frame:
        try:
            return self._next()
        except (TopicfoldError, StopIteration):
            self._is_closed.set()
            raise
        finally:
            if self._is_closed.is_set():
                self._release()

    def _next(self) -> Frame:
        if self._is_struck:
            self._release()
            self._steps, self._event, self._is_struck = self._watching.steps_anew(), None, False
        while not self._is_closed.is_set():
            event, self._event = self._event, None
            step = self._steps.send(event)
            self._event = Interrupted()
            match step:
                case Open():
                    self._event = self._open(step)
                case Read():
                    self._event = self._read()
                case Pause(seconds):
                    self._release()
                    self._is_closed.wait(seconds)
                    self._event = None
                case _:
                    self._event = None
                    return step
        raise StopIteration

    def _open(self, step: Open) -> Answer | NoAnswer:
        http = self._connected()
        try:
            self._response = response = http.send(opening(http, step), stream=True)
            if response.status_code == OPENED:
                self._chunks = response.iter_bytes()
                return opening_of(response)
            return read_whole(response)
        except FAILURES as error:
            return silence_of(error, READ_SECONDS)

    def _read(self) -> bytes | NoAnswer:
        try:
            return next(filter(None, self._chunks), b"")
        except FAILURES as error:
            return silence_of(error, READ_SECONDS)

    def _release(self) -> None:
        response, self._response = self._response, None
        if response is not None:
            response.close()
