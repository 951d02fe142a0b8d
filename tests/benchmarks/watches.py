"""Watches over HTTP: a change until its frames are read, by one and by all, beside a bare broadcast of the same bytes.

Then what they cost the writer and in memory, and resuming. Watches and writes are each made by a process of its own.

On a log in a file, and on one in Kafka: a frame cannot come before its change is in the log.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from itertools import count
from statistics import median

from tests import plain_http
from tests.benchmarks import watch_index, watch_load
from tests.benchmarks.bare import bare_loop, round_trips
from tests.benchmarks.bare_broadcast import Broadcast, bare_bytes, broadcast_to_all, broadcasting, port_of
from tests.benchmarks.file_server import file_server
from tests.benchmarks.machine import resident_bytes
from tests.benchmarks.report import Goal, Row, row
from tests.benchmarks.servers import kafka_server
from tests.benchmarks.site import Site
from tests.benchmarks.watch_resume import resuming
from tests.benchmarks.watch_writer import Write, Written, make, write, writer_on
from tests.benchmarks.watchers import Asked, close_watches, delivery_of, open_watches, party_on
from tests.benchmarks.workers import Worker
from tests.integration.node import Node

FRAME_BYTES = 420
"""About what a frame has where a topic bears two labels."""
PAUSE_SECONDS = 0.02
"""Between two writes, with watches and without: what rested is slower than what works."""

_BATCH = 10
_IN_A_ROW = 500
_NUMBERS = count()
_FRAMES_SECONDS = 30.0
_SETTLED_SECONDS = 3.0
"""A server looks each second whether a crowd has left."""
_MOST_PAIRS = 5
_WATCHED, _UNWATCHED = "watched", "unwatched"


def run(site: Site) -> Iterator[Row]:
    """Measure delivery, acknowledgements, memory and resuming; then random queries; then finding who cares."""
    with ExitStack() as stack:
        place = Place(site, stack, file_server, "in a file")
        yield from place.memory()
        yield from place.one()
        yield from place.resuming()
    with Worker(bare_loop, site.broker.bootstrap) as bare:
        site.say("watches: warming up the broker, whose code is compiled while it runs")
        bare.run(round_trips, 50 * site.sizes.round_trips, FRAME_BYTES)
    with ExitStack() as stack:
        yield from Place(site, stack, kafka_server, "in Kafka").one()
    # On servers, and by processes, that have not had tens of thousands of others before.
    for server, where in ((file_server, "in a file"), (kafka_server, "in Kafka")):
        with ExitStack() as stack:
            yield from Place(site, stack, server, where).all_matching()
    yield from watch_load.run(site)
    yield from watch_index.run(site)


ServerOn = Callable[[Site, str], AbstractContextManager[Node]]
"""Takes the site and a name; runs a server on a log of its own."""


class Place:
    """A server with watches beside one without, and a bare broadcast; `where` is where their logs are, in words."""

    def __init__(self, site: Site, stack: ExitStack, server: ServerOn, where: str) -> None:
        """Start all of them."""
        self._site = site
        self._where = where
        self._many = site.sizes.watches
        self._node = stack.enter_context(server(site, f"watched-{next(_NUMBERS)}"))
        without = stack.enter_context(server(site, f"alone-{next(_NUMBERS)}"))
        self._party = stack.enter_context(Worker(party_on, self._node.port))
        self._writer = stack.enter_context(Worker(writer_on, self._node.port))
        self._alone = stack.enter_context(Worker(writer_on, without.port))
        self._bare: Worker[Broadcast] = stack.enter_context(Worker(broadcasting))
        self._bare_party = stack.enter_context(Worker(party_on, self._bare.run(port_of)))
        for writer in (self._writer, self._alone):
            writer.run(make, [Write(each, {"w": "none"}) for each in (_WATCHED, _UNWATCHED)])
            writer.run(write, self._writes(_UNWATCHED, 10 * site.sizes.round_trips), 0)

    def memory(self) -> Iterator[Row]:
        """Measure what a stream takes, and what is left when all have gone, the second time beside the first."""
        site, many = self._site, self._many
        before, bare_before = self._held(), self._bare.run(bare_bytes)
        ours, left = [], []
        for turn in range(2):
            site.say(f"watches: {many:,} come and go, turn {turn + 1}")
            self._party.run(open_watches, self._asked(many))
            ours.append((self._held() - before) / many / 1024)
            self._deliver(many)
            self._party.run(close_watches)
            left.append(self._held_when_settled() / 2**20)
        self._bare_party.run(open_watches, self._asked(many))
        bare = (self._bare.run(bare_bytes) - bare_before) / many / 1024
        self._bare_party.run(close_watches)
        yield row(f"watches: a stream of {many:,}", "kB", ours[:1], "bare connection", [bare], Goal("ours", "≤", 70))
        what = f"watches: memory when {many:,} have left"
        yield row(what, "MiB", left[1:], "when as many had left before", left[:1], Goal("ratio", "≤", 1.05))
        yield row(what, "MiB", left[1:], "before any came", [before / 2**20])

    def one(self) -> Iterator[Row]:
        """Measure a change that one of many watches, one after another and each after a rest.

        Then acknowledgements, beside the server without any watches. The watches stay open.
        """
        site, many = self._site, self._many
        site.say(f"watches: opening {many:,}, each for itself")
        self._party.run(open_watches, [Asked(f"labelSelector=w%3Dx{number}") for number in range(many)])
        paces = (0.0, PAUSE_SECONDS)
        frames, acks = {pace: list[float]() for pace in paces}, {pace: list[float]() for pace in paces}
        idle, alone = [], []
        for pair in range(site.sizes.pairs):
            site.say(f"watches: one of {many:,}, pair {pair + 1} of {site.sizes.pairs}")
            for pace in paces:
                frame, answer = self._one_of(many, pace)
                frames[pace].append(frame * 1e3)
                acks[pace].append(answer * 1e3)
            idle.append(_median_ms(self._writer.run(write, self._writes(_UNWATCHED, 2 * _BATCH), PAUSE_SECONDS)))
            alone.append(_median_ms(self._alone.run(write, self._writes(_UNWATCHED, 2 * _BATCH), PAUSE_SECONDS)))
        what = f"watches: change → frame, one of {many:,} matches, log {self._where}, p50"
        yield row(what, "ms", frames[0.0], "the write's answer", acks[0.0], Goal("ours", "≤", 1.5))
        what = f"watches: the same, each change after {PAUSE_SECONDS * 1e3:.0f} ms of rest, log {self._where}, p50"
        yield row(what, "ms", frames[PAUSE_SECONDS], "the write's answer", acks[PAUSE_SECONDS])
        what = f"watches: a write's answer, {many:,} idle, log {self._where}, p50"
        yield row(what, "ms", idle, "no watches", alone, Goal("ratio", "≤", 1.1))

    def resuming(self) -> Iterator[Row]:
        """Measure going on after a cut, beside whoever watches."""
        yield from resuming(self._site, self._node, self._writer)

    def all_matching(self) -> Iterator[Row]:
        """Measure a change that a tenth, then all watch, and the acknowledgement that it has."""
        site = self._site
        opened = 0
        for many, goal in ((self._many // 10, 20), (self._many, 220)):
            for party in (self._party, self._bare_party):
                party.run(open_watches, self._asked(many - opened))
            opened = many
            last, bare, acks, during, alone = [], [], [], [], []
            for pair in range(min(site.sizes.pairs, _MOST_PAIRS)):
                site.say(f"watches: {many:,} matching, pair {pair + 1}")
                deliveries = [self._deliver(many) for _ in range(3 * _BATCH)]
                last.append(median(each for each, _ in deliveries) * 1e3)
                acks.append(median(each for _, each in deliveries) * 1e3)
                bare.append(median(self._broadcast(many) for _ in range(_BATCH)) * 1e3)
                during.append(median(self._answer_during(many) for _ in range(_BATCH)) * 1e3)
                alone.append(median(self._answer_alone() for _ in range(3 * _BATCH)) * 1e3)
            what = f"watches: last of {many:,} matching, log {self._where}, p50"
            yield row(what, "ms", last, "bare broadcast of as many bytes", bare, Goal("ours", "≤", goal))
            what = f"watches: a write's answer, {many:,} matching, log {self._where}, p50"
            yield row(what, "ms", acks, "no watches", alone, Goal("ratio", "≤", 1.1))
            what = f"watches: a write's answer while {many:,} are sent one before, log {self._where}, p50"
            yield row(what, "ms", during, "no watches", alone)

    def _one_of(self, many: int, pace: float) -> tuple[float, float]:
        """Have one watch after the other match; return the median seconds until its frame, and until the answer."""
        numbers = list(range(min(many, 5 * _BATCH if pace else _IN_A_ROW)))
        self._writer.run(write, self._writes(_WATCHED, 1, w="none"), PAUSE_SECONDS)
        self._party.run(watch_load.frames_of_all, 1, PAUSE_SECONDS)
        written = self._writer.run(write, [Write(_WATCHED, {"w": f"x{number}"}) for number in numbers], pace)
        came = self._party.run(watch_load.frames_of_all, 2 * len(numbers) - 1, _FRAMES_SECONDS)
        first = [came[number][0][0] for number in numbers]
        late = [when - each.sent for when, each in zip(first, written, strict=True)]
        return median(late), median(each.seconds for each in written)

    def _deliver(self, many: int) -> tuple[float, float]:
        """Make a change that all of `many` watch; return the seconds until the last has it, and until the answer."""
        coming = self._party.begin(delivery_of, many)
        (written,) = self._writer.run(write, self._writes(_WATCHED, 1, w="all"), PAUSE_SECONDS)
        delivery = coming()
        assert delivery.frames == many, f"{delivery.frames} frames of {many}"
        return delivery.last - written.sent, written.seconds

    def _answer_alone(self) -> float:
        """Return the seconds of the same write's answer where nobody watches."""
        (written,) = self._alone.run(write, self._writes(_WATCHED, 1, w="all"), PAUSE_SECONDS)
        return written.seconds

    def _answer_during(self, many: int) -> float:
        """Return the seconds of an answer that is asked for while `many` are sent the change before it."""
        coming = self._party.begin(delivery_of, many)
        writes = [*self._writes(_WATCHED, 1, w="all"), *self._writes(_UNWATCHED, 1)]
        _, second = self._writer.run(write, writes, 0.002)
        coming()
        return second.seconds

    def _broadcast(self, many: int) -> float:
        coming = self._bare_party.begin(delivery_of, many)
        time.sleep(PAUSE_SECONDS)
        started = self._bare.run(broadcast_to_all, FRAME_BYTES)
        return coming().last - started

    def _asked(self, many: int) -> list[Asked]:
        return [Asked("labelSelector=w%3Dall")] * many

    def _writes(self, topic: str, many: int, **labels: str) -> list[Write]:
        """Return writes that differ from all before them."""
        return [Write(topic, {**labels, "at": str(time.perf_counter_ns())}) for _ in range(many)]

    def _held(self) -> int:
        assert self._node.process
        return resident_bytes(self._node.process.pid)

    def _held_when_settled(self) -> int:
        """Return what the server holds once nobody watches, and that has not fallen for `_SETTLED_SECONDS`.

        Before the last has been let go of hardly anything can be given back, so it may not fall for a while then, too.
        """
        while "\ntopicfold_watchers 0.0\n" not in plain_http.get(f"{self._node.url}/metrics", timeout=60).text:
            time.sleep(0.1)
        held, since = self._held(), time.monotonic()
        while time.monotonic() < since + _SETTLED_SECONDS:
            time.sleep(0.1)
            now = self._held()
            if now < held:
                held, since = now, time.monotonic()
        return held


def _median_ms(written: Sequence[Written]) -> float:
    return median(each.seconds for each in written) * 1e3
