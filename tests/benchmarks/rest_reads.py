"""Reads through REST: one topic, eight keep-alive connections, beside the cheapest route of the same server.

The reads go on while others write, and while the broker hangs.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks.load import Flow, busy_share
from tests.benchmarks.population import key_of
from tests.benchmarks.report import Goal, Row, row
from tests.benchmarks.servers import CONNECTIONS, READ, WRITE, Server, server_on
from tests.benchmarks.site import Site

TOPICS = 10
WRITES_PER_SECOND = 250
"""What Karapace writes at its best."""

EMPTY = Flow("GET", "/livez", connections=CONNECTIONS)
READ_WITH_BARRIER = Flow("GET", f"/admin/v2/persistent/public/default/{key_of(0)}/custom-labels")
PACED_WRITE = Flow(WRITE.method, WRITE.path, WRITE.body, CONNECTIONS, CONNECTIONS / WRITES_PER_SECOND)


def run(site: Site) -> Iterator[Row]:
    """Measure reads a second beside `/livez`, then beside themselves with writes or without a broker."""
    with server_on(site) as server:
        server.grow_to(TOPICS)
        server.per_second(READ)
        for _ in range(site.sizes.pairs):
            server.per_second(WRITE)  # until the broker's JVM has compiled what that takes
        yield from _beside_empty(site, server)
        yield from _under_writes(site, server)
        yield from _stalled(site, server)


def _beside_empty(site: Site, server: Server) -> Iterator[Row]:
    local, with_barrier, empty = [], [], []
    for pair in range(site.sizes.pairs):
        site.say(f"rest_reads: pair {pair + 1} of {site.sizes.pairs}")
        local.append(server.per_second(READ))
        empty.append(server.per_second(EMPTY))
        with_barrier.append(server.per_second(READ_WITH_BARRIER))
    busy = server.load.run(busy_share, site.sizes.rest_seconds, EMPTY)
    yield row("rest_reads: /api/v1, local", "/s", local, "/livez", empty, Goal("ratio", "≥", 0.6))
    yield row("rest_reads: /api/v1, local, one process", "/s", local, "/livez", empty, Goal("ours", "≥", 4_000))
    yield row("rest_reads: /admin/v2, with a barrier", "/s", with_barrier, "/livez", empty)
    yield row("rest_reads: load generator busy at /livez", "of a core", [busy], "a core", [1.0])


def _under_writes(site: Site, server: Server) -> Iterator[Row]:
    paced, full, alone = [], [], []
    for pair in range(site.sizes.pairs):
        site.say(f"rest_reads: with writers, pair {pair + 1} of {site.sizes.pairs}")
        paced.append(server.per_second(READ, PACED_WRITE))
        alone.append(server.per_second(READ))
        full.append(server.per_second(READ, WRITE))
    what = f"rest_reads: while {WRITES_PER_SECOND} writes/s go on"
    yield row(what, "/s", paced, "the same alone", alone, Goal("ratio", "≥", 0.9))
    yield row(f"rest_reads: while {CONNECTIONS} writers do all they can", "/s", full, "the same alone", alone)


def _stalled(site: Site, server: Server) -> Iterator[Row]:
    stalled, alone = [], []
    for pair in range(min(3, site.sizes.pairs)):
        site.say(f"rest_reads: broker stalled, pair {pair + 1}")
        alone.append(server.per_second(READ))
        site.broker.pause()
        try:
            stalled.append(server.per_second(READ))
        finally:
            site.broker.resume()
    goal = Goal("ratio", "≥", 0.9)
    yield row("rest_reads: while the broker hangs", "/s", stalled, "the same before", alone, goal)
