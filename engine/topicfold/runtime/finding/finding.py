"""Finding topics: a query over several namespaces, answered as of one cut; long work is done in slices.

Labels and wildcards are set operations. A regular expression is tried on the names that remain; the results are kept
while somebody watches with it, and for some time after a find. A large result needs the order of all names, which is
made when it is first needed. Both are done in slices, so that other work on the loop and other finds get their turns.
Each namespace is searched separately, and at the end again if it has changed since.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from pyroaring import BitMap

from topicfold.errors import Overloaded
from topicfold.model.finding.query import TopicQuery
from topicfold.model.finding.regex import Regex
from topicfold.model.namespaces import Namespaces
from topicfold.runtime.asking import Asked
from topicfold.runtime.engine import Engine
from topicfold.runtime.finding.found import MAX_SORTED, Found, Section, sections_of
from topicfold.runtime.finding.look import Look
from topicfold.runtime.finding.tried_names import Outcomes
from topicfold.runtime.slices import IsLate, Turns, lateness
from topicfold.state.finding import prepare
from topicfold.state.indexes.name_order import NameOrder
from topicfold.state.topic_table import TopicTable

SLICE_SECONDS = 0.002
MAX_EXPRESSIONS = 16
"""Expressions of one namespace whose outcomes are kept; a quarter of a megabyte each for a million topics."""

_STEP = 256

Listable = Callable[[str], BitMap | None]
"""Takes a namespace; returns which of its topics may be found, by their numbers, None for all."""


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

    def is_in_order(self, is_late: IsLate) -> bool:
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
        self,
        namespaces: Namespaces,
        query: TopicQuery,
        listable: Listable,
        then: Mapping[str, TopicTable] | None = None,
        asked: Asked | None = None,
    ) -> Found:
        """Return the topics that match and may be found; as of now, when it returns, or of what there was `then`.

        Namespaces that are not there have none. Topics whose end is decided are not found. With `asked` it ends when
        the time is over, or nobody waits for it any more; what was tried till then is kept for who asks the same again.

        Raises:
            Overloaded: it has ended so.

        Cost: set steps, in one turn those of one namespace and of those that change meanwhile; for an expression one
        try of each name that it was never tried on, and for a large set once 2 µs a topic of the namespace, in slices
        of `SLICE_SECONDS`.
        """
        live = self._engine.tables.live
        one = _OneFinding(Look(query), listable, self._engine.tables.outcomes, self._known)

        def tables() -> list[tuple[str, TopicTable]]:
            return list(live(namespaces) if then is None else then.items())

        is_late = lateness(SLICE_SECONDS)
        first = tables()
        for namespace, table in first if len(first) > 1 else ():
            while one.look(namespace, table, is_late) is None:
                _go_on(asked)
                await self._turns.next()
                is_late = lateness(SLICE_SECONDS)
            if is_late():
                await self._turns.next()
                is_late = lateness(SLICE_SECONDS)
        while True:
            looks = [one.look(namespace, table, lateness(SLICE_SECONDS)) for namespace, table in tables()]
            sections = [section for look in looks if look is not None for section in look]
            if None not in looks:
                return Found(sorted(sections, key=_place), self._order_of)
            _go_on(asked)
            await self._turns.next()

    def _order_of(self, table: TopicTable) -> NameOrder:
        return self._known[table].order


@dataclass(slots=True)
class _OneFinding:
    """One finding at work: what it asks, and what it knows of the tables that it has looked at."""

    seen: Look
    listable: Listable
    outcomes: Outcomes
    known: MutableMapping[TopicTable, _Known]
    made: dict[TopicTable, tuple[int, Sequence[Section]]] = field(default_factory=dict)
    """What was found in tables of which all may be listed, and the sum of their topics' hashes by then."""

    def look(self, namespace: str, table: TopicTable, is_late: IsLate) -> Sequence[Section] | None:
        """Return what is found in a namespace now, None where something is left to be made when it is late."""
        among, made = self.listable(namespace), self.made.get(table)
        if among is None and made is not None and made[0] == table.digest_sum:
            return made[1]
        sections = self._look(namespace, table, among, is_late)
        if among is None and sections is not None:
            self.made[table] = table.digest_sum, sections
        return sections

    def _look(
        self, namespace: str, table: TopicTable, among: BitMap | None, is_late: IsLate
    ) -> Sequence[Section] | None:
        regex = self.seen.query.regex
        known = self.known.get(table)
        if known is None:
            known = self.known[table] = _Known(NameOrder(table.keys))
        if not prepare(table, self.seen.query, is_late):
            return None
        numbers = self.seen.found(table)
        if among is not None:
            numbers = numbers & among
        if regex is not None:
            known.keep(regex)
            outcome = self.outcomes.of(table, regex)
            if not outcome.cover(regex, numbers, table.keys, is_late):
                return None
            numbers = numbers & outcome.matching
        if len(numbers) > MAX_SORTED and not known.is_in_order(is_late):
            return None
        return list(sections_of(namespace, table, numbers))


def _go_on(asked: Asked | None) -> None:
    """Return if whoever asked still waits for what is found.

    Raises:
        Overloaded: their time is over, or they are gone.
    """
    if asked is None:
        return
    if asked.is_given_up():
        raise Overloaded("nobody waits any more for what is to be found")
    if asyncio.get_running_loop().time() > asked.deadline:
        raise Overloaded(
            "finding these topics takes longer than a request may",
            hint="Ask again: names already tested are not tested again. A simpler expression takes less time.",
        )


def _place(section: Section) -> str:
    return section.place
