"""Lets any number of threads use something, and one put an end to it once no other does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """A context manager for those who use something, in any thread, again within itself."""

    def __init__(self) -> None:
        """Let everybody in."""
        self._changed = threading.Condition()
        self._inside: list[int] = []
        self._alone: int | None = None

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: self._alone in {None, me})
            self._inside.append(me)

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._inside.remove(threading.get_ident())
            self._changed.notify_all()

    def give_way(self, seconds: float) -> None:
        """Return once no other thread is inside, after `seconds` at the latest."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: {*self._inside} <= {me}, seconds)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other threads out, once those that are inside have left; one thread at a time."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: self._alone in {None, me})
            before, self._alone = self._alone, me
            self._changed.wait_for(lambda: {*self._inside} <= {me})
        try:
            yield
        finally:
            with self._changed:
                self._alone = before
                self._changed.notify_all()
