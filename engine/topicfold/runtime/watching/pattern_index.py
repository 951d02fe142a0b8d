"""The pattern index: which registered patterns match a name, and whose they are.

It has a dictionary for each *shape* (number of segments, open end, positions of the literals), so patterns that differ
only in their literals cost one look-up together.

Source: FluxMQ #556 keeps a trie for this; `gsl`, NATS's subscription list. A dictionary a shape is as fast and smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from topicfold.model.finding.pattern import MAX_SEGMENTS, SEPARATOR, Pattern, Shape

S = TypeVar("S", bound=Hashable)


class PatternIndex(Generic[S]):
    """Patterns of subscribers, found by a name that matches. All patterns must have been parsed with `separator`.

    Cost of a look-up: O(shapes that admit the name's length), whatever the number of patterns.

    >>> from topicfold.model.finding.pattern import parse_pattern
    >>> index = PatternIndex[int]()
    >>> index.add(parse_pattern("pay__*"), 1); index.add(parse_pattern("**"), 2)
    >>> sorted(index.find("pay__refund")), index.find("pay"), index.find("__pay")
    ([1, 2], {2}, set())
    """

    __slots__ = ("_by_length", "_separator", "_tables")

    def __init__(self, separator: str = SEPARATOR) -> None:
        self._separator = separator
        self._tables: dict[Shape, dict[Hashable, set[S]]] = {}
        self._by_length: list[list[tuple[Callable[[Sequence[str]], Hashable], dict[Hashable, set[S]]]]] = [
            [] for _ in range(MAX_SEGMENTS + 2)
        ]

    def add(self, pattern: Pattern, subscriber: S) -> None:
        """Register `pattern` for `subscriber`; doing so again changes nothing."""
        if pattern.shape not in self._tables:
            self._tables[pattern.shape] = {}
            self._arrange()
        self._tables[pattern.shape].setdefault(pattern.literals, set()).add(subscriber)

    def remove(self, pattern: Pattern, subscriber: S) -> None:
        """Undo `add`.

        Raises:
            KeyError: the pattern is not registered for the subscriber.
        """
        table = self._tables[pattern.shape]
        subscribers = table[pattern.literals]
        subscribers.remove(subscriber)
        if not subscribers:
            del table[pattern.literals]
            if not table:
                del self._tables[pattern.shape]
                self._arrange()

    def find(self, name: str) -> set[S]:
        """Return the subscribers with a pattern that matches the local name `name`; the set is the caller's."""
        segments = name.split(self._separator)
        found: set[S] = set()
        if "" in segments:
            return found
        for pick, table in self._by_length[min(len(segments), MAX_SEGMENTS + 1)]:
            subscribers = table.get(pick(segments))
            if subscribers is not None:
                found |= subscribers
        return found

    def _arrange(self) -> None:
        """Recompute which shapes admit names of each length; all lengths above `MAX_SEGMENTS` are treated alike."""
        for length, tables in enumerate(self._by_length):
            tables[:] = [(shape.pick, table) for shape, table in self._tables.items() if shape.admits(length)]
