"""The set of topics that match a watch, kept up to date from its frames. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import assert_never

from topicfold.client.find_answers import Match
from topicfold.client.frames import Added, Bookmark, Deleted, Frame, Modified, Reset


@dataclass(frozen=True, slots=True)
class NetChange:
    """Names that were added and names that were removed, both sorted; no name is in both."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


class LiveSet:
    """The topics that match, kept up to date from frames, and what changed since the last call of `take_change`.

    While the initial topics are still arriving, no change is reported. After a `Reset` the changes are those from the
    old set to the complete new one, so a topic that is in both is neither removed nor added.

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
        """Whether `topics` holds all topics that match, or the initial ones are still arriving."""
        return self._is_complete

    @property
    def topics(self) -> Mapping[str, Match]:
        """The topics received since the last `Reset`, by name; a live view."""
        return MappingProxyType(self._topics)

    def apply(self, frame: Frame) -> None:
        """Apply `frame` to the set.

        Cost: constant, except for a `Reset`.
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
        """Return what was added and removed since the last call; nothing while the initial topics are incomplete.

        A topic that was added and removed again since is left out.

        Cost: the number of topics in the frames since the last call.
        """
        if not self._is_complete:
            return NetChange()
        added = {name for name in self._touched if name in self._topics} - self._taken
        removed = {name for name in self._touched if name not in self._topics} & self._taken
        self._taken = (self._taken | added) - removed
        self._touched.clear()
        return NetChange(tuple(sorted(added)), tuple(sorted(removed)))
