"""Finding topics by two labels: the index beside a scan over dictionaries of the same labels."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.benchmarks.population import QUERY, folded_topics, key_of, labels_of
from tests.benchmarks.report import Goal, Row, row, spread
from tests.benchmarks.site import Site
from tests.benchmarks.workers import Worker
from topicfold.model.names import DEFAULT_NAMESPACE
from topicfold.state.topic_table import TopicTable

_REPEATS = 200


@dataclass(frozen=True, slots=True)
class Both:
    """The same topics in our table and in plain dictionaries."""

    table: TopicTable
    plain: dict[str, dict[str, str]]


def run(site: Site) -> Iterator[Row]:
    """Measure the AND of two labels as a set, and with names, beside the scan."""
    site.say(f"label_query: folding {site.sizes.topics:,} topics")
    as_set, with_names, scans = [], [], []
    with Worker(both_of, site.sizes.topics) as worker:
        hits = worker.run(hits_of)
        for _ in range(site.sizes.pairs):
            as_set.append(worker.run(set_seconds) * 1e6)
            with_names.append(worker.run(names_seconds) * 1e6)
            scans.append(worker.run(scan_seconds) * 1e6)
    what = f"of {site.sizes.topics:,}, {hits:,} hits"
    yield row(f"label_query: as a set, {what}", "µs", as_set, "scan over dicts", scans, Goal("ours", "≤", 50))
    yield row(f"label_query: with names, {what}", "µs", with_names, "scan over dicts", scans, Goal("ours", "≤", 5_000))


@asynccontextmanager
async def both_of(count: int) -> AsyncIterator[Both]:
    """Give `count` topics, folded and plain."""
    plain = {key_of(number): labels_of(number) for number in range(count)}
    yield Both(folded_topics(count).topics[DEFAULT_NAMESPACE], plain)


async def hits_of(both: Both) -> int:
    """Return how many topics both find, which have to be the same."""
    ours = both.table.sorted_keys(both.table.matching(QUERY))
    assert ours == sorted(_scan(both.plain))
    return len(ours)


async def set_seconds(both: Both) -> float:
    """Return the median seconds of a query that ends with numbers."""
    taken = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        both.table.matching(QUERY)
        taken.append(time.perf_counter() - start)
    return spread(taken).median


async def names_seconds(both: Both) -> float:
    """Return the median seconds of a query that ends with sorted names."""
    taken = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        both.table.sorted_keys(both.table.matching(QUERY))
        taken.append(time.perf_counter() - start)
    return spread(taken).median


async def scan_seconds(both: Both) -> float:
    """Return the seconds of one scan."""
    start = time.perf_counter()
    _scan(both.plain)
    return time.perf_counter() - start


def _scan(plain: dict[str, dict[str, str]]) -> list[str]:
    (first, one), (second, other) = QUERY.items()
    return [name for name, labels in plain.items() if labels.get(first) == one and labels.get(second) == other]
