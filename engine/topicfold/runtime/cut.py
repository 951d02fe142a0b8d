"""Cuts: one namespace's topics as they are at one moment, which can be read in parts while the fold goes on.

Nothing is copied when a cut is taken. A later change first saves the topic's former row, once for all open cuts: so a
change costs the same however many cuts there are, and memory is used only for what changed since the oldest. A cut
delays nobody, but must be closed; after `MAX_CHANGES` further changes it is lost.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from topicfold.errors import Overloaded
from topicfold.runtime.watching.window import SIZE
from topicfold.state.change import Effect, NamespaceTurn, TopicChange, TopicRow, row_of
from topicfold.state.topic_table import TopicTable

MAX_CHANGES = SIZE
"""Changes of a namespace that a cut outlasts: after so many its reader could not go on from it either."""


class NamespaceCut:
    """The topics `numbers` of a table as they were when the cut was taken."""

    def __init__(self, namespace: str, past: _Past, numbers: Iterable[int]) -> None:
        self.namespace = namespace
        self.is_lost = False
        self._past = past
        self._numbers = iter(numbers)
        self._taken = past.changes

    @property
    def table(self) -> TopicTable:
        """The table that this is a cut of."""
        return self._past.table

    @property
    def changed(self) -> set[int]:
        """All topics of the namespace that have changed since; incomplete if the cut is lost."""
        return self._past.changed(self.age)

    def take(self, most: int) -> list[int]:
        """Return the numbers of up to `most` more topics; none at the end, or if the cut is lost.

        The fold may go on before the next are taken, but not before these are read.
        """
        return [] if self.is_lost else list(islice(self._numbers, most))

    def chunks(self, most: int) -> Iterator[list[int]]:
        """Yield the numbers of all topics that are left, as `take` returns them.

        Raises:
            Overloaded: the cut is lost, so that some are missing.
        """
        while numbers := self.take(most):
            yield numbers
        if self.is_lost:
            raise Overloaded(f"{MAX_CHANGES} topics of {self.namespace} have changed meanwhile")

    def rows(self, numbers: Sequence[int]) -> list[tuple[str, TopicRow]]:
        """Return the keys and rows of topics that were just taken."""
        return self.table.keyed(numbers, self._past.rows(numbers, self._taken))

    def is_unchanged(self, numbers: Sequence[int]) -> bool:
        """Return whether the table certainly has topics that were just taken as they were."""
        return self._past.is_unchanged(numbers)

    def close(self) -> None:
        """Stop keeping former rows for this cut."""
        self._past.close(self)

    @property
    def age(self) -> int:
        """How many changes ago the cut was taken."""
        return self._past.changes - self._taken


class _Past:
    """The former rows of one table's topics, as far back as the oldest open cut.

    `changes` counts the changes; a row that change number n replaced is filed under n.
    """

    def __init__(self, table: TopicTable) -> None:
        self.table = table
        self.changes = 0
        self.cuts: dict[NamespaceCut, None] = {}
        self._rows: dict[int, list[tuple[int, TopicRow | None]]] = {}
        self._order: deque[int] = deque()

    def rows(self, numbers: Sequence[int], taken: int) -> list[TopicRow | None]:
        """Return the rows of topics as they were when `taken` changes had been made."""
        rows = self.table.shown_all(numbers)
        for place, number in enumerate(numbers if self._rows else ()):
            replaced = self._rows.get(number, ())
            at = bisect_left(replaced, taken, key=_change_of)
            if at < len(replaced):
                rows[place] = replaced[at][1]
        return rows

    def is_unchanged(self, numbers: Sequence[int]) -> bool:
        """Return whether none of `numbers` has changed as far back as a cut is open. Cost: O(1) where nothing has."""
        return not self._rows or self._rows.keys().isdisjoint(numbers)

    def save(self, change: TopicChange) -> None:
        """Keep the row that a change replaces."""
        self._rows.setdefault(change.number, []).append((self.changes, row_of(change.before, change.decode)))
        self._order.append(change.number)
        self.changes += 1
        oldest = next(iter(self.cuts))
        if oldest.age > MAX_CHANGES:
            oldest.is_lost = True
            self.close(oldest)

    def changed(self, age: int) -> set[int]:
        """Return the topics that the last `age` changes concerned."""
        return set(islice(reversed(self._order), age))

    def close(self, cut: NamespaceCut) -> None:
        """Forget what only this cut needed."""
        self.cuts.pop(cut, None)
        needed = next(iter(self.cuts)).age if self.cuts else 0
        while len(self._order) > needed:
            number = self._order.popleft()
            rows = self._rows[number]
            del rows[0]
            if not rows:
                del self._rows[number]


class Cuts:
    """The cuts that are open."""

    def __init__(self) -> None:
        self._pasts: dict[str, _Past] = {}

    def open(self, namespace: str, table: TopicTable, numbers: Iterable[int]) -> NamespaceCut:
        """Take a cut of those topics of a namespace's table; what `numbers` yields must not change."""
        past = self._pasts.setdefault(namespace, _Past(table))
        cut = NamespaceCut(namespace, past, numbers)
        past.cuts[cut] = None
        return cut

    def publish(self, effect: Effect) -> None:
        """Take note of what the fold changed; the end of a namespace leaves its table as it was. Cost: O(1)."""
        past = self._pasts.get(effect.namespace)
        if past is None:
            return
        if isinstance(effect, NamespaceTurn) or not past.cuts:
            del self._pasts[effect.namespace]
        else:
            past.save(effect)


def _change_of(replaced: tuple[int, TopicRow | None]) -> int:
    return replaced[0]
