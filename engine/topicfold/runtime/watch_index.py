"""The watch index: which groups of watchers a changed topic may concern, in one namespace.

A query is filed in one place where every topic that it means must pass: under a label that its selector demands, the
rarest, or a key of it; else under its patterns; only what demands neither is tried on each change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from topicfold.model.names import local_of_key
from topicfold.model.query import TopicQuery
from topicfold.model.selector import Equals, Exists, GreaterThan, In, LessThan, Positive
from topicfold.runtime.watch_group import Group
from topicfold.state.change import TopicDelta, TopicRow
from topicfold.state.label_index import LabelIndex
from topicfold.state.pattern_index import PatternIndex

Place = tuple[str, str | None]
"""A label, or with None a key of any value."""


class WatchIndex:
    """The groups that watch one namespace."""

    def __init__(self, separator: str) -> None:
        self._places: dict[Place, set[Group]] = {}
        self._patterns: PatternIndex[Group] = PatternIndex(separator)
        self._always: set[Group] = set()
        self._filed: dict[Group, tuple[Place, ...]] = {}

    def add(self, group: Group, query: TopicQuery, labels: LabelIndex | None) -> None:
        """File a group; `labels` says how rare a label is, None that nobody bears any."""
        places = _rarest(query, labels)
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


def _rarest(query: TopicQuery, labels: LabelIndex | None) -> tuple[Place, ...]:
    """Return the places of the requirement that the fewest topics fulfil; none where none demands a key."""
    choices = [_places(each) for each in query.selector.positives]
    return min(choices, key=lambda places: sum(_bearing(place, labels) for place in places), default=())


def _places(requirement: Positive) -> tuple[Place, ...]:
    match requirement:
        case Equals(key, value):
            return ((key, value),)
        case In(key, values):
            return tuple((key, value) for value in sorted(values))
        case Exists(key) | GreaterThan(key) | LessThan(key):
            return ((key, None),)
        case _:
            assert_never(requirement)


def _bearing(place: Place, labels: LabelIndex | None) -> int:
    key, value = place
    if labels is None:
        return 0
    postings = labels.having_key(key) if value is None else labels.having(key, value)
    return len(postings) if postings else 0
