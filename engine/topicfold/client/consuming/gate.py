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
        self._inside: list[tuple[int, int]] = []
        self._entered = 0
        self._alone: int | None = None

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._changed:
            # Who is inside already goes on: whoever is to be alone waits for him.
            self._changed.wait_for(lambda: self._alone in {None, me} or any(who == me for who, _ in self._inside))
            self._entered += 1
            self._inside.append((me, self._entered))

    def __exit__(self, *_: object) -> None:
        me = threading.get_ident()
        with self._changed:
            self._inside.remove(next(each for each in reversed(self._inside) if each[0] == me))
            self._changed.notify_all()

    def give_way(self, seconds: float) -> bool:
        """Return whether the other threads that are inside now leave within `seconds`; not who comes later."""
        if not self._inside:
            return True  # as at nearly every poll, which the lock would take half as long again
        me = threading.get_ident()
        with self._changed:
            last = self._entered
            return self._changed.wait_for(
                lambda: all(who == me or number > last for who, number in self._inside), seconds
            )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other threads out, once those that are inside have left; one thread at a time."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: self._alone in {None, me})
            before, self._alone = self._alone, me
        try:
            with self._changed:
                self._changed.wait_for(lambda: {who for who, _ in self._inside} <= {me})
            yield
        finally:
            with self._changed:
                self._alone = before
                self._changed.notify_all()
