"""The window: the last events of each partition that watchers may resume after, as what they changed.

A stream that was cut off `SIZE` events ago or less is continued from here on any node, for every node fills its window
while it folds. Only events that changed a topic take memory: 300 bytes each where topics bear five labels, none of it
for the garbage collector to walk through. Where they take more than `MAX_BYTES` together, for each of many changes 64
labels of full size, the window does not reach back so far: else a writer could have every node run out of memory.

    >>> from topicfold.state.change import NamespaceTurn
    >>> window = Window({0: 0}, size=100)
    >>> window.add(0, NamespaceTurn("a/b", is_live=True, offset=4), b"")
    >>> [seen.offset for seen, _ in window.between(0, 0, 10, ["a/b"])], window.between(0, 5, 10, ["a/b"])
    ([4], [])
"""

from __future__ import annotations

import marshal
from array import array
from bisect import bisect_left
from collections.abc import Container, Hashable, Mapping
from itertools import takewhile
from typing import Any

from topicfold.log.payload import LABELS_SCHEMA, decode_indexed
from topicfold.model.events import GENESIS
from topicfold.model.namespaces import Namespaces
from topicfold.model.records import NO_GRANTS, Grants
from topicfold.runtime.watching.packed_events import NO_LISTS, Lists, PackedEvents
from topicfold.runtime.watching.window_grants import ChangedGrants, KeptGrants, ManyGrants
from topicfold.state.aggregate import Aggregate, Etag
from topicfold.state.change import Effect, NamespaceTurn, TopicChange, TopicDelta, TopicRow, row_of

SIZE = 100_000
"""Events back, in one partition, that a stream may resume from."""

MAX_BYTES = 128 * 1024 * 1024
"""That what is kept of one partition takes: 1,300 bytes for each of so many events."""

_KEPT_BEFORE_FIRST = 1024
_PARTS_OF_TURN = 2
_PARTS_OF_STORED = 4

Seen = tuple[TopicDelta | NamespaceTurn, bytes]
"""What an event showed, and its audit trail."""


class Window:
    """What the last `size` events of each partition changed, or as many as `max_bytes` have room for.

    `starts` says from where on: what comes before is left out.
    """

    def __init__(self, starts: Mapping[int, int], size: int = SIZE, max_bytes: int = MAX_BYTES) -> None:
        self._starts = dict(starts)
        self._size = size
        self._max_bytes = max_bytes
        self._offsets = {partition: array("q") for partition in starts}
        self._seen = {partition: PackedEvents() for partition in starts}
        self._sizes = {partition: array("q") for partition in starts}
        self._bytes = dict.fromkeys(starts, 0)
        self._room_from = dict.fromkeys(starts, 0)
        """From where on there is room for what happened."""
        self._grants = {partition: ManyGrants() for partition in starts}
        self._first = dict.fromkeys(starts, 0)
        self._closed: dict[int, dict[Hashable, int]] = {partition: {} for partition in starts}
        """Where namespaces ended last, by name, and where live topics had other grants, by namespace and key, in the
        order of the log."""

    def start(self, partition: int) -> int:
        """Return from where on the window may hold events."""
        return self._starts[partition]

    def lowest(self, partition: int, position: int) -> int:
        """Return the lowest position that a stream may go on from, where `position` is folded up to."""
        return max(self._room_from[partition], position - self._size)

    def floor(self, partition: int, position: int) -> int:
        """Return the lowest position after which everything is here, where `position` is folded up to."""
        return max(self._starts[partition], self.lowest(partition, position))

    def add(self, partition: int, effect: Effect | TopicDelta, audit: bytes) -> None:
        """Take the next effect of a partition; drop what has become too old.

        Cost: O(payload), amortized, and what reading it costs where it is more than labels.
        """
        if effect.offset < self._starts[partition]:
            return
        offsets, seen, closed = self._offsets[partition], self._seen[partition], self._closed[partition]
        if isinstance(effect, TopicChange) and not (_is_labels(effect.before) and _is_labels(effect.after)):
            effect = effect.delta()
        if not isinstance(effect, TopicChange):
            _note_closed(closed, effect)
        packed, lists, size = _packed(effect, audit, self._grants[partition])
        offsets.append(effect.offset)
        seen.append(packed, lists)
        self._sizes[partition].append(size)
        self._bytes[partition] += size
        oldest = effect.offset + 1 - self._size
        if self._bytes[partition] > self._max_bytes or offsets[self._first[partition]] < oldest:
            self._drop_below(partition, oldest)
        while closed and closed[next(iter(closed))] < oldest:
            del closed[next(iter(closed))]

    def _drop_below(self, partition: int, oldest: int) -> None:
        """Drop what is too old, and the oldest of what there is no room for."""
        offsets, seen, sizes = self._offsets[partition], self._seen[partition], self._sizes[partition]
        first, kept_bytes = self._first[partition], self._bytes[partition]
        while first < len(offsets) and (offsets[first] < oldest or kept_bytes > self._max_bytes):
            if offsets[first] >= oldest:
                self._room_from[partition] = offsets[first] + 1
            kept_bytes -= sizes[first]
            first += 1
        seen.drop_below(first)
        if first > _KEPT_BEFORE_FIRST and first > len(offsets) // 4:
            del offsets[:first], sizes[:first]
            seen.cut(first)
            first = 0
        self._first[partition], self._bytes[partition] = first, kept_bytes
        self._grants[partition].drop_below(oldest)

    def below(self, partition: int, start: int) -> Window:
        """Return an empty window, for what lies between `start` and where this one begins: `extend` takes it."""
        return Window({partition: start}, self._size, self._max_bytes - self._bytes[partition])

    def extend(self, partition: int, older: Window) -> None:
        """Take what `older` has: all of it up to where this window began until now.

        What is too old meanwhile goes with the next effect. Cost: that of copying a number for each effect.
        """
        first = self._first[partition]
        self._starts[partition] = older.floor(partition, self._starts[partition])
        self._room_from[partition] = max(self._room_from[partition], older._room_from[partition])
        self._bytes[partition] += older._bytes[partition]
        first_older = older._first[partition]
        self._offsets[partition] = older._offsets[partition][first_older:] + self._offsets[partition][first:]
        self._seen[partition] = self._seen[partition].after(older._seen[partition], first_older, first)
        self._sizes[partition] = older._sizes[partition][first_older:] + self._sizes[partition][first:]
        self._first[partition] = 0
        closed, later = older._closed[partition], self._closed[partition]
        self._closed[partition] = {each: offset for each, offset in closed.items() if each not in later} | later

    def ended(self, partition: int, start: int, namespaces: Namespaces) -> str | None:
        """Return one of `namespaces` that ended in an event of the partition from position `start` on, None for none.

        Complete only where `start` is not below the floor. Cost: O(names), and with patterns O(ends since then).
        """
        closed = self._closed[partition]
        if not namespaces.patterns:
            return next((each for each in namespaces.names if closed.get(each, -1) >= start), None)
        since = takewhile(lambda each: closed[each] >= start, reversed(closed))
        return next((each for each in since if isinstance(each, str) and each in namespaces), None)

    def has_other_grants(self, partition: int, namespace: str, key: str, start: int) -> bool:
        """Return whether a live topic of the partition had its own grants changed in an event from `start` on.

        Complete only where `start` is not below the floor. Cost: O(1).
        """
        return self._closed[partition].get((namespace, key), -1) >= start

    def between(self, partition: int, start: int, end: int, namespaces: Container[str]) -> list[Seen]:
        """Return what events from position `start` on that lie before `end` showed in `namespaces`, in order.

        Complete only where `start` is not below the floor. Cost: O(log size + effects), and reading those of
        `namespaces`, 10 µs each.
        """
        offsets, first = self._offsets[partition], self._first[partition]
        places = bisect_left(offsets, start, first), bisect_left(offsets, end, first)
        wholes: dict[int, Grants] = {}
        found: list[Seen] = []
        for packed, lists in self._seen[partition].between(*places):
            said: tuple[Any, ...] = marshal.loads(packed)  # noqa: S302 -- these bytes were never outside this process
            if said[0][0] in namespaces:
                found.append(_unpacked(said, lists, wholes))
        return found


def _is_labels(topic: Aggregate) -> bool:
    """Return whether a topic is nothing but its labels, as far as is shown."""
    return topic.payload_schema == LABELS_SCHEMA or not topic.is_live


def _note_closed(closed: dict[Hashable, int], effect: NamespaceTurn | TopicDelta) -> None:
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


def _packed(effect: Effect | TopicDelta, audit: bytes, grants: ManyGrants) -> tuple[bytes, Lists, int]:
    """Return what happened as bytes that only this process reads, and how many of all these no event before has.

    With it, where the topic has many grants, the lists that those before and after are told by.

    Topics that are nothing but labels are kept as they are stored, for they are seldom looked at again; of others a
    label that did not change is in them once.
    """
    if isinstance(effect, TopicChange):
        packed = marshal.dumps((effect[:2], _stored(effect.before), _stored(effect.after), effect.offset, audit))
        return packed, NO_LISTS, len(packed)
    if isinstance(effect, NamespaceTurn):
        packed = marshal.dumps((tuple(effect), audit))
        return packed, NO_LISTS, len(packed)
    before, after = effect.before, effect.after
    around = grants.around(effect)
    if around is None:
        if before and after and before.grants and before.grants == after.grants:
            after = after._replace(grants=before.grants)
        rows = before and _plain(before), after and _plain(after)
        packed = marshal.dumps((effect[:2], *rows, effect.offset, audit))
        return packed, NO_LISTS, len(packed)
    rows = before and _plain(before, around.before), after and _plain(after, around.after)
    packed = marshal.dumps((effect[:2], *rows, effect.offset, audit))
    return packed, (_list(around.before), _list(around.after)), len(packed) + around.added_bytes


def _unpacked(said: tuple[Any, ...], lists: Lists, wholes: dict[int, Grants]) -> Seen:
    """Return what happened. `wholes` are the lists of grants that were read already, by which bytes they were."""
    if len(said) == _PARTS_OF_TURN:
        return NamespaceTurn(*said[0]), said[1]
    (namespace, key), *sides, offset, audit = said
    before, after = (side and _row(side, whole, wholes) for side, whole in zip(sides, lists, strict=True))
    return TopicDelta(namespace, key, before, after, offset), audit


def _stored(topic: Aggregate) -> tuple[Any, ...] | None:
    """Return a topic that is nothing but labels in what can be packed, None where it is not live."""
    if not topic.is_live:
        return None
    event_id, place = topic.etag
    return event_id, place, topic.offset, topic.payload


def _list(kept: KeptGrants | None) -> bytes:
    return b"" if kept is None else kept.whole


def _plain(row: TopicRow, kept: KeptGrants | None = None) -> tuple[Any, ...]:
    """Return a row in what can be packed; of many grants only those that are not as in their list."""
    grants = kept.changed if kept is not None else dict(row.grants) if row.grants else None
    labels, partitions, kafka_name, etag, offset, _ = row
    return labels, partitions, kafka_name, tuple(etag), offset, grants


def _row(plain: tuple[Any, ...], whole: bytes, wholes: dict[int, Grants]) -> TopicRow | None:
    if len(plain) == _PARTS_OF_STORED:
        event_id, place, offset, payload = plain
        etag = Etag(event_id, place)
        return row_of(Aggregate(GENESIS, True, etag, LABELS_SCHEMA, payload, offset), decode_indexed)
    row = TopicRow._make(plain)
    if not whole:
        return row._replace(etag=Etag(*row.etag), grants=row.grants or NO_GRANTS)
    if id(whole) not in wholes:
        wholes[id(whole)] = marshal.loads(whole)  # noqa: S302 -- nor were these
    return row._replace(etag=Etag(*row.etag), grants=ChangedGrants(wholes[id(whole)], row.grants))
