"""Explains a selector: how it was understood, what each requirement finds, and what was probably misspelt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from pyroaring import BitMap
from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import Overloaded
from topicfold.model.finding.near_miss import (
    MAX_COMPARED,
    Explained,
    NearMiss,
    explain,
    likely,
    most_similar,
    named_values,
    suggestible,
    with_near,
)
from topicfold.model.finding.query import TopicQuery
from topicfold.model.finding.selector import GreaterThan, LessThan, Requirement, Selector
from topicfold.model.permissions import LIST_NAMESPACE
from topicfold.runtime.finding.finding import Listable
from topicfold.runtime.slices import Slice
from topicfold.server.answers import read_answer
from topicfold.server.asking import asked_to_find
from topicfold.server.finding.find import QUERY_ERRORS, found_now
from topicfold.server.finding.topic_query import NAMES, PARAMETERS, Wanted, wanted_in
from topicfold.server.node import Node
from topicfold.server.queries import query_of
from topicfold.server.routes import Operation
from topicfold.state.finding import find
from topicfold.state.selection import select
from topicfold.state.topic_table import TopicTable
from topicfold.wire import headers as names
from topicfold.wire.resources import ExplainedQuery

EXPLAIN_PATH = "/api/v1/explain"

_STEP = 1024
"""Words that are compared at once."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Borne:
    """Labels of one namespace, as far as topics that may be known of bear them: those `among` these, None for all.

    What they come to is not made again while the table is as it was, so some of it can be made before it is asked for.
    """

    table: TopicTable
    among: BitMap | None
    _made: dict[object, tuple[int, Any]] = field(default_factory=dict, compare=False)

    def fulfilling(self, requirements: tuple[Requirement, ...]) -> int:
        """Return how many of these topics fulfil all. Cost: set steps, if the table was prepared for them."""
        return self._once(requirements, lambda: self._fulfilling(Selector(requirements)))

    def lacking(self, requirement: Requirement) -> frozenset[str | None]:
        """Return the values named by a requirement that none bears its key with, with None where none bears the key."""
        return self._once(("lacking", requirement), lambda: frozenset(self._lacking(requirement)))

    def words(self, key: str | None) -> Collection[str]:
        """Return the keys, or the values of one, that any topic bears."""
        return self.table.index.keys if key is None else self.table.index.values(key)

    def bears(self, key: str | None, word: str) -> bool:
        """Return whether some of these topics bear the key `word`, or `key` with that value."""
        index = self.table.index
        postings = index.having_key(word) if key is None else index.having(key, word)
        return postings is not None and (self.among is None or postings.bitmap().intersect(self.among))

    def _once(self, what: object, make: Callable[[], T]) -> T:
        made = self._made.get(what)
        if made is None or made[0] != self.table.digest_sum:
            made = self._made[what] = self.table.digest_sum, make()
        found: T = made[1]
        return found

    def _fulfilling(self, selector: Selector) -> int:
        found = select(self.table.index, self.table.live, selector)
        return len(found if self.among is None else found & self.among)

    def _lacking(self, requirement: Requirement) -> Iterator[str | None]:
        key = requirement.key
        if not self.bears(None, key):
            yield None
        yield from (value for value in named_values(requirement) if not self.bears(key, value))


@dataclass(frozen=True, slots=True)
class Explainer:
    """The handler."""

    node: Node

    async def explain(self, request: Request) -> Response:
        """Answer what the selector of a query for topics means in its namespaces.

        Raises:
            InvalidRequest, InvalidSelector, InvalidPattern, InvalidRegex: the query is malformed.
            NamespaceNotFound, TenantNotFound: there is none of that name.
            Overloaded: an expression takes too long.
        """
        node = self.node
        wanted = wanted_in(request, query_of(request, NAMES), node)
        selector = wanted.query.selector
        asked = asked_to_find(request, node)
        listable = partial(node.listable, request)
        _, first = await found_now(request, node, wanted, asked)
        before = await self._looked_at(wanted, listable)
        found = await node.finding.find(wanted.namespaces, wanted.query, listable, asked=asked)
        partitions = wanted.namespaces.partitions(node.engine.identity.partitions)
        cut = first._replace(revision=node.engine.revision(partitions).merged(first.revision))
        # Nothing is awaited since the finding until all is counted, which prepared it: so this is of the same cut.
        borne = list(self._borne(wanted, listable, before).values())

        def fulfilling(*requirements: Requirement) -> int:
            return sum(each.fulfilling(requirements) for each in borne)

        def lacking(requirement: Requirement) -> frozenset[str | None]:
            return (
                frozenset.intersection(*[each.lacking(requirement) for each in borne]) if borne else frozenset([None])
            )

        parts = explain(selector, lacking, fulfilling)
        topics = fulfilling()
        parts = with_near(parts, await _near(suggestible(parts), borne))
        answer = read_answer(
            {
                "selector": str(selector),
                "requirements": list(map(_explained, parts)),
                "topics": topics,
                "matched": found.count,
                "hints": _hints(parts),
                "position": str(cut.revision),
            },
            cut,
        )
        answer.headers[names.QUERY] = wanted.text
        return answer

    async def _looked_at(self, wanted: Wanted, listable: Listable) -> Mapping[str, Borne]:
        """Return the labels of all namespaces, with all that is asked of them made already, in slices."""
        borne = self._borne(wanted, listable, {})
        work = Slice()
        for each in borne.values():
            each.fulfilling(())
            await work.rest()
            for requirement in wanted.query.selector.requirements:
                each.fulfilling((requirement,))
                each.lacking(requirement)
                await work.rest()
        return borne

    def _borne(self, wanted: Wanted, listable: Listable, before: Mapping[str, Borne]) -> dict[str, Borne]:
        """Return the labels of the namespaces that are there, those of `before` where they are of the same topics."""
        borne: dict[str, Borne] = {}
        for namespace, table in self.node.engine.tables.live(wanted.namespaces):
            made = _borne(table, wanted.query, listable(namespace))
            borne[namespace] = before[namespace] if before.get(namespace) == made else made
        return borne


def _borne(table: TopicTable, query: TopicQuery, among: BitMap | None) -> Borne:
    """Return what counts of a table: what a query without its conditions would find."""
    everything = find(table, TopicQuery(with_system_topics=query.with_system_topics))
    if len(everything) < len(table.live):
        among = everything if among is None else among & everything
    return Borne(table, among)


async def _near(misses: Sequence[NearMiss], borne: Sequence[Borne]) -> Mapping[NearMiss, tuple[str, ...]]:
    """Return what is near to each miss, of what is borne by the time it is looked for; in slices."""
    work = Slice()
    by_key: dict[str | None, list[str]] = {}
    near: dict[NearMiss, tuple[str, ...]] = {}
    for miss in misses:
        key = None if miss.value is None else miss.key
        if key not in by_key:
            by_key[key] = await _words(borne, key, work)
        words = by_key[key]
        short_list: list[str] = []
        for start in range(0, len(words), _STEP):
            short_list = likely(miss.word, [*short_list, *words[start : start + _STEP]])
            await work.rest()
        near[miss] = most_similar(miss.word, short_list)
    return near


async def _words(borne: Sequence[Borne], key: str | None, work: Slice) -> list[str]:
    """Return the keys, or the values of one `key`, that are borne in any of some namespaces; no more than suffice."""
    found: dict[str, None] = {}
    left = MAX_COMPARED
    for each in borne:
        words = list(islice(each.words(key), left))
        left -= len(words)
        for start in range(0, len(words), _STEP):
            found.update(dict.fromkeys([word for word in words[start : start + _STEP] if each.bears(key, word)]))
            await work.rest()
    return list(found)


def _explained(part: Explained) -> dict[str, Any]:
    return {
        "requirement": str(part.requirement),
        "key": part.requirement.key,
        "topics": part.topics,
        "takesTopicsWithoutKey": part.takes_topics_without_key,
        "misses": list(map(_miss, part.misses)),
    }


def _miss(miss: NearMiss) -> dict[str, Any]:
    return {"key": miss.key, "value": miss.value, "near": list(miss.near), "text": str(miss)}


def _hints(parts: Sequence[Explained]) -> list[str]:
    """Return in words what is likely to surprise whoever wrote the selector."""
    hints = [str(miss) for part in parts for miss in part.misses]
    for part in parts:
        key = part.requirement.key
        if isinstance(part.requirement, GreaterThan | LessThan) and not (part.topics or part.misses):
            where = "above" if isinstance(part.requirement, GreaterThan) else "below"
            bound = f"{where} {part.requirement.text}"
            hints.append(f"no topic has {key} with an integer {bound}; only integers are compared")
        if part.takes_topics_without_key and str(part.requirement) != f"!{key}":
            hints.append(f"{part.requirement} also matches topics without {key}; add {key} to leave them out")
    return hints


def operations(node: Node) -> Sequence[Operation]:
    """Return how selectors are explained."""
    return (
        Operation("explainSelector", "GET", EXPLAIN_PATH, Explainer(node).explain, "Explain a selector",
                  answer=ExplainedQuery, needs=LIST_NAMESPACE, query=PARAMETERS, headers=(names.QUERY,),
                  errors=(*QUERY_ERRORS, Overloaded)),
    )  # fmt: skip
