"""How many topics are live in a namespace wherever a delete requires that there are none.

A census travels between driver and executors. Which lives the namespace has depends on the outcome of these deletes.
But the number of topics in one life depends only on where it begins. So each life that may begin is counted as if it
lasted (`counting`), all of them at once; however many such deletes a batch holds, folding it once more settles them.

    put namespace (1), put a (2), delete if empty (3), delete a (4), delete if empty (5), put namespace (6), put a (7)

    life from 1: 1 live at 3, 0 at 5        life from 6: nothing to count, if 5 ends the first one
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

Place = tuple[int, str]
"""Partition and namespace."""

BEFORE = -1
"""Stands for the beginning of the life that a namespace had before the batch."""


class Count(NamedTuple):
    """How many more topics of a namespace are live at the delete at `offset` than at the delete before it.

    This counts the life that begins at the offset `since`, as if it lasted.
    """

    partition: int
    namespace: str
    since: int
    offset: int
    live_topics: int


@dataclass(frozen=True, slots=True)
class Census:
    """For each namespace that was asked about and each start of a life: rising offsets, and the live topics there."""

    found: Mapping[Place, Mapping[int, Sequence[tuple[int, int]]]] = field(default_factory=dict)

    def live_topics(self, place: Place, since: int, offset: int) -> int | None:
        """Return how many topics are live at `offset` in the life from `since`; None if not asked about the namespace.

        >>> census_of({(0, "a/b"): 2}, [Count(0, "a/b", BEFORE, 7, -2)]).live_topics((0, "a/b"), BEFORE, 7)
        0
        """
        lives = self.found.get(place)
        if lives is None:
            return None
        of = lives.get(since, ())
        number = bisect_right(of, offset, key=itemgetter(0))
        return of[number - 1][1] if number else 0


def census_of(before: Mapping[Place, int], counts: Iterable[Count]) -> Census:
    """Return the census of the namespaces in `before`, given how many topics were live in each before the batch."""
    grown = {place: {BEFORE: [(BEFORE, live)]} for place, live in before.items()}
    for each in sorted(counts, key=lambda count: count.offset):
        grown[each.partition, each.namespace].setdefault(each.since, []).append((each.offset, each.live_topics))
    return Census({place: {since: _summed(of) for since, of in lives.items()} for place, lives in grown.items()})


def _summed(counts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    totals = accumulate(more for _, more in counts)
    return [(offset, total) for (offset, _), total in zip(counts, totals, strict=True)]
