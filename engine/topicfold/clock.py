"""The side effects that values need: the wall clock, random ids and shares."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable


def wall_clock_ms() -> int:
    """Return milliseconds since 1970. For people only: no verdict reads it."""
    return time.time_ns() // 1_000_000


wall_clock_seconds = time.time
"""Returns seconds since 1970. For the end of credentials only, which others set by their own clocks."""


def random_id() -> bytes:
    """Return 16 random bytes: the id of an event, an operation or a log."""
    return os.urandom(16)


random_share: Callable[[], float] = random.random
"""Returns a number from 0 up to 1: for waits that must not be everybody's. Nobody may rely on its being secret."""
