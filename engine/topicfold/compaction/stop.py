"""How the job is told to end: by anybody, in whatever thread, at whatever moment."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

from pyspark.sql.streaming.query import StreamingQuery

_AGAIN_SECONDS = 1.0
"""What comes sooner is the same signal: to a process and to its group."""


class Stop:
    """Whether the job is to end, said in whatever thread."""

    def __init__(self, hears: Callable[[], None]) -> None:
        """Take what is called when it is said."""
        self._hears = hears
        self._said = threading.Event()
        self._query: StreamingQuery | None = None

    @property
    def is_said(self) -> bool:
        """Whether it is."""
        return self._said.is_set()

    def say(self) -> None:
        """Have it end."""
        self._said.set()
        self._hears()
        if self._query is not None:
            self._query.stop()

    def ends(self, query: StreamingQuery) -> None:
        """Have `query` stopped when it is said, now if it was."""
        self._query = query
        if self.is_said:
            query.stop()


class stopping_on_signals:  # noqa: N801 - a context manager
    """Calls `stop`, in a thread of its own, on SIGTERM and SIGINT; whoever sends one again later does not wait."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._stopped_at = math.inf
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for each in (signal.SIGTERM, signal.SIGINT):
            self._before[each] = signal.signal(each, self._take)

    def __exit__(self, *_: object) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)  # type: ignore[arg-type]

    def _take(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now > self._stopped_at + _AGAIN_SECONDS:
            signal.default_int_handler(number, frame)
        elif self._stopped_at == math.inf:
            self._stopped_at = now
            threading.Thread(target=self._stop).start()
