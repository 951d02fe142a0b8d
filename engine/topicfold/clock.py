"""The side effects that values need: the wall clock, random ids and shares."""

from __future__ import annotations

import os
import random
import time
from collections import deque
from collections.abc import Callable


def wall_clock_ms() -> int:
    """Return milliseconds since 1970. For people only: no verdict reads it."""
    return time.time_ns() // 1_000_000


wall_clock_seconds = time.time
"""Returns seconds since 1970. For the end of credentials only, which others set by their own clocks."""


_DRAWN_AT_ONCE = 256
_drawn: deque[bytes] = deque()
os.register_at_fork(after_in_child=_drawn.clear)


def random_id() -> bytes:
    """Return 16 random bytes: the id of an event, an operation or a log.

    Many are drawn at once: each call of the system lets other threads have the interpreter, and a write wants four.
    """
    try:
        return _drawn.popleft()
    except IndexError:
        drawn = os.urandom(16 * _DRAWN_AT_ONCE)
        _drawn.extend(drawn[start : start + 16] for start in range(16, len(drawn), 16))
        return drawn[:16]


random_share: Callable[[], float] = random.random
"""Returns a number from 0 up to 1: for waits that must not be everybody's. Nobody may rely on its being secret."""
