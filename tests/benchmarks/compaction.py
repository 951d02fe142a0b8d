"""The Spark job: events a second from Kafka to committed tables, and what a batch costs by the size of the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.benchmarks.compacting import Compacted, Spark, compact_once, count_bare, spark_on
from tests.benchmarks.event_log import EventLog
from tests.benchmarks.report import Goal, Row, row
from tests.benchmarks.site import Site
from tests.benchmarks.workers import Worker

_TOPICS_SHARE = 10
_BATCH_ROWS = 1_000_000
_CHANGES = 1_000
_MOST_REPETITIONS = 3
_PARTS = ("reading", "decoding", "looking_up", "folding", "hashing", "writing")
_COUNT = "a job that reads and counts the same records"


def run(site: Site) -> Iterator[Row]:
    """Measure the job beside a bare one in the same session."""
    with Worker(spark_on, site.broker.bootstrap) as spark:
        for namespaces in (1, 1_000):
            yield from _fold(site, spark, namespaces)
        yield _small_batches(site, spark)


def _fold(site: Site, spark: Worker[Spark], namespaces: int) -> Iterator[Row]:
    topic, events = site.fresh_topic(), site.sizes.compacted_events
    site.say(f"compaction: writing {events:,} events in {namespaces:,} namespaces")
    log = EventLog(site.broker.bootstrap, topic, topics=events // _TOPICS_SHARE, namespaces=namespaces)
    log.write(events)
    ours: list[Compacted] = []
    theirs = []
    # The first pair has the JVM compile its code, and is not counted.
    for pair in range(_repetitions(site) + 1):
        site.say(f"compaction: pair {pair}")
        theirs.append(spark.run(count_bare, topic))
        root = str(site.directory / f"snapshot-{namespaces}-{pair}")
        ours.append(spark.run(compact_once, topic, root, _BATCH_ROWS))
    name = f"compaction: {namespaces:,} namespaces, "
    rates = [each.events / each.seconds for each in ours]
    yield row(f"{name}events to committed tables", "/s", rates[1:], _COUNT, theirs[1:], Goal("ours", "≥", 200_000))
    for part in _PARTS:
        took = [each.parts[part] / each.events * 1e6 for each in ours[1:]]
        yield row(f"{name}{part.replace('_', ' ')}, in Python", "µs", took, _COUNT, _each_us(theirs[1:]))
    peak = [each.peak_bytes / 2**20 for each in ours]
    yield row(f"{name}peak memory", "MiB", [max(peak)], f"{events:,} events", [events / 1e6])


def _small_batches(site: Site, spark: Worker[Spark]) -> Row:
    """Measure a batch of 1,000 changes over a large table beside one over a small table."""
    large, small = (_batches_over(site, spark, topics) for topics in (site.sizes.topics, site.sizes.topics // 100))
    return row(
        f"compaction: a batch of {_CHANGES:,} changes over {site.sizes.topics:,} topics", "s", large,
        f"over {site.sizes.topics // 100:,}", small, Goal("ratio", "≤", 3),
    )  # fmt: skip


def _batches_over(site: Site, spark: Worker[Spark], topics: int) -> Sequence[float]:
    topic, root = site.fresh_topic(), str(site.directory / f"snapshot-of-{topics}")
    site.say(f"compaction: making {topics:,} topics")
    log = EventLog(site.broker.bootstrap, topic, topics=topics, namespaces=100)
    log.write(topics)
    spark.run(compact_once, topic, root, _BATCH_ROWS)
    seconds = []
    for _ in range(_repetitions(site) + 1):
        log.write(_CHANGES)
        done = spark.run(compact_once, topic, root, _BATCH_ROWS)
        seconds.append(done.parts["batch"] + done.parts["committing"])
    return seconds[1:]


def _each_us(rates: Sequence[float]) -> list[float]:
    return [1e6 / rate for rate in rates]


def _repetitions(site: Site) -> int:
    return min(site.sizes.pairs - 1, _MOST_REPETITIONS)
