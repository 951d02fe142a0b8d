"""The window: the last events of each partition that watchers may resume after, as what they changed.

A stream that was cut off `SIZE` events ago or less is continued from here on any node, for every node fills its window
while it folds. Only events that changed a topic take memory: 420 bytes each where topics bear five labels, none of it
for the garbage collector to walk through.

    >>> from topicfold.state.change import NamespaceTurn
    >>> window = Window({0: 0}, size=100)
    >>> window.add(0, NamespaceTurn("a/b", is_live=True, offset=4), b"")
    >>> [effect.offset for effect, _ in window.between(0, 0, 10)], window.between(0, 5, 10)
    ([4], [])
"""

from __future__ import annotations

import marshal
from array import array
from bisect import bisect_left
from collections.abc import Hashable, Mapping
from typing import Any

from topicfold.model.records import NO_GRANTS
from topicfold.state.aggregate import Etag
from topicfold.state.change import Effect, NamespaceTurn, TopicDelta, TopicRow

SIZE = 100_000
"""Events back, in one partition, that a stream may resume from."""

_KEPT_BEFORE_FIRST = 1024
_PARTS_OF_TURN = 2

Seen = tuple[Effect, bytes]
"""What an event changed, and its audit trail."""


class Window:
    """What the last `size` events of each partition changed. `starts` says from where on the node folds."""

    def __init__(self, starts: Mapping[int, int], size: int = SIZE) -> None:
        self._starts = dict(starts)
        self._size = size
        self._offsets = {partition: array("q") for partition in starts}
        self._seen: dict[int, list[bytes]] = {partition: [] for partition in starts}
        self._first = dict.fromkeys(starts, 0)
        self._closed: dict[int, dict[Hashable, int]] = {partition: {} for partition in starts}
        """Where namespaces ended last, by name, and where live topics had other grants, by namespace and key, in the
        order of the log."""

    def start(self, partition: int) -> int:
        """Return from where on the window may hold events."""
        return self._starts[partition]

    def lowest(self, position: int) -> int:
        """Return the lowest position that a stream may go on from, where `position` is folded up to."""
        return max(0, position - self._size)

    def floor(self, partition: int, position: int) -> int:
        """Return the lowest position after which everything is here, where `position` is folded up to."""
        return max(self._starts[partition], position - self._size)

    def add(self, partition: int, effect: Effect, audit: bytes) -> None:
        """Take the next effect of a partition; drop what has become too old. Cost: O(labels), amortized."""
        offsets, seen, closed = self._offsets[partition], self._seen[partition], self._closed[partition]
        _note_closed(closed, effect)
        offsets.append(effect.offset)
        seen.append(_packed(effect, audit))
        first, oldest = self._first[partition], effect.offset + 1 - self._size
        while offsets[first] < oldest:
            seen[first] = b""
            first += 1
        while closed and closed[next(iter(closed))] < oldest:
            del closed[next(iter(closed))]
        if first > _KEPT_BEFORE_FIRST and first > len(seen) // 4:
            del offsets[:first], seen[:first]
            first = 0
        self._first[partition] = first

    def below(self, partition: int, start: int) -> Window:
        """Return an empty window, for what lies between `start` and where this one begins: `extend` takes it."""
        return Window({partition: start}, self._size)

    def extend(self, partition: int, older: Window) -> None:
        """Take what `older` has: all of it up to where this window began until now.

        What is too old meanwhile goes with the next effect. Cost: that of copying a number for each effect.
        """
        first = self._first[partition]
        self._starts[partition] = older.floor(partition, self._starts[partition])
        first_older = older._first[partition]
        self._offsets[partition] = older._offsets[partition][first_older:] + self._offsets[partition][first:]
        self._seen[partition] = older._seen[partition][first_older:] + self._seen[partition][first:]
        self._first[partition] = 0
        closed, later = older._closed[partition], self._closed[partition]
        self._closed[partition] = {each: offset for each, offset in closed.items() if each not in later} | later

    def has_ended(self, partition: int, namespace: str, start: int) -> bool:
        """Return whether a namespace of the partition ended in an event from position `start` on.

        Complete only where `start` is not below the floor. Cost: O(1).
        """
        return self._closed[partition].get(namespace, -1) >= start

    def has_other_grants(self, partition: int, namespace: str, key: str, start: int) -> bool:
        """Return whether a live topic of the partition had its own grants changed in an event from `start` on.

        Complete only where `start` is not below the floor. Cost: O(1).
        """
        return self._closed[partition].get((namespace, key), -1) >= start

    def between(self, partition: int, start: int, end: int) -> list[Seen]:
        """Return the effects of events from position `start` on that lie before `end`, in order.

        Complete only where `start` is not below the floor. Cost: O(log size + effects).
        """
        offsets, first = self._offsets[partition], self._first[partition]
        places = slice(bisect_left(offsets, start, first), bisect_left(offsets, end, first))
        return [_unpacked(each) for each in self._seen[partition][places]]


def _note_closed(closed: dict[Hashable, int], effect: Effect) -> None:
    what: Hashable
    if isinstance(effect, TopicDelta):
        before, after = effect.before, effect.after
        if before is None or after is None or not before.grants or before.grants == after.grants:
            return
        what = effect.namespace, effect.key
    elif effect.is_live:
        return
    else:
        what = effect.namespace
    closed.pop(what, None)
    closed[what] = effect.offset


def _packed(effect: Effect, audit: bytes) -> bytes:
    """Return what happened as bytes that only this process reads; a label that did not change is in them once."""
    if isinstance(effect, NamespaceTurn):
        return marshal.dumps((tuple(effect), audit))
    before, after = effect.before, effect.after
    return marshal.dumps((effect[:3], before and _plain(before), after and _plain(after), effect.offset, audit))


def _unpacked(packed: bytes) -> Seen:
    said = marshal.loads(packed)  # noqa: S302 -- these bytes were never outside this process
    if len(said) == _PARTS_OF_TURN:
        return NamespaceTurn(*said[0]), said[1]
    (namespace, key, number), before, after, offset, audit = said
    return TopicDelta(namespace, key, number, before and _row(before), after and _row(after), offset), audit


def _plain(row: TopicRow) -> tuple[Any, ...]:
    grants = dict(row.grants) if row.grants else None
    return tuple(row._replace(etag=tuple(row.etag), grants=grants))  # type: ignore[arg-type]  # for `_row` alone


def _row(plain: tuple[Any, ...]) -> TopicRow:
    row = TopicRow._make(plain)
    return row._replace(etag=Etag(*row.etag), grants=row.grants or NO_GRANTS)
