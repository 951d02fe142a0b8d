"""How far long work has come, for whoever shows it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

Step = Callable[[], None]
"""Called after each step."""

Progress = Callable[[int], AbstractContextManager[Step]]
"""Takes the number of steps; yields what to call after each one."""


def no_step() -> None:
    """Take no notice of a step."""


@contextlib.contextmanager
def no_progress(steps: int) -> Iterator[Step]:
    """Show nothing."""
    yield no_step
