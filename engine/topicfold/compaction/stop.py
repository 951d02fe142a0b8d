"""How the job is told to stop: from any thread, at any moment."""

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

from topicfold.process.signals import handling

_AGAIN_SECONDS = 1.0
"""A signal that comes sooner counts as the same one, sent to the process and to its group."""


class Stop:
    """Whether the job is to stop; may be set from any thread."""

    def __init__(self, hears: Callable[[], None]) -> None:
        """Take `hears`, which is called when the job is told to stop."""
        self._hears = hears
        self._query: StreamingQuery | None = None
        self.is_said = False

    def say(self) -> None:
        """Tell the job to stop."""
        self.is_said = True
        self._hears()
        if self._query is not None:
            # If a cluster is named, a signal to the whole process group ends Spark's JVM too.
            with suppress(Py4JError, ConnectionError):
                self._query.stop()

    def ends(self, query: StreamingQuery) -> None:
        """Stop `query` when the job is told to stop; at once if it already was."""
        self._query = query
        if self.is_said:
            query.stop()


@contextmanager
def stopping_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop`, in a thread of its own, on the first SIGTERM or SIGINT; one that comes later interrupts at once."""
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
