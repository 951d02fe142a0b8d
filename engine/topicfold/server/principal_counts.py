"""How many of something that lasts each principal has at once, so that one leaves room for the others."""

from __future__ import annotations

from collections import Counter


class PrincipalCounts(Counter[str]):
    """The counts by principal. Who has none is not kept.

    >>> counts = PrincipalCounts()
    >>> counts.take("ann"); counts.take("ann"); counts.give_back("ann"); counts["ann"], counts.total()
    (1, 1)
    >>> counts.give_back("ann"); len(counts)
    0
    """

    def take(self, principal: str) -> None:
        """Count one more of `principal`."""
        self[principal] += 1

    def give_back(self, principal: str) -> None:
        """Count one less of `principal`, who has one."""
        self[principal] -= 1
        if not self[principal]:
            del self[principal]
