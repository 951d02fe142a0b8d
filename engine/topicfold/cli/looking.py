"""Looking at something again and again beside what a command waits for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def looking_every(seconds: float, look: Callable[[], bool], name: str) -> Iterator[None]:
    """Call `look` each `seconds`, in a thread called `name`, until it returns False or the block ends.

    A look that has begun is not waited for.
    """
    is_over = threading.Event()

    def go_on_looking() -> None:
        while not is_over.wait(seconds) and look():
            pass

    threading.Thread(target=go_on_looking, name=name, daemon=True).start()
    try:
        yield
    finally:
        is_over.set()
