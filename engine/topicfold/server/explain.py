"""Explaining a selector: what was understood, what each requirement comes to, what was probably misspelt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyroaring import BitMap
from starlette.requests import Request
from starlette.responses import Response

from topicfold.model.near_miss import Explained, NearMiss, explain
from topicfold.model.query import TopicQuery
from topicfold.runtime.asking import Cut
from topicfold.server.answers import read_answer
from topicfold.server.asking import asked_to_read
from topicfold.server.find import LISTING, QUERY_ERRORS
from topicfold.server.node import Node
from topicfold.server.queries import query_of
from topicfold.server.routes import Operation
from topicfold.server.topic_query import NAMES, PARAMETERS, wanted_in
from topicfold.state.finding import find
from topicfold.state.label_index import LabelIndex
from topicfold.state.topic_table import TopicTable
from topicfold.wire import headers as names
from topicfold.wire.resources import ExplainedQuery

EXPLAIN_PATH = "/api/v1/explain"


@dataclass(frozen=True, slots=True)
class Borne:
    """Labels of one namespace, counted among the topics that may be known of; `among` None for all."""

    index: LabelIndex
    among: BitMap | None
    topics: int

    @property
    def keys(self) -> Collection[str]:
        """Return the keys that some of these topics bear."""
        keys = self.index.keys
        return keys if self.among is None else [key for key in keys if self._bears(key)]

    def counts(self, key: str) -> dict[str, int]:
        """Return how many of these topics bear each value of `key`. Cost: O(values)."""
        counts = self.index.counts(key)
        if self.among is None:
            return counts
        found = {value: self._count(key, value) for value in counts}
        return {value: count for value, count in found.items() if count}

    def _bears(self, key: str) -> bool:
        postings = self.index.having_key(key)
        return postings is not None and self.among is not None and postings.bitmap().intersect(self.among)

    def _count(self, key: str, value: str) -> int:
        postings = self.index.having(key, value)
        if postings is None or self.among is None:
            return 0
        return postings.bitmap().intersection_cardinality(self.among)


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
        keys = {key for each in borne for key in each.keys}
        topics = sum(each.topics for each in borne)
        parts = explain(wanted.query.selector, keys, lambda key: _sum(each.counts(key) for each in borne), topics)
        answer = read_answer(
            {
                "selector": str(wanted.query.selector),
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


def _borne(table: TopicTable, query: TopicQuery, among: BitMap | None) -> Borne:
    """Return what counts of a table: what a query without its conditions would find."""
    everything = find(table, TopicQuery(with_system_topics=query.with_system_topics))
    if len(everything) < len(table.live):
        among = everything if among is None else among & everything
    return Borne(table.index, among, len(table.live) if among is None else len(among & table.live))


def _sum(counts: Iterable[dict[str, int]]) -> Counter[str]:
    """Return the sums of counts of several namespaces."""
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return total


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
