"""Taking signals for as long as something lasts."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
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


@contextmanager
def interrupts_between_steps() -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Have Ctrl-C and SIGTERM raise KeyboardInterrupt; yield what makes a block a step, of which they wait for the end.

    A second one waits for nothing.

    Raises:
        ValueError: this is not the main thread.
    """
    is_in_step = is_pressed = False

    def press(*_: object) -> None:
        nonlocal is_pressed
        if is_pressed or not is_in_step:
            raise KeyboardInterrupt
        is_pressed = True

    @contextmanager
    def step() -> Iterator[None]:
        nonlocal is_in_step
        is_in_step = True
        try:
            yield
        finally:
            is_in_step = False
        if is_pressed:
            raise KeyboardInterrupt

    with handling(press, signal.SIGINT, signal.SIGTERM):
        yield step
