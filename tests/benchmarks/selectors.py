"""Selectors: finding topics from the index beside a scan over dictionaries of the same labels, and reading a text."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.benchmarks.population import QUERY, folded_topics, key_of, labels_of
from tests.benchmarks.report import Goal, Row, row, spread
from tests.benchmarks.site import Site
from tests.benchmarks.workers import Worker
from tests.model.finding.naive_selector import naive_tests
from topicfold.model.finding.selector_text import parse_selector
from topicfold.model.names import DEFAULT_NAMESPACE, topic_of_key
from topicfold.runtime.finding.found import Found, sections_of
from topicfold.state.indexes.name_order import NameOrder
from topicfold.state.selection import select
from topicfold.state.topic_table import TopicTable

BOTH = ",".join(f"{key}={value}" for key, value in QUERY.items())
MIXED = "team=team-7,env in (prod,stage),tier!=gold"
LONG = f"owner in ({','.join(f'owner-{number:04}' for number in range(90))})"

_REPEATS = 200


@dataclass(frozen=True, slots=True)
class Both:
    """The same topics in our table, whose names' order is known from earlier finding, and in plain dictionaries."""

    table: TopicTable
    order: NameOrder
    plain: dict[str, dict[str, str]]


def run(site: Site) -> Iterator[Row]:
    """Measure two selectors as a set and with names beside a scan, then reading a long text beside the naive way."""
    site.say(f"selectors: folding {site.sizes.topics:,} topics")
    with Worker(both_of, site.sizes.topics) as worker:
        for what, text in (("AND of two labels", BOTH), ("=, in and !=", MIXED)):
            hits = worker.run(hits_of, text)
            as_set, with_names, scans = [], [], []
            for pair in range(site.sizes.pairs):
                site.say(f"selectors: {what}, pair {pair + 1} of {site.sizes.pairs}")
                as_set.append(worker.run(set_seconds, text) * 1e6)
                with_names.append(worker.run(names_seconds, text) * 1e6)
                scans.append(worker.run(scan_seconds, text) * 1e6)
            of = f"{what} of {site.sizes.topics:,}, {hits:,} hits"
            yield row(f"selectors: as a set, {of}", "µs", as_set, "scan over dicts", scans, Goal("ours", "≤", 50))
            yield row(f"selectors: names, {of}", "µs", with_names, "scan over dicts", scans, Goal("ours", "≤", 5_000))
        read, naive = [], []
        for _ in range(site.sizes.pairs):
            read.append(worker.run(reading_seconds, LONG) * 1e6)
            naive.append(worker.run(naive_reading_seconds, LONG) * 1e6)
    what = f"selectors: reading {len(LONG)} characters"
    yield row(what, "µs", read, "the tests' naive reader", naive, Goal("ours", "≤", 1_000))


@asynccontextmanager
async def both_of(count: int) -> AsyncIterator[Both]:
    """Give `count` topics, folded and plain."""
    plain = {key_of(number): labels_of(number) for number in range(count)}
    table = folded_topics(count).topics[DEFAULT_NAMESPACE]
    order = NameOrder(table.keys)
    order.catch_up(count)
    yield Both(table, order, plain)


async def hits_of(both: Both, text: str) -> int:
    """Return how many topics both find, which have to be the same."""
    ours = _names(both, text)
    assert ours == sorted(topic_of_key(DEFAULT_NAMESPACE, key) for key in _scan(both.plain, text))
    return len(ours)


async def set_seconds(both: Both, text: str) -> float:
    """Return the median seconds of a query that ends with numbers."""
    table, selector = both.table, parse_selector(text)
    return _median_seconds(lambda: select(table.index, table.live, selector))


async def names_seconds(both: Both, text: str) -> float:
    """Return the median seconds of a query that ends with full names in their order, its text read each time."""
    return _median_seconds(lambda: _names(both, text))


async def scan_seconds(both: Both, text: str) -> float:
    """Return the seconds of one scan."""
    start = time.perf_counter()
    _scan(both.plain, text)
    return time.perf_counter() - start


async def reading_seconds(_: Both, text: str) -> float:
    """Return the median seconds of reading a text."""
    return _median_seconds(lambda: parse_selector(text))


async def naive_reading_seconds(_: Both, text: str) -> float:
    """Return the median seconds of reading a text with one regular expression a form."""
    return _median_seconds(lambda: naive_tests(text))


def _names(both: Both, text: str) -> list[str]:
    """Return the full names of those who are meant, in order, as a node that is asked in process does."""
    table = both.table
    numbers = select(table.index, table.live, parse_selector(text))
    found = Found([*sections_of(DEFAULT_NAMESPACE, table, numbers)], lambda _: both.order)
    return [name for section, some in found.all_after(None) for name in section.names(some)]


def _median_seconds(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return spread(taken).median


def _scan(plain: dict[str, dict[str, str]], text: str) -> list[str]:
    """Return by hand-written conditions, the fastest scan there is, who is meant."""
    if text == MIXED:
        return [
            name
            for name, labels in plain.items()
            if labels.get("team") == "team-7"
            and labels.get("env") in ("prod", "stage")
            and labels.get("tier") != "gold"
        ]
    (first, one), (second, other) = QUERY.items()
    return [name for name, labels in plain.items() if labels.get(first) == one and labels.get(second) == other]
