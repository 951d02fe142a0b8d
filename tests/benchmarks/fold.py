"""Folding a log from its beginning: a node that starts on a log of label events, on one core.

Namespaces spread over all partitions; each topic is made with five labels and changed three times, one after the other,
as by a program that makes topics and then sets what they need. So most batches hold several events of a topic, which is
stored, hashed and indexed once. Where every topic's events are far apart, each is.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.benchmarks.bare import Bare, bare_loop, consumed_per_second
from tests.benchmarks.nodes import create_namespaces, kafka_node, load_topics
from tests.benchmarks.report import Goal, Row, row
from tests.benchmarks.site import Site
from tests.benchmarks.workers import Worker
from topicfold.log.kafka import KafkaLog
from topicfold.runtime.engine import Engine

NAMESPACES = [f"public/fold-{number}" for number in range(12)]
VERSIONS = 4
PARTITIONS = 8
_READY_SECONDS = 120.0
_MOST_PAIRS = 3


@dataclass(frozen=True, slots=True)
class Folded:
    """One fold of the log: how many events, in how much time by the clock and by the processor."""

    events: int
    wall_seconds: float
    processor_seconds: float


def run(site: Site) -> Iterator[Row]:
    """Measure events a second beside a bare consumer of the same topic, both held to one core."""
    bootstrap, topic = site.broker.bootstrap, site.fresh_topic()
    each = site.sizes.fold_events // VERSIONS // len(NAMESPACES)
    with Worker(kafka_node, bootstrap, topic) as loader:
        loader.run(create_namespaces, NAMESPACES)
        site.say(f"fold: writing {each * VERSIONS * len(NAMESPACES):,} events")
        for namespace in NAMESPACES:
            loader.run(load_topics, range(each), VERSIONS, namespace)
    by_clock, by_processor, theirs = [], [], []
    for pair in range(min(site.sizes.pairs, _MOST_PAIRS)):
        site.say(f"fold: pair {pair + 1}")
        with Worker(one_core) as fresh:
            folded = fresh.run(fold_once, bootstrap, topic)
        with Worker(bare_on_one_core, bootstrap, topic) as bare:
            theirs.append(bare.run(consumed_per_second, folded.events))
        by_clock.append(folded.events / folded.wall_seconds)
        by_processor.append(folded.events / folded.processor_seconds)
    beside = "bare consume of the same topic"
    yield row("fold: events by the clock", "/s", by_clock, beside, theirs, Goal("ours", "≥", 40_000))
    yield row("fold: events by processor time", "/s", by_processor, beside, theirs)


@asynccontextmanager
async def one_core() -> AsyncIterator[None]:
    """Hold this process to its first core, its threads too."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    yield


@asynccontextmanager
async def bare_on_one_core(bootstrap: str, topic: str) -> AsyncIterator[Bare]:
    """Give a bare loop on the log's topic."""
    async with one_core(), bare_loop(bootstrap, topic, PARTITIONS) as bare:
        yield bare


async def fold_once(_: None, bootstrap: str, topic: str) -> Folded:
    """Start an engine on the log and return once it has folded everything."""
    started, used = time.perf_counter(), time.process_time()
    engine = await Engine.start(await KafkaLog.open(bootstrap, topic))
    try:
        await engine.readiness.wait(engine.states, _READY_SECONDS)
        taken = time.perf_counter() - started, time.process_time() - used
        return Folded(sum(state.position for state in engine.states.values()), *taken)
    finally:
        await engine.stop()
