"""Waiting for what comes to hold."""

from __future__ import annotations

import time
from collections.abc import Callable

_SECONDS = 60.0


def eventually(holds: Callable[[], bool], seconds: float = _SECONDS) -> None:
    """Return once it holds; fail if that takes too long."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.005)
