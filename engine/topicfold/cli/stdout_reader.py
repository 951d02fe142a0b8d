"""Whoever reads stdout, say `head`: noticing that they are gone while there is nothing to write to them."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from topicfold.cli.looking import looking_every

_LOOK_SECONDS = 0.2


def is_reader_gone() -> bool:
    """Return whether nobody reads stdout any more. Only POSIX tells that of a pipe that is not written to."""
    if not hasattr(select, "poll"):
        return False
    looking = select.poll()
    try:
        looking.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):
        return False
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in looking.poll(0))


def require_reader() -> None:
    """Return if somebody may read stdout.

    Raises:
        BrokenPipeError: nobody does any more.
    """
    if is_reader_gone():
        raise BrokenPipeError


@contextmanager
def ending_without_reader(end: Callable[[], None]) -> Iterator[None]:
    """Call `end`, which any thread may, if nobody reads stdout any more before the block ends.

    Raises:
        BrokenPipeError: so it was; once the block has ended.
    """

    def look() -> bool:
        if is_gone := is_reader_gone():
            end()
        return not is_gone

    with looking_every(_LOOK_SECONDS, look, "topicfold-stdout"):
        yield
    require_reader()
