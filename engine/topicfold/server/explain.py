"""Explaining a selector: what was understood, what each requirement comes to, what was probably misspelt."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from pyroaring import BitMap
from starlette.requests import Request
from starlette.responses import Response

from topicfold.model.near_miss import MAX_COMPARED, Explained, NearMiss, explain
from topicfold.model.query import TopicQuery
from topicfold.model.selector import Requirement, Selector
from topicfold.runtime.asking import Cut
from topicfold.server.answers import read_answer
from topicfold.server.asking import asked_to_read
from topicfold.server.find import LISTING, QUERY_ERRORS
from topicfold.server.node import Node
from topicfold.server.queries import query_of
from topicfold.server.routes import Operation
from topicfold.server.topic_query import NAMES, PARAMETERS, wanted_in
from topicfold.state.finding import find
from topicfold.state.selection import select
from topicfold.state.topic_table import TopicTable
from topicfold.wire import headers as names
from topicfold.wire.resources import ExplainedQuery

EXPLAIN_PATH = "/api/v1/explain"


@dataclass(frozen=True, slots=True)
class Borne:
    """Labels of one namespace, as far as topics that may be known of bear them: those `among` these, None for all."""

    table: TopicTable
    among: BitMap | None

    def fulfilling(self, selector: Selector) -> int:
        """Return how many of these topics fulfil a selector. Cost: set steps, if the table was prepared for it."""
        found = select(self.table.index, self.table.live, selector)
        return len(found if self.among is None else found & self.among)

    def words(self, key: str | None) -> Collection[str]:
        """Return the keys, or the values of one, that any topic bears."""
        return self.table.index.keys if key is None else self.table.index.values(key)

    def bears(self, key: str | None, word: str) -> bool:
        """Return whether some of these topics bear the key `word`, or `key` with that value."""
        index = self.table.index
        postings = index.having_key(word) if key is None else index.having(key, word)
        return postings is not None and (self.among is None or postings.bitmap().intersect(self.among))


@dataclass(frozen=True, slots=True)
class Words:
    """The keys, or the values of one `key`, that are borne in any of some namespaces; going through them has an end."""

    borne: Sequence[Borne]
    key: str | None = None

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and any(each.bears(self.key, word) for each in self.borne)

    def __iter__(self) -> Iterator[str]:
        words = ((each, word) for each in self.borne for word in each.words(self.key))
        return iter(dict.fromkeys(word for each, word in islice(words, MAX_COMPARED) if each.bears(self.key, word)))


@dataclass(frozen=True, slots=True)
class Explainer:
    """The handler."""

    node: Node

    async def explain(self, request: Request) -> Response:
        """Answer what the selector of a query for topics means in its namespaces.

        Raises:
            InvalidRequest, InvalidSelector, InvalidPattern, InvalidRegex: the query is malformed.
            NamespaceNotFound: there is no such namespace.
        """
        node = self.node
        wanted = wanted_in(request, query_of(request, NAMES), node)
        partitions = {node.engine.partition(namespace) for namespace in wanted.namespaces}
        settled = await node.reading.settle(partitions, asked_to_read(request, node))
        for namespace in wanted.namespaces:
            node.reading.namespace(namespace)
        found = await node.finding.find(wanted.namespaces, wanted.query, partial(node.listable, request))
        cut = Cut(node.engine.revision(partitions).merged(settled.revision), settled.age_seconds)
        tables = [(each, table) for each in wanted.namespaces if (table := node.engine.watches.table(each))]
        borne = [_borne(table, wanted.query, node.listable(request, namespace)) for namespace, table in tables]

        def fulfilling(*requirements: Requirement) -> int:
            return sum(each.fulfilling(Selector(requirements)) for each in borne)

        # Nothing is awaited since the finding, which prepared all of it: so this is of the same cut.
        parts = explain(wanted.query.selector, Words(borne), partial(Words, borne), fulfilling)
        answer = read_answer(
            {
                "selector": str(wanted.query.selector),
                "requirements": list(map(_explained, parts)),
                "topics": fulfilling(),
                "matched": found.count,
                "hints": _hints(parts),
                "position": str(cut.revision),
            },
            cut,
        )
        answer.headers[names.QUERY] = wanted.text
        return answer


def _borne(table: TopicTable, query: TopicQuery, among: BitMap | None) -> Borne:
    """Return what counts of a table: what a query without its conditions would find."""
    everything = find(table, TopicQuery(with_system_topics=query.with_system_topics))
    if len(everything) < len(table.live):
        among = everything if among is None else among & everything
    return Borne(table, among)


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
        if part.takes_topics_without_key and str(part.requirement) != f"!{key}":
            hints.append(f"{part.requirement} also matches topics without {key}; add {key} to leave them out")
    return hints


def operations(node: Node) -> Sequence[Operation]:
    """Return how selectors are explained."""
    return (
        Operation("explainSelector", "GET", EXPLAIN_PATH, Explainer(node).explain, "Explain a selector",
                  answer=ExplainedQuery, needs=LISTING, query=PARAMETERS, errors=QUERY_ERRORS),
    )  # fmt: skip
