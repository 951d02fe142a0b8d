"""Update until readable: one client sets one label of one topic and reads it back, again and again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from tests.benchmarks.bare import asyncio_round_trips, bare_asyncio, bare_loop, round_trips
from tests.benchmarks.nodes import Node, create_topics, kafka_node, last_value_bytes, topic_name
from tests.benchmarks.report import Goal, Row, row
from tests.benchmarks.site import Site
from tests.benchmarks.workers import Worker


def run(site: Site) -> Iterator[Row]:
    """Measure p50 of ours beside a bare produce→consume loop, and that beside a bare asyncio loop."""
    bootstrap = site.broker.bootstrap
    count = site.sizes.round_trips
    ours, theirs, through_asyncio = [], [], []
    with (
        Worker(kafka_node, bootstrap, site.fresh_topic()) as node,
        Worker(bare_loop, bootstrap) as bare,
        Worker(bare_asyncio, bootstrap) as bare_loop_of_asyncio,
    ):
        node.run(create_topics, 1)
        node.run(update_seconds, count)
        size = node.run(last_value_bytes)
        for pair in range(site.sizes.pairs):
            site.say(f"update_latency: pair {pair + 1} of {site.sizes.pairs}")
            ours.append(median(node.run(update_seconds, count)) * 1e3)
            theirs.append(median(bare.run(round_trips, count, size)) * 1e3)
            through_asyncio.append(median(bare_loop_of_asyncio.run(asyncio_round_trips, count, size)) * 1e3)
    beside = f"bare produce→consume, {size} B"
    yield row("update_latency: until readable, p50", "ms", ours, beside, theirs, Goal("ratio", "≤", 1.4))
    yield row("update_latency: bare asyncio loop, p50", "ms", through_asyncio, beside, theirs)


async def update_seconds(node: Node, count: int) -> list[float]:
    """Return the seconds of `count` updates, each until its value is read back."""
    name = topic_name(0)
    taken = []
    for number in range(count):
        value = f"silver-{number:06d}"
        start = time.perf_counter()
        await node.writing.set_labels(name, {"tier": value}, node.asked())
        labels, _ = node.reading.labels(name)
        taken.append(time.perf_counter() - start)
        assert labels["tier"] == value
    return taken
