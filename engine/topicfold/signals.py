"""Taking signals for as long as something lasts."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def handling(handler: Callable[[int, FrameType | None], object], *signals: signal.Signals) -> Iterator[None]:
    """Have `handler` take `signals` within the block, and then whoever took them before.

    Raises:
        ValueError: this is not the main thread, where alone Python takes signals.
    """
    before = {each: signal.signal(each, handler) for each in signals}
    try:
        yield
    finally:
        for each, taker in before.items():
            signal.signal(each, taker)
