"""The Spark job: events a second from Kafka to committed tables, what a batch costs by the size of the tables, and
what it does to an engine beside it.

The job and what it is compared with run niced, as a job beside an engine should; on an idle machine that is nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.benchmarks.bare import bare_loop, paced_round_trip_seconds
from tests.benchmarks.compacting import Compacted, Spark, compact_once, count_bare, spark_on
from tests.benchmarks.event_log import EventLog
from tests.benchmarks.nodes import create_topics, kafka_node, last_value_bytes, paced_write_seconds
from tests.benchmarks.report import Goal, Row, percentile, row
from tests.benchmarks.site import Site
from tests.benchmarks.workers import Worker

_TOPICS_SHARE = 10
_BATCH_ROWS = 1_000_000
_CHANGES = 1_000
_MOST_REPETITIONS = 3
_CORES = 2
_PARTS = {
    "decoding": ("decoding",),
    "folding": ("looking_up", "folding", "hashing"),
    "writing": ("writing",),
}
_COUNT = "a job that reads and counts the same records"
_WRITE_EVERY_SECONDS = 0.005


def run(site: Site) -> Iterator[Row]:
    """Measure the job beside a bare one in the same session."""
    with Worker(spark_on, site.broker.bootstrap, site.sizes.niceness) as spark:
        # What is measured first would have the JVM compile its code.
        logs = {namespaces: _log(site, namespaces) for namespaces in (1, 1_000)}
        for number in range(min(2, _repetitions(site))):
            site.say(f"compaction: warming up, {number + 1}")
            spark.run(count_bare, logs[1], _BATCH_ROWS)
            spark.run(compact_once, logs[1], str(site.directory / f"snapshot-warm-{number}"), _BATCH_ROWS)
        for namespaces, topic in logs.items():
            yield from _fold(site, spark, namespaces, topic)
        yield from _writes(site, spark, logs[1])
        yield _small_batches(site, spark)
        if site.sizes.large_events:
            yield from _large(site, spark)


def _log(site: Site, namespaces: int) -> str:
    topic, events = site.fresh_topic(), site.sizes.compacted_events
    site.say(f"compaction: writing {events:,} events in {namespaces:,} namespaces")
    EventLog(site.broker.bootstrap, topic, topics=events // _TOPICS_SHARE, namespaces=namespaces).write(events)
    return topic


def _fold(site: Site, spark: Worker[Spark], namespaces: int, topic: str) -> Iterator[Row]:
    ours: list[Compacted] = []
    theirs = []
    for pair in range(_repetitions(site)):
        site.say(f"compaction: {namespaces:,} namespaces, pair {pair + 1}")
        theirs.append(spark.run(count_bare, topic, _BATCH_ROWS))
        ours.append(spark.run(compact_once, topic, str(site.directory / f"snapshot-{namespaces}-{pair}"), _BATCH_ROWS))
    name = f"compaction: {namespaces:,} namespaces, "
    rates = [each.events / each.seconds for each in ours]
    yield row(f"{name}events to committed tables", "/s", rates, _COUNT, theirs, Goal("ours", "≥", 200_000))
    beside = [_CORES * 1e6 / rate for rate in theirs]
    for part, took in _parts(ours).items():
        yield row(f"{name}{part}, of two cores, an event", "µs", took, _COUNT, beside)
    peak = max(each.peak_bytes for each in ours) / 2**20
    yield row(f"{name}peak memory", "MiB", [peak], "millions of events", [ours[0].events / 1e6])


def _parts(runs: Sequence[Compacted]) -> dict[str, list[float]]:
    """Return what each event takes of both cores: reading is all that slices do not do, waiting for the driver too."""
    found = {
        part: [sum(run.parts[each] for each in of) / run.events * 1e6 for run in runs] for part, of in _PARTS.items()
    }
    whole = [_CORES * run.seconds / run.events * 1e6 for run in runs]
    committing = [_CORES * run.parts["committing"] / run.events * 1e6 for run in runs]
    done = zip(committing, *found.values(), strict=True)
    reading = [all_of_it - sum(others) for all_of_it, others in zip(whole, done, strict=True)]
    return {"reading and dealing": reading, **found, "committing": committing}


def _writes(site: Site, spark: Worker[Spark], topic: str) -> Iterator[Row]:
    """Measure an engine's writes while the job folds another log of the same broker, and a bare loop's in its place."""
    count, bootstrap = site.sizes.paced_writes, site.broker.bootstrap
    alone: defaultdict[str, list[float]] = defaultdict(list)
    beside: defaultdict[str, list[float]] = defaultdict(list)
    with Worker(kafka_node, bootstrap, site.fresh_topic()) as node, Worker(bare_loop, bootstrap) as bare:
        node.run(create_topics, 1)
        node.run(paced_write_seconds, count, _WRITE_EVERY_SECONDS)
        size = node.run(last_value_bytes)
        writers = {
            "writes/s": lambda: node.run(paced_write_seconds, count, _WRITE_EVERY_SECONDS),
            "bare round trips/s": lambda: bare.run(paced_round_trip_seconds, count, size, _WRITE_EVERY_SECONDS),
        }
        for number, (name, seconds) in enumerate([*writers.items()] * _repetitions(site)):
            site.say(f"compaction: {name}, run {number + 1}")
            alone[name].append(percentile(seconds(), 99) * 1e3)
            finish = spark.begin(compact_once, topic, str(site.directory / f"snapshot-beside-{number}"), _BATCH_ROWS)
            beside[name].append(percentile(seconds(), 99) * 1e3)
            finish()
    goals = {"writes/s": Goal("ratio", "≤", 1.5)}
    for name in writers:
        what = f"compaction: {1 / _WRITE_EVERY_SECONDS:.0f} {name} while the job runs, p99"
        yield row(what, "ms", beside[name], "the same without it", alone[name], goals.get(name))


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


def _large(site: Site, spark: Worker[Spark]) -> Iterator[Row]:
    """Measure one long run, from nothing to the end of a large log."""
    topic, events = site.fresh_topic(), site.sizes.large_events
    site.say(f"compaction: writing {events:,} events")
    EventLog(site.broker.bootstrap, topic, topics=events // _TOPICS_SHARE, namespaces=1_000).write(events)
    theirs = spark.run(count_bare, topic, _BATCH_ROWS)
    ours = spark.run(compact_once, topic, str(site.directory / "snapshot-large"), _BATCH_ROWS)
    name = f"compaction: {events:,} events, "
    yield row(f"{name}events to committed tables", "/s", [ours.events / ours.seconds], _COUNT, [theirs])
    yield row(f"{name}peak memory", "MiB", [ours.peak_bytes / 2**20], "seconds", [ours.seconds])


def _repetitions(site: Site) -> int:
    return min(site.sizes.pairs - 1, _MOST_REPETITIONS)
