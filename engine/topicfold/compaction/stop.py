"""How the job is told to end: by anybody, in whatever thread, at whatever moment."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from py4j.protocol import Py4JError
from pyspark.sql.streaming.query import StreamingQuery

from topicfold.signals import handling

_AGAIN_SECONDS = 1.0
"""What comes sooner is the same signal: to a process and to its group."""


class Stop:
    """Whether the job is to end, said in whatever thread."""

    def __init__(self, hears: Callable[[], None]) -> None:
        """Take what is called when it is said."""
        self._hears = hears
        self._query: StreamingQuery | None = None
        self.is_said = False

    def say(self) -> None:
        """Have it end."""
        self.is_said = True
        self._hears()
        if self._query is not None:
            # What is sent to the whole group of processes ends Spark's own, too, where a cluster is named.
            with suppress(Py4JError, ConnectionError):
                self._query.stop()

    def ends(self, query: StreamingQuery) -> None:
        """Have `query` stopped when it is said, now if it was."""
        self._query = query
        if self.is_said:
            query.stop()


@contextmanager
def stopping_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop`, in a thread of its own, on SIGTERM and SIGINT; whoever sends one again later does not wait."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stopped_at = math.inf

    def take(number: int, frame: FrameType | None) -> None:
        nonlocal stopped_at
        now = time.monotonic()
        if now > stopped_at + _AGAIN_SECONDS:
            signal.default_int_handler(number, frame)
        elif stopped_at == math.inf:
            stopped_at = now
            threading.Thread(target=stop).start()

    with handling(take, signal.SIGTERM, signal.SIGINT):
        yield
