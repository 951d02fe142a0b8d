"""The watch index: which groups of watchers a changed topic may concern, of those that watch the same namespaces.

A query is filed in one place where every topic that it means must pass: under a label that its selector demands, the
rarest, or a key of it; else under its patterns; only what demands neither is tried on each change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import assert_never

from topicfold.model.finding.query import TopicQuery
from topicfold.model.finding.selector import Equals, Exists, GreaterThan, In, LessThan, Positive
from topicfold.model.names import local_of_key
from topicfold.runtime.watching.group import Group
from topicfold.runtime.watching.pattern_index import PatternIndex
from topicfold.state.change import TopicDelta, TopicRow
from topicfold.state.indexes.label_index import LabelIndex

MAX_ASKED = 256
"""Label indexes that are asked how rare a label is: one look-up in each for every value that a query names."""

Place = tuple[str, str | None]
"""A label, or with None a key of any value."""


class WatchIndex:
    """The groups that watch one namespace, or all of them."""

    def __init__(self, separator: str) -> None:
        self._places: dict[Place, set[Group]] = {}
        self._patterns: PatternIndex[Group] = PatternIndex(separator)
        self._always: set[Group] = set()
        self._filed: dict[Group, tuple[Place, ...]] = {}

    def add(self, group: Group, query: TopicQuery, labels: Iterable[LabelIndex]) -> None:
        """File a group; `labels` say how rare a label is. Of many namespaces the first `MAX_ASKED` are asked."""
        places = _rarest(query, list(islice(labels, MAX_ASKED)))
        self._filed[group] = places
        for place in places:
            self._places.setdefault(place, set()).add(group)
        if not places and not query.patterns:
            self._always.add(group)
        elif not places:
            for pattern in query.patterns:
                self._patterns.add(pattern, group)

    def discard(self, group: Group, query: TopicQuery) -> None:
        """Take a group out that was filed with `query`."""
        places = self._filed.pop(group)
        for place in places:
            groups = self._places[place]
            groups.discard(group)
            if not groups:
                del self._places[place]
        if not places and not query.patterns:
            self._always.discard(group)
        elif not places:
            for pattern in query.patterns:
                self._patterns.remove(pattern, group)

    def candidates(self, delta: TopicDelta) -> set[Group]:
        """Return the groups that the change may concern, as a set of its own: all that it does concern are in it.

        Cost: O(labels before and after, shapes of patterns, groups found).
        """
        found = self._patterns.find(local_of_key(delta.key)) | self._always
        for row in (delta.before, delta.after):
            if row is not None:
                self._collect(row, found)
        return found

    def all(self) -> Iterator[Group]:
        """Yield every group."""
        return iter(list(self._filed))

    def __len__(self) -> int:
        return len(self._filed)

    def _collect(self, row: TopicRow, found: set[Group]) -> None:
        places = self._places
        for pair in row.labels:
            groups = places.get(pair)
            if groups is not None:
                found |= groups
            groups = places.get((pair[0], None))
            if groups is not None:
                found |= groups


def _rarest(query: TopicQuery, labels: Sequence[LabelIndex]) -> tuple[Place, ...]:
    """Return the places of the requirement that the fewest topics fulfil; none where none demands a key."""
    choices = [_places(each) for each in query.selector.positives]
    return min(choices, key=lambda places: sum(_bearing(place, labels) for place in places), default=())


def _places(requirement: Positive) -> tuple[Place, ...]:
    match requirement:
        case Equals(key=key, value=value):
            return ((key, value),)
        case In(key=key, values=values):
            return tuple((key, value) for value in sorted(values))
        case Exists(key=key) | GreaterThan(key=key) | LessThan(key=key):
            return ((key, None),)
        case _:
            assert_never(requirement)


def _bearing(place: Place, labels: Sequence[LabelIndex]) -> int:
    key, value = place
    found = (each.having_key(key) if value is None else each.having(key, value) for each in labels)
    return sum(map(len, filter(None, found)))
