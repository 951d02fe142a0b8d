"""How many topics live in a namespace, wherever a delete requires that none do. Travels between driver and executors.

Which lives the namespace has hangs on what comes of these deletes. But what the topics of one life come to hangs on
nothing but where it begins: so each life that may begin is counted as if it lasted (`counting`), all of them at once,
and however many such deletes a batch holds, folding it once more settles them.

    put namespace (1), put a (2), delete if empty (3), delete a (4), delete if empty (5), put namespace (6), put a (7)

    life from 1: 1 live at 3, 0 at 5        life from 6: nothing is asked, if 5 ends the first one
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
"""Where the life begins that a namespace had before the batch."""


class Count(NamedTuple):
    """So many more topics of a namespace live at the delete at `offset` than at the one before it.

    In the life that begins at the offset `since`, if it lasts.
    """

    partition: int
    namespace: str
    since: int
    offset: int
    live_topics: int


@dataclass(frozen=True, slots=True)
class Census:
    """Of each namespace that was asked about, by where a life begins: offsets, rising, and how many live there."""

    found: Mapping[Place, Mapping[int, Sequence[tuple[int, int]]]] = field(default_factory=dict)

    def live_topics(self, place: Place, since: int, offset: int) -> int | None:
        """Return how many live at `offset`, in the life from `since` on; None where the namespace was not asked about.

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
    """Return the census of the namespaces in `before`, which says how many topics lived in each before the batch."""
    grown = {place: {BEFORE: [(BEFORE, live)]} for place, live in before.items()}
    for each in sorted(counts, key=lambda count: count.offset):
        grown[each.partition, each.namespace].setdefault(each.since, []).append((each.offset, each.live_topics))
    return Census({place: {since: _summed(of) for since, of in lives.items()} for place, lives in grown.items()})


def _summed(counts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    totals = accumulate(more for _, more in counts)
    return [(offset, total) for (offset, _), total in zip(counts, totals, strict=True)]
