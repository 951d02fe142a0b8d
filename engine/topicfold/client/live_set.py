"""The set of topics that a watch tells of, held by whoever acts on it. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import assert_never

from topicfold.client.find_answers import Match
from topicfold.client.frames import Added, Bookmark, Deleted, Frame, Modified, Reset


@dataclass(frozen=True, slots=True)
class NetChange:
    """Names that came and names that went, both sorted; none of them both."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


class LiveSet:
    """Which topics match, from frames; and what changed of that since one last asked.

    While a start state is told nothing has changed yet: after a `Reset` the set of before is what one goes by until
    the new one is complete, so a topic that is in both neither goes nor comes.

        held = LiveSet()
        for frame in frames:
            held.apply(frame)
            if change := held.take_change():
                print(change.added, change.removed)
    """

    def __init__(self) -> None:
        self._topics: dict[str, Match] = {}
        self._taken: set[str] = set()
        self._touched: set[str] = set()
        self._is_complete = False

    @property
    def is_complete(self) -> bool:
        """Whether `topics` are all that match, rather than the beginning of a start state."""
        return self._is_complete

    @property
    def topics(self) -> Mapping[str, Match]:
        """What was told since the last `Reset`, by name; a view that follows."""
        return MappingProxyType(self._topics)

    def apply(self, frame: Frame) -> None:
        """Hold what `frame` tells.

        Cost: constant, but for a `Reset`.
        """
        match frame:
            case Added(topic=topic) | Modified(topic=topic):
                self._topics[topic.name] = topic
                self._touched.add(topic.name)
            case Deleted(topic=topic):
                self._topics.pop(topic.name, None)
                self._touched.add(topic.name)
            case Bookmark(is_initial=is_initial):
                self._is_complete = self._is_complete or is_initial
            case Reset():
                self._topics.clear()
                self._touched = set(self._taken)
                self._is_complete = False
            case _:
                assert_never(frame)

    def take_change(self) -> NetChange:
        """Return what came and went since this was last called; nothing while a start state is incomplete.

        What came and went again in between is not in it.

        Cost: the number of topics that were told of in between.
        """
        if not self._is_complete:
            return NetChange()
        added = {name for name in self._touched if name in self._topics} - self._taken
        removed = {name for name in self._touched if name not in self._topics} & self._taken
        self._taken = (self._taken | added) - removed
        self._touched.clear()
        return NetChange(tuple(sorted(added)), tuple(sorted(removed)))
