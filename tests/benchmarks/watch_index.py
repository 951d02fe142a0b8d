"""Finding in process who cares about a change, among many registered queries, beside trying every one of them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

from tests.benchmarks.report import Goal, Row, row, spread
from tests.benchmarks.site import Site
from tests.benchmarks.watch_queries import RandomQuery, random_labels, random_queries
from tests.benchmarks.workers import Worker
from topicfold.log.port import LogIdentity
from topicfold.model.finding.pattern import SEPARATOR
from topicfold.model.finding.query import TopicQuery
from topicfold.model.finding.selector_text import parse_selector
from topicfold.model.names import DEFAULT_NAMESPACE
from topicfold.model.namespaces import Namespaces
from topicfold.model.records import NO_GRANTS
from topicfold.runtime.watching.group import Group
from topicfold.runtime.watching.index import WatchIndex
from topicfold.runtime.watching.subject import Subject, borne
from topicfold.server.frames import Frames
from topicfold.state.aggregate import NO_ETAG
from topicfold.state.change import TopicDelta, TopicRow

_CHANGES = 200
_TRIED_CHANGES = 5
_ENCODING = Frames(LogIdentity(bytes(16), 1, "x"), as_events=True)


@dataclass(frozen=True, slots=True)
class Registered:
    """Groups that are filed, and changes."""

    groups: Sequence[Group]
    index: WatchIndex
    changes: Sequence[TopicDelta]

    def found(self, change: TopicDelta) -> set[Group]:
        """Return who cares, by the index."""
        labels = borne(change)
        return {each for each in self.index.candidates(change) if each.subject.kind_of(change, labels)}

    def tried(self, change: TopicDelta) -> set[Group]:
        """Return the same by trying everybody."""
        labels = borne(change)
        return {each for each in self.groups if each.subject.kind_of(change, labels)}


def run(site: Site) -> Iterator[Row]:
    """Measure a change that few care about, and one of random queries."""
    many = site.sizes.watches
    for what, goal, opened in (
        ("one owner each", Goal("ours", "≤", 25), few_care),
        ("random queries", None, many_care),
    ):
        with Worker(opened, many) as worker:
            caring = worker.run(caring_a_change)
            found, tried = [], []
            for _ in range(site.sizes.pairs):
                found.append(worker.run(found_seconds) * 1e6)
                tried.append(worker.run(tried_seconds) * 1e6)
        name = f"watches: who cares, {many:,} registered, {what}, {caring:.1f} care"
        yield row(name, "µs", found, "each tried", tried, goal)


@asynccontextmanager
async def few_care(count: int) -> AsyncIterator[Registered]:
    """Give queries that each want an owner of its own."""
    yield _registered([RandomQuery((("owner", (f"owner-{number}",)),)) for number in range(count)])


@asynccontextmanager
async def many_care(count: int) -> AsyncIterator[Registered]:
    """Give queries as those that are watched over HTTP."""
    yield _registered(random_queries(count, 0, Random(5)))


async def caring_a_change(registered: Registered) -> float:
    """Return how many care about a change on average, by both ways, which have to agree."""
    for change in registered.changes[:_TRIED_CHANGES]:
        assert registered.found(change) == registered.tried(change)
    return sum(len(registered.found(each)) for each in registered.changes) / len(registered.changes)


async def found_seconds(registered: Registered) -> float:
    """Return the median seconds of the index."""
    return _median(registered.found, registered.changes)


async def tried_seconds(registered: Registered) -> float:
    """Return the median seconds of trying everybody."""
    return _median(registered.tried, registered.changes[:_TRIED_CHANGES])


def _registered(queries: Sequence[RandomQuery]) -> Registered:
    index, groups = WatchIndex(SEPARATOR), []
    for each in queries:
        query = TopicQuery(parse_selector(each.selector))
        group = Group(Subject(query, Namespaces((DEFAULT_NAMESPACE,)), _ENCODING), frozenset({0}), {})
        groups.append(group)
        index.add(group, query, ())
    random = Random(6)
    return Registered(groups, index, [_change(str(number), random) for number in range(_CHANGES)])


def _change(number: str, random: Random) -> TopicDelta:
    before, after = (
        TopicRow(tuple(random_labels(number, random).items()), 0, None, NO_ETAG, 0, NO_GRANTS) for _ in range(2)
    )
    return TopicDelta(DEFAULT_NAMESPACE, "orders", before, after, 0)


def _median(answer: Callable[[TopicDelta], object], changes: Sequence[TopicDelta]) -> float:
    taken = []
    for change in changes:
        start = time.perf_counter()
        answer(change)
        taken.append(time.perf_counter() - start)
    return spread(taken).median
