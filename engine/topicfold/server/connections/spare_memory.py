"""Giving back the memory that a crowd of clients has left.

What they took is free once they are gone, but it stays with the process. Python keeps what it has freed of tuples,
lists and the like for the next ones, up to 2,000 of a size, until it looks through all objects, which a node never has
it do (`run`). Each of them keeps a megabyte in which nothing else is left. The C library keeps whole pages, too.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

from topicfold.process.free_pages import give_back_pages

CROWD = 1_000
"""What fewer have left is a few megabytes."""


def give_back() -> None:
    """Give back what is free, as far as anything can be.

    Cost: 5 to 50 ms after 10,000 clients, however much the node holds.
    """
    gc.collect(1)
    # Frozen, objects are not looked through, which would take longer the more there are: only what was kept is freed.
    gc.freeze()
    gc.collect()
    gc.unfreeze()
    give_back_pages()


class SpareMemory:
    """Notices that a crowd has left; then has memory given back, once."""

    def __init__(self, give_back: Callable[[], None] = give_back) -> None:
        self._give_back = give_back
        self._most = 0
        self._last = 0

    def look(self, clients: int) -> None:
        """Have memory given back if half of all clients have left, at least `CROWD`, and none since the last look.

        To be called every second, with how many there are.
        """
        self._most = max(self._most, clients)
        are_leaving = clients < self._last
        self._last = clients
        if not are_leaving and self._most - clients >= max(CROWD, self._most / 2):
            self._most = clients
            self._give_back()
