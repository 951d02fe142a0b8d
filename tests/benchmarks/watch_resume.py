"""Resuming one watch after it was cut off, beside the cheapest request over a new connection of the same server."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from itertools import count
from statistics import median

from tests.benchmarks.report import Goal, Row, row
from tests.benchmarks.site import Site
from tests.benchmarks.watch_writer import Write, Writer, make, write
from tests.benchmarks.watchers import Asked, Party, close_watches, open_watches, party_on
from tests.benchmarks.workers import Worker
from tests.integration.node import Node

MISSED = 100
"""Changes, each with a frame."""

_TOPIC = "resumed"
_TIMES = 20


def resuming(site: Site, node: Node, writer: Worker[Writer]) -> Iterator[Row]:
    """Measure from connecting until all missed frames are read, while whoever watches already goes on doing so."""
    writer.run(make, [Write(_TOPIC, {"resumed": "0"})])
    with Worker(party_on, node.port) as party:
        party.run(open_watches, [Asked("labelSelector=resumed")])
        writer.run(write, [Write(_TOPIC, {"resumed": "1"})], 0)
        cursor = party.run(first_cursor)
        party.run(close_watches)
        writer.run(write, [Write(_TOPIC, {"resumed": str(number)}) for number in range(2, MISSED + 2)], 0)
        ours, bare = [], []
        different = count()
        for pair in range(site.sizes.pairs):
            site.say(f"watches: resuming, pair {pair + 1} of {site.sizes.pairs}")
            queries = [f"labelSelector=resumed,!x{next(different)}&since={cursor}" for _ in range(_TIMES)]
            ours.append(median(party.run(resume_seconds, each) for each in queries) * 1e3)
            bare.append(median(party.run(request_seconds) for _ in queries) * 1e3)
    what = f"watches: resume with `since`, {MISSED} frames missed, p50"
    yield row(what, "ms", ours, "/livez over a new connection", bare, Goal("ours", "≤", 5))


async def first_cursor(party: Party) -> str:
    """Return the cursor of the first frame that comes."""
    await party.wait_for_frames(1, 10.0)
    ((_, line), *_), *_ = party.taken()
    cursor: str = json.loads(line)["cursor"]
    return cursor


async def resume_seconds(party: Party, query: str) -> float:
    """Return the seconds until a resumed watch has read all that it missed."""
    started = time.perf_counter()
    reader, writer = await _asked(party.port, f"/api/v1/watch?{query}", "Accept: application/x-ndjson\r\n")
    for _ in range(MISSED):
        while not (await reader.readuntil(b"\n")).startswith(b"{"):
            pass
    seconds = time.perf_counter() - started
    writer.transport.abort()
    return seconds


async def request_seconds(party: Party) -> float:
    """Return the seconds of `/livez`, its connection made for it."""
    started = time.perf_counter()
    reader, writer = await _asked(party.port, "/livez")
    await reader.readuntil(b"\r\n\r\n")
    seconds = time.perf_counter() - started
    writer.transport.abort()
    return seconds


async def _asked(port: int, path: str, more: str = "") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{more}\r\n".encode())
    return reader, writer
