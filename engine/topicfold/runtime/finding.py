"""Finding topics: a query over several namespaces, answered as of one cut, and in slices where names must be tried.

Labels and wildcards are sets. A regular expression is tried on the names that are left, and what came of it is kept
while somebody watches with it, and after a finding for some time. A large set needs the order of all names, which is
made the first time. Both take turns with whatever else runs on the loop, and all findings with each other.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakKeyDictionary

from pyroaring import BitMap

from topicfold.model.query import TopicQuery
from topicfold.model.regex import Regex
from topicfold.runtime.engine import Engine
from topicfold.runtime.found import MAX_SORTED, Found, Section, sections_of
from topicfold.runtime.slices import Turns
from topicfold.state.finding import find, prepare
from topicfold.state.name_order import NameOrder
from topicfold.state.topic_table import TopicTable

SLICE_SECONDS = 0.002
MAX_EXPRESSIONS = 16
"""Expressions of one namespace whose outcomes are kept; a quarter of a megabyte each for a million topics."""

_STEP = 256

Listable = Callable[[str], BitMap | None]
"""Takes a namespace; returns which of its topics may be found, by their numbers, None for all."""

Tables = Callable[[str], TopicTable | None]
"""Takes a namespace; returns its topics, None where it is not there."""


@dataclass(slots=True)
class _Known:
    """What is known of one namespace's names; the outcomes of `expressions` are kept."""

    order: NameOrder
    expressions: OrderedDict[Regex, None] = field(default_factory=OrderedDict)

    def keep(self, regex: Regex) -> None:
        """Keep what is known of an expression, and forget one that was not asked about for long."""
        self.expressions[regex] = None
        self.expressions.move_to_end(regex)
        if len(self.expressions) > MAX_EXPRESSIONS:
            self.expressions.popitem(last=False)

    def is_in_order(self, is_late: Callable[[], bool]) -> bool:
        """Put names in order until it is late, and some at least; return whether none is left."""
        while self.order.missing:
            self.order.catch_up(_STEP)
            if self.order.missing and is_late():
                return False
        return True


class Finding:
    """Finds topics in what `engine` has folded."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: WeakKeyDictionary[TopicTable, _Known] = WeakKeyDictionary()
        self._turns = Turns()

    async def find(
        self, namespaces: Sequence[str], query: TopicQuery, listable: Listable, tables: Tables | None = None
    ) -> Found:
        """Return the topics that match and may be found; as of now, when it returns, or in these `tables` of a past.

        Namespaces that are not there have none. Topics whose end is decided are not found.

        Cost: set steps; for an expression one try of each name that it was never tried on, and for a large set once
        2 µs a topic of the namespace, in slices of `SLICE_SECONDS`.
        """
        while True:
            is_late = partial(_is_past, asyncio.get_running_loop().time() + SLICE_SECONDS)
            sections: list[Section] = []
            for namespace in namespaces:
                table = (tables or self._engine.watches.table)(namespace)
                if table is None:
                    continue
                known = self._known.get(table)
                if known is None:
                    known = self._known[table] = _Known(NameOrder(table.keys))
                if not prepare(table, query, is_late):
                    break
                numbers = _candidates(table, query, listable(namespace))
                if query.regex is not None:
                    known.keep(query.regex)
                    outcome = self._engine.watches.outcomes.of(table, query.regex)
                    if not outcome.cover(query.regex, numbers, table.keys, is_late):
                        break
                    numbers = numbers & outcome.matching
                if len(numbers) > MAX_SORTED and not known.is_in_order(is_late):
                    break
                sections += sections_of(namespace, table, numbers)
            else:
                return Found(sorted(sections, key=_place), self._order_of)
            await self._turns.next()

    def _order_of(self, table: TopicTable) -> NameOrder:
        return self._known[table].order


def _candidates(table: TopicTable, query: TopicQuery, among: BitMap | None) -> BitMap:
    """Return the topics of a table that match and are `among` these, the expression left to be tried."""
    numbers = find(table, query)
    return numbers if among is None else numbers & among


def _is_past(until: float) -> bool:
    return asyncio.get_running_loop().time() > until


def _place(section: Section) -> str:
    return section.place
