"""The result of a query: topics of some namespaces in the order of their full names, as of one cut.

All non-persistent topics come before all persistent ones, as their names do; within a domain, one namespace follows the
other. The topics of each are a set of numbers. Names are looked up only when they are reached: small sets are sorted,
and large ones are read in the order of the namespace's names.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyroaring import BitMap

from topicfold.model.names import NON_PERSISTENT, PERSISTENT, TopicName, local_of_key
from topicfold.state.indexes.name_order import NameOrder
from topicfold.state.topic_table import TopicTable

MAX_SORTED = 10_000
"""Topics up to which a set is sorted each time; beyond it the order of all names is walked through."""


@dataclass(frozen=True, slots=True)
class Section:
    """The topics that were found in one domain of one namespace. `numbers` are its own, whatever the fold does."""

    domain: str
    namespace: str
    table: TopicTable
    numbers: BitMap

    @property
    def place(self) -> str:
        """What the full names of its topics begin with, and by which sections are in order."""
        return f"{self.domain}://{self.namespace}/"

    def names(self, numbers: Iterable[int]) -> list[str]:
        """Return the full names of these of its topics."""
        place, keys = self.place, self.table.keys
        if self.domain == PERSISTENT:
            return [place + keys[number] for number in numbers]
        return [place + local_of_key(keys[number]) for number in numbers]


@dataclass(frozen=True, slots=True)
class Found:
    """The sections, in order. `order_of` returns the order of a table's names, complete when the cut was taken."""

    sections: Sequence[Section]
    order_of: Callable[[TopicTable], NameOrder]

    @property
    def count(self) -> int:
        """How many topics were found."""
        return sum(len(section.numbers) for section in self.sections)

    def counts(self) -> dict[str, int]:
        """Return how many were found in each namespace that has any, in order."""
        counts: dict[str, int] = {}
        for section in self.sections:
            counts[section.namespace] = counts.get(section.namespace, 0) + len(section.numbers)
        return dict(sorted(counts.items()))

    def after(self, last: TopicName | None, most: int) -> list[tuple[Section, list[int]]]:
        """Return up to `most` topics by section, in order: those whose full names are above that of `last`.

        Cost: O(most) and the sorting of one set of at most `MAX_SORTED`, or as `NameOrder.after`.
        """
        page: list[tuple[Section, list[int]]] = []
        for section, key in self._starts(last):
            numbers: list[int] = []
            for chunk in self._chunks(section, key):
                numbers += chunk
                if len(numbers) >= most:
                    break
            page.append((section, numbers[:most]))
            most -= len(page[-1][1])
            if not most:
                break
        return page

    def all_after(self, last: TopicName | None) -> list[tuple[Section, Iterator[int]]]:
        """Return all topics after `last` by section, in order; the fold may go on between two of them."""
        return [(section, self._numbers(section, key)) for section, key in self._starts(last)]

    def _starts(self, last: TopicName | None) -> Iterator[tuple[Section, str]]:
        """Yield the sections in which topics after `last` may be, each with the key that they are above."""
        place = f"{last.domain}://{last.namespace}/" if last else ""
        for section in self.sections:
            if section.place >= place:
                yield section, last.key if last and section.place == place else ""

    def _numbers(self, section: Section, key: str) -> Iterator[int]:
        for chunk in self._chunks(section, key):
            yield from chunk

    def _chunks(self, section: Section, key: str) -> Iterator[Sequence[int]]:
        """Yield a section's topics above `key` in order, some at a time."""
        keys = section.table.keys
        if len(section.numbers) <= MAX_SORTED:
            in_order = sorted(section.numbers, key=keys.__getitem__)
            yield in_order[bisect_right(in_order, key, key=keys.__getitem__) :] if key else in_order
            return
        order = self.order_of(section.table)
        while chunk := order.after(key, section.numbers):
            yield chunk
            key = keys[chunk[-1]]


def sections_of(namespace: str, table: TopicTable, numbers: BitMap) -> Iterator[Section]:
    """Yield what was found in a namespace as sections; none where that is nothing."""
    foreign = numbers & table.non_persistent
    if foreign:
        yield Section(NON_PERSISTENT, namespace, table, foreign)
    if len(foreign) < len(numbers):
        yield Section(PERSISTENT, namespace, table, numbers - foreign)
