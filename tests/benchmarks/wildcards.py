"""Wildcards: patterns over many topics, a name against a pattern, a new topic against many patterns.

Names have three segments, the last of them unique, and one in ten has a fourth; then two to seven, most of them shared.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.benchmarks.memory import growth, no_topics
from tests.benchmarks.report import Goal, Row, row, spread
from tests.benchmarks.site import Site
from tests.benchmarks.workers import Worker
from topicfold.model.finding.pattern import ONE, REST, SEPARATOR, Pattern, parse_pattern
from topicfold.model.names import DEFAULT_NAMESPACE, topic_of_key
from topicfold.runtime.finding.found import Found, sections_of
from topicfold.runtime.watching.pattern_index import PatternIndex
from topicfold.state.aggregate import NO_ETAG, Aggregate
from topicfold.state.indexed import Indexed
from topicfold.state.indexes.name_index import NameIndex
from topicfold.state.indexes.name_order import NameOrder
from topicfold.state.topic_table import TopicTable

PATTERNS = ["**", "*__*__*", "team-7__**", "team-7__*__*", "team-7__r3__*", "team-7__r3__*__dlq", "*__r3__*",
            "*__*__*__dlq", "*__*__svc-0000777", "*__*__svc-0000777__**", "team-7__r3__svc-0000777"]  # fmt: skip
LARGE_AND_LARGE = "*__r3__*__dlq"
MIXED = ["e0__**", "e0__*__**", "e0__r1__**", "e0__*__*__k2__*", "*__r1__*__k2__**", "*__*__t5__*__*", "*__*__*__*__**"]
"""For names of two to seven segments."""
REGISTERED = 10_000
_REPEATS = 200
_BATCH = 100
_TOPIC = Aggregate(bytes(16), True, NO_ETAG, 1, b"", 0)


@dataclass(frozen=True, slots=True)
class Subject:
    """Topics in a table, their names' order, and patterns in an index and in a list."""

    table: TopicTable
    order: NameOrder
    registered: list[str]
    index: PatternIndex[int] = field(default_factory=PatternIndex)


@dataclass(frozen=True, slots=True)
class Mixed:
    """Names of many lengths, and their index."""

    keys: list[str]
    index: NameIndex


def run(site: Site) -> Iterator[Row]:
    """Measure each beside the naive way: the text split and compared, name by name or pattern by pattern."""
    count = site.sizes.topics
    site.say(f"wildcards: naming {count:,} topics")
    with Worker(named_topics, count) as worker:
        worker.run(compare)
        timings: dict[Callable[..., object], list[float]] = defaultdict(list)
        for _ in range(site.sizes.pairs):
            for measured in (set_seconds, large_seconds, names_seconds, order_seconds, sort_seconds, scan_seconds,
                             match_seconds, naive_match_seconds, find_seconds, try_each_seconds):  # fmt: skip
                timings[measured].append(worker.run(measured) * 1e6)
    scan = "scan over names", timings[scan_seconds]
    slowest = f"wildcards: as a set of {count:,}, slowest of {len(PATTERNS)} patterns"
    yield row(slowest, "µs", timings[set_seconds], *scan, Goal("ours", "≤", 10))
    large = "wildcards: as a set, what a fifth and a tenth of all names have"
    yield row(large, "µs", timings[large_seconds], *scan, Goal("ours", "≤", 10))
    everyone = f"wildcards: all {count:,} with names"
    yield row(everyone, "µs", timings[names_seconds], *scan, Goal("ours", "≤", 30_000))
    in_order = f"wildcards: all {count:,} with full names in order"
    yield row(in_order, "µs", timings[order_seconds], "sorting them", timings[sort_seconds])
    walk = "walk over segments", timings[naive_match_seconds]
    one = "wildcards: one name against one pattern"
    yield row(one, "µs", timings[match_seconds], *walk, Goal("ours", "≤", 0.5))
    new = f"wildcards: a new topic against {REGISTERED:,} patterns"
    yield row(new, "µs", timings[find_seconds], "each tried", timings[try_each_seconds], Goal("ours", "≤", 3))
    with Worker(mixed_names, count) as worker:
        worker.run(compare_mixed)
        for _ in range(site.sizes.pairs):
            for each in (mixed_seconds, mixed_scan_seconds):
                timings[each].append(worker.run(each) * 1e6)
    mixed = f"wildcards: as a set, names of 2 to 7 segments, slowest of {len(MIXED)} patterns"
    yield row(mixed, "µs", timings[mixed_seconds], "scan over names", timings[mixed_scan_seconds])
    with Worker(no_topics) as worker:
        ours = worker.run(index_bytes, count) / count
    with Worker(no_topics) as worker:
        theirs = worker.run(naive_index_bytes, count) / count
    yield row(f"wildcards: name index of {count:,}", "B a topic", [ours], "dict of lists", [theirs])


def key_of(number: int) -> str:
    """Return the name of topic `number` inside its namespace."""
    scattered = number * 2_654_435_761 % 2**32 >> 8
    return f"team-{scattered % 200}__r{scattered // 200 % 5}__svc-{number:07d}" + "__dlq" * (number % 10 == 0)


def mixed_key_of(number: int) -> str:
    """Return a name of two to seven segments, all but one of which many names share."""
    scattered = number * 2_654_435_761 % 2**32 >> 8
    shared = [f"e{scattered % 3}", f"r{scattered // 3 % 4}", f"t{scattered // 12 % 40}", f"k{scattered // 480 % 8}"]
    return "__".join([*shared[: 1 + number % 4], f"n{number}", *["retry", "dlq"][: number % 3]])


@asynccontextmanager
async def named_topics(count: int) -> AsyncIterator[Subject]:
    """Give `count` topics without labels, and patterns of eight shapes."""
    table = TopicTable(lambda schema, payload: Indexed({}, 0))
    for number in range(count):
        key = key_of(number)
        table.put(f"persistent://{DEFAULT_NAMESPACE}/{key}", key, _TOPIC)
    forms = ["team-{0}__**", "team-{0}__*__*", "team-{0}__r{1}__**", "team-{0}__*__svc-{2}", "*__r{1}__svc-{2}",
             "*__*__svc-{2}", "*__r{2}__**", "team-{0}__r{1}__svc-{2}"]  # fmt: skip
    registered = [forms[n % len(forms)].format(n, n % 5, f"{n:07d}") for n in range(REGISTERED)]
    order = NameOrder(table.keys)
    order.catch_up(count)
    subject = Subject(table, order, registered)
    for number, text in enumerate(registered):
        subject.index.add(parse_pattern(text), number)
    yield subject


@asynccontextmanager
async def mixed_names(count: int) -> AsyncIterator[Mixed]:
    """Give an index of `count` names of many lengths."""
    keys = [mixed_key_of(number) for number in range(count)]
    numbers = {key: number for number, key in enumerate(keys)}
    yield Mixed(keys, _filled(NameIndex(numbers, keys, SEPARATOR), count))


async def compare_mixed(mixed: Mixed) -> None:
    """See that the index finds what a scan finds."""
    for text in MIXED:
        assert [mixed.keys[each] for each in mixed.index.matching(parse_pattern(text))] == _scan(mixed.keys, text)


async def mixed_seconds(mixed: Mixed) -> float:
    """Return the median seconds of the pattern that takes longest, until there is a set."""
    return max(_median(mixed.index.matching, parse_pattern(text)) for text in MIXED)


async def mixed_scan_seconds(mixed: Mixed) -> float:
    """Return the seconds of a scan."""
    start = time.perf_counter()
    _scan(mixed.keys, "e0__r1__**")
    return time.perf_counter() - start


async def compare(subject: Subject) -> None:
    """See that every way finds the same."""
    table = subject.table
    for text in [*PATTERNS, LARGE_AND_LARGE]:
        assert table.keys_of(table.names.matching(parse_pattern(text))) == _scan(table.keys, text)
    key = table.keys[77]
    assert subject.index.find(key) == _tried(subject.registered, key)


async def set_seconds(subject: Subject) -> float:
    """Return the median seconds of the pattern that takes longest, until there is a set."""
    return max(_median(subject.table.names.matching, parse_pattern(text)) for text in PATTERNS)


async def large_seconds(subject: Subject) -> float:
    """Return the median seconds of a pattern whose answer is small and made of two large sets."""
    return _median(subject.table.names.matching, parse_pattern(LARGE_AND_LARGE))


async def names_seconds(subject: Subject) -> float:
    """Return the seconds of a pattern that everyone matches, until there are names."""
    start = time.perf_counter()
    subject.table.keys_of(subject.table.names.matching(parse_pattern("**")))
    return time.perf_counter() - start


async def order_seconds(subject: Subject) -> float:
    """Return the seconds of the same until there are full names in their order, which is known from earlier finding."""
    table = subject.table
    start = time.perf_counter()
    numbers = table.names.matching(parse_pattern("**"))
    found = Found([*sections_of(DEFAULT_NAMESPACE, table, numbers)], lambda _: subject.order)
    names = [name for section, some in found.all_after(None) for name in section.names(some)]
    taken = time.perf_counter() - start
    assert len(names) == len(table)
    return taken


async def sort_seconds(subject: Subject) -> float:
    """Return the seconds of sorting the full names of all topics."""
    start = time.perf_counter()
    sorted(topic_of_key(DEFAULT_NAMESPACE, key) for key in subject.table.keys)
    return time.perf_counter() - start


async def scan_seconds(subject: Subject) -> float:
    """Return the seconds of a scan."""
    start = time.perf_counter()
    _scan(subject.table.keys, "team-7__r3__*")
    return time.perf_counter() - start


async def match_seconds(subject: Subject) -> float:
    """Return the seconds that a name against a pattern takes, over many names."""
    return _each(parse_pattern("team-7__*__*").matches, subject.table.keys)


async def naive_match_seconds(subject: Subject) -> float:
    """Return the same of the naive way."""
    return _each(lambda key: _matches("team-7__*__*", key), subject.table.keys)


async def find_seconds(subject: Subject) -> float:
    """Return the seconds in which a name finds its patterns, over many names."""
    return _each(subject.index.find, subject.table.keys)


async def try_each_seconds(subject: Subject) -> float:
    """Return the seconds in which each pattern is tried on a name."""
    start = time.perf_counter()
    _tried(subject.registered, subject.table.keys[77])
    return time.perf_counter() - start


async def index_bytes(_: None, count: int) -> int:
    """Return by how much the process grows with a name index of names that are there."""
    keys = [key_of(number) for number in range(count)]
    numbers = {key: number for number, key in enumerate(keys)}
    return growth(lambda: _filled(NameIndex(numbers, keys, SEPARATOR), count))


async def naive_index_bytes(_: None, count: int) -> int:
    """Return the same of a dictionary of lists by position and segment."""
    keys = [key_of(number) for number in range(count)]
    return growth(lambda: _by_place(keys))


def _filled(index: NameIndex, count: int) -> NameIndex:
    for number in range(count):
        index.add(number)
    return index


def _by_place(keys: list[str]) -> dict[tuple[int, str], list[int]]:
    index: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for number, key in enumerate(keys):
        for place in enumerate(key.split(SEPARATOR)):
            index[place].append(number)
    return index


def _median(answer: Callable[[Pattern], object], pattern: Pattern) -> float:
    taken = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        answer(pattern)
        taken.append(time.perf_counter() - start)
    return spread(taken).median


def _each(answer: Callable[[str], object], keys: list[str]) -> float:
    """Return the median seconds of one answer, over batches of names from all of the table."""
    taken = []
    for first in range(0, len(keys), max(_BATCH, len(keys) // _REPEATS)):
        some = keys[first : first + _BATCH]
        start = time.perf_counter()
        for key in some:
            answer(key)
        taken.append((time.perf_counter() - start) / len(some))
    return spread(taken).median


def _scan(keys: list[str], text: str) -> list[str]:
    return [key for key in keys if _matches(text, key)]


def _tried(registered: list[str], key: str) -> set[int]:
    return {number for number, text in enumerate(registered) if _matches(text, key)}


def _matches(text: str, key: str) -> bool:
    """Return whether `key` matches `text`, the naive way."""
    wanted, segments = text.split(SEPARATOR), key.split(SEPARATOR)
    if wanted[-1] == REST:
        wanted = wanted[:-1]
        if len(segments) <= len(wanted):
            return False
    elif len(segments) != len(wanted):
        return False
    return all(segments) and all(one in (ONE, other) for one, other in zip(wanted, segments, strict=False))
