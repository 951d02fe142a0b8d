"""Finding topics over HTTP, of a server that holds many with five labels each, beside the naive way in dictionaries.

The naive way makes no HTTP and no JSON but where it says so: it looks at every topic and sorts what it finds.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from re import compile as compiled
from statistics import median
from typing import NamedTuple

import orjson

from tests.benchmarks.file_server import file_server, populate
from tests.benchmarks.population import QUERY, key_of, labels_of
from tests.benchmarks.report import Goal, Row, row
from tests.benchmarks.site import Site
from tests.benchmarks.workers import Worker

PAGE = 1_000
_SECONDS = 120.0

Topics = dict[str, dict[str, str]]

_BOTH = ",".join(f"{key}={value}" for key, value in QUERY.items())
_REGEX = "orders\\..*-00[0-9]{2}77."
_FIND = f"/api/v1/topics?limit={PAGE}"
_LISTING = "/admin/v2/persistent/public/default?properties=" + _BOTH.replace("=", "%3D")


class Question(NamedTuple):
    """What is asked for, and the naive way to it."""

    what: str
    path: str
    beside: str
    naive: Callable[[Topics], object]
    goal: Goal | None = None
    times: int = 20


def by_label(topics: Topics) -> list[str]:
    """Return who bears both labels."""
    return sorted(name for name, labels in topics.items() if QUERY.items() <= labels.items())


def first_page(topics: Topics) -> list[str]:
    """Return the first names."""
    return sorted(topics)[:PAGE]


def by_wildcard(topics: Topics) -> list[str]:
    """Return the first names of those without an empty segment."""
    return sorted(name for name in topics if all(name.split("__")))[:PAGE]


def by_regex(topics: Topics) -> list[str]:
    """Return the first names that the expression matches."""
    matches = compiled(_REGEX).fullmatch
    return sorted(name for name in topics if matches(name))[:PAGE]


def everything(topics: Topics) -> bytes:
    """Return all as JSON."""
    return orjson.dumps([{"name": name, "labels": topics[name]} for name in sorted(topics)])


QUESTIONS = (
    Question("two labels, a page", f"{_FIND}&labelSelector={_BOTH}", "scan over dicts", by_label, Goal("ours", "≤", 4)),
    Question("all, a page", _FIND, "sort of all names", first_page),
    Question("match=**, a page", f"{_FIND}&match=**", "scan and sort", by_wildcard),
    Question("a regular expression, a page", f"{_FIND}&regex={_REGEX}", "scan and sort", by_regex),
    Question("properties (PIP-452), all", _LISTING, "scan over dicts", by_label, times=1),
    Question("all, streamed", "/api/v1/topics", "sort and orjson of all", everything, times=1),
)


def run(site: Site) -> Iterator[Row]:
    """Measure each question over one connection, then the whole answer."""
    count = site.sizes.topics
    with file_server(site, "find", topic_listing="by-properties") as node:
        populate(site, node, count)
        with Worker(asking_on, node.port) as asking, Worker(plain, count) as scanning:
            for question in QUESTIONS:
                pairs = site.sizes.pairs
                ours, naive = [], []
                asking.run(answer, question.path, 1)
                for pair in range(pairs):
                    site.say(f"find: {question.what}, pair {pair + 1} of {pairs}")
                    ours.append(asking.run(answer, question.path, question.times) * 1e3)
                    naive.append(scanning.run(naively, question.naive) * 1e3)
                name = f"find: {question.what}, {count:,} topics"
                yield row(name, "ms", ours, question.beside, naive, question.goal)


@asynccontextmanager
async def asking_on(port: int) -> AsyncIterator[http.client.HTTPConnection]:
    """Give a connection."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS)) as connection:
        yield connection


@asynccontextmanager
async def plain(count: int) -> AsyncIterator[Topics]:
    """Give the topics in plain dictionaries."""
    yield {key_of(number): labels_of(number) for number in range(count)}


async def answer(connection: http.client.HTTPConnection, path: str, times: int) -> float:
    """Return the median seconds until an answer is read."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        taken.append(time.perf_counter() - start)
        assert response.status == 200, body[:500]
    return median(taken)


async def naively(topics: Topics, way: Callable[[Topics], object]) -> float:
    """Return the seconds of the naive way."""
    start = time.perf_counter()
    way(topics)
    return time.perf_counter() - start
