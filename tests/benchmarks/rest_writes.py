"""Writes through REST: one client's latency beside a bare round trip, at few and many topics; eight clients' rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from tests.benchmarks.bare import bare_loop, round_trips
from tests.benchmarks.load import drive
from tests.benchmarks.report import Goal, Row, row
from tests.benchmarks.servers import CONNECTIONS, READ, WRITE, server_on
from tests.benchmarks.site import Site
from tests.benchmarks.workers import Worker

VALUE_BYTES = 300
"""About the size of an event that sets a label of a topic with five."""

ONE_CLIENT = replace(WRITE, connections=1)


def run(site: Site) -> Iterator[Row]:
    """Measure p50 of a write at each number of topics, then writes a second beside reads a second."""
    with server_on(site) as server, Worker(bare_loop, site.broker.bootstrap) as bare:
        for count in site.sizes.topic_counts:
            server.grow_to(count)
            server.per_second(ONE_CLIENT)
            ours, theirs = [], []
            for _ in range(site.sizes.pairs):
                ours.append(server.load.run(drive, site.sizes.rest_seconds / 2, ONE_CLIENT)[0].p50_seconds * 1e3)
                theirs.append(median(bare.run(round_trips, site.sizes.round_trips, VALUE_BYTES)) * 1e3)
            what = f"rest_writes: one client, {count:,} topics, p50"
            yield row(what, "ms", ours, "bare produce→consume", theirs, Goal("ratio", "≤", 3))
        writes, reads = [], []
        for pair in range(site.sizes.pairs):
            site.say(f"rest_writes: {CONNECTIONS} clients, pair {pair + 1} of {site.sizes.pairs}")
            writes.append(server.per_second(WRITE))
            reads.append(server.per_second(READ))
        what = f"rest_writes: {CONNECTIONS} clients, {CONNECTIONS} topics"
        yield row(what, "/s", writes, "reads of the same server", reads, Goal("ratio", "≥", 0.5))
