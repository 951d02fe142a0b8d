"""Memory a topic: names, records, labels and all indexes, as the process's resident memory grows."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from sys import intern

from tests.benchmarks.machine import resident_bytes
from tests.benchmarks.population import folded_topics, key_of, labels_of
from tests.benchmarks.report import Goal, Row, row
from tests.benchmarks.site import Site
from tests.benchmarks.workers import Worker


def run(site: Site) -> Iterator[Row]:
    """Measure bytes a topic beside a dictionary of dictionaries that holds the same labels and no index."""
    count = site.sizes.topics
    site.say(f"memory: folding {count:,} topics")
    with Worker(no_topics) as worker:
        ours = worker.run(folded_bytes, count) / count
    with Worker(no_topics) as worker:
        theirs = worker.run(plain_bytes, count) / count
    what = f"memory: a topic of {count:,}, 5 labels each"
    yield row(what, "B", [ours], "dict of dicts, no index, values interned", [theirs], Goal("ours", "≤", 600))


@asynccontextmanager
async def no_topics() -> AsyncIterator[None]:
    """Give a process that holds nothing yet."""
    yield


async def folded_bytes(_: None, count: int) -> int:
    """Return how much `count` folded topics take."""
    return growth(lambda: folded_topics(count))


async def plain_bytes(_: None, count: int) -> int:
    """Return how much the labels of `count` topics take in plain dictionaries."""
    return growth(
        lambda: {
            key_of(number): {key: intern(value) for key, value in labels_of(number).items()} for number in range(count)
        }
    )


def growth(make: Callable[[], object]) -> int:
    """Return by how many bytes the process grows with what `make` makes."""
    gc.collect()
    before = resident_bytes()
    made = make()
    gc.collect()
    after = resident_bytes()
    assert made
    return after - before
