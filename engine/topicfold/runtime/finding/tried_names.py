"""Tried names: the names on which an expression was tried, and those that it matches, for finds and watches.

A number's name never changes, so a result stays right; it is kept as long as somebody uses the expression. Names are
tried until a slice is used up, a few between two looks at the clock, because one try may take half a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from pyroaring import BitMap

from topicfold.model.finding.regex import Regex
from topicfold.model.names import local_of_key
from topicfold.state.topic_table import TopicTable

_BETWEEN_LOOKS = 4


@dataclass(slots=True)
class Outcome:
    """What is known of one expression and one table: the numbers that were `tried`, and those that match."""

    tried: BitMap = field(default_factory=BitMap)
    matching: BitMap = field(default_factory=BitMap)

    def cover(self, regex: Regex, numbers: BitMap, keys: Sequence[str], is_late: Callable[[], bool]) -> bool:
        """Try the names of `numbers` until it is late, and some at least; return whether none is left."""
        untried = numbers - self.tried
        tries = 0
        matching = []
        for tries, number in enumerate(untried, 1):
            if regex.matches(local_of_key(keys[number])):
                matching.append(number)
            if not tries % _BETWEEN_LOOKS and is_late():
                break
        self.matching |= BitMap(matching)
        is_all = tries == len(untried)
        self.tried |= untried if is_all else untried[:tries]
        if tries and is_all:
            self.tried.run_optimize()
        return is_all


class Outcomes:
    """The outcomes of all expressions that somebody has, by table."""

    def __init__(self) -> None:
        self._tables: WeakKeyDictionary[TopicTable, WeakKeyDictionary[Regex, Outcome]] = WeakKeyDictionary()

    def of(self, table: TopicTable, regex: Regex) -> Outcome:
        """Return what is known of `regex` in `table`."""
        outcomes = self._tables.get(table)
        if outcomes is None:
            outcomes = self._tables[table] = WeakKeyDictionary()
        outcome = outcomes.get(regex)
        if outcome is None:
            outcome = outcomes[regex] = Outcome()
        return outcome
