"""Progress of a pass over all topics, for whoever shows it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

Step = Callable[[], None]
"""Called for each topic that has been looked at."""

Progress = Callable[[int], AbstractContextManager[Step]]
"""Takes the number of topics, gives the step to call for each."""


def no_step() -> None:
    """Take no notice of a topic."""


@contextlib.contextmanager
def no_progress(topics: int) -> Iterator[Step]:
    """Show nothing."""
    yield no_step
