"""Updates a second: 64 clients of one node, each on a topic of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from tests.benchmarks.bare import bare_loop, round_trips_per_second
from tests.benchmarks.nodes import Node, create_topics, kafka_node, last_value_bytes, topic_name
from tests.benchmarks.report import Row, row
from tests.benchmarks.site import Site
from tests.benchmarks.workers import Worker

CLIENTS = 64


def run(site: Site) -> Iterator[Row]:
    """Measure ours beside a bare loop with as many messages outstanding."""
    bootstrap = site.broker.bootstrap
    count = site.sizes.rate_updates
    ours, theirs = [], []
    with Worker(kafka_node, bootstrap, site.fresh_topic()) as node, Worker(bare_loop, bootstrap) as bare:
        node.run(create_topics, CLIENTS)
        node.run(updates_per_second, count)
        size = node.run(last_value_bytes)
        for pair in range(site.sizes.pairs):
            site.say(f"update_rate: pair {pair + 1} of {site.sizes.pairs}")
            ours.append(node.run(updates_per_second, count))
            theirs.append(bare.run(round_trips_per_second, count, size, CLIENTS))
    yield row(f"update_rate: {CLIENTS} clients, {CLIENTS} topics", "/s", ours, f"bare, {CLIENTS} outstanding", theirs)


async def updates_per_second(node: Node, count: int) -> float:
    """Return the rate of `count` updates by all clients together."""

    async def client(number: int) -> None:
        for each in range(count // CLIENTS):
            await node.writing.set_labels(topic_name(number), {"tier": f"silver-{each:06d}"}, node.asked())

    start = time.perf_counter()
    await asyncio.gather(*map(client, range(CLIENTS)))
    return count // CLIENTS * CLIENTS / (time.perf_counter() - start)
