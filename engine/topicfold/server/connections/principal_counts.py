"""Counts per principal how many long-lived requests it has, so that one leaves room for the others."""

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

    def take(self, principal: str, many: int = 1) -> None:
        """Count so many more of `principal`."""
        self[principal] += many

    def give_back(self, principal: str, many: int = 1) -> None:
        """Count so many less of `principal`, who has them."""
        self[principal] -= many
        if not self[principal]:
            del self[principal]
