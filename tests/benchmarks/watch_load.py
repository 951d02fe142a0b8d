"""Watches with random queries while changes go on: how late frames come, all of them, and while some do not read.

The few who do not read watch everything. Before that is measured they are sent more than their connections hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from random import Random
from typing import NamedTuple

from tests.benchmarks.file_server import file_server
from tests.benchmarks.report import Goal, Row, percentile, row
from tests.benchmarks.site import Site
from tests.benchmarks.watch_queries import Judge, RandomQuery, random_labels, random_queries
from tests.benchmarks.watch_writer import Write, Writer, Written, make, write, writer_on
from tests.benchmarks.watchers import Asked, Came, Party, open_watches, party_on
from tests.benchmarks.workers import Worker

CHANGES_PER_SECOND = 100
_BULK = {f"bulk{number:02}": "x" * 128 for number in range(58)}
_BULK_TOPIC = "bulk"
_SETTLE_SECONDS = 60.0
_MOST_PAIRS = 3


class Late(NamedTuple):
    """How late frames came, in seconds, to those who read all the time; and how many came not as they had to.

    `missing` had not come to them before the others read again.
    """

    seconds: list[float]
    wrong: int
    missing: int

    @property
    def p99_ms(self) -> float:
        """What 99 of 100 frames do not exceed."""
        return percentile(self.seconds, 99) * 1e3


def run(site: Site) -> Iterator[Row]:
    """Measure the same load with all reading and with 1 % not reading, in turns; count what did not come."""
    watches, stalled = site.sizes.watches, max(1, site.sizes.watches // 100)
    random = Random(5)
    queries = random_queries(watches, stalled, random)
    with (
        file_server(site, "watch-load") as node,
        Worker(party_on, node.port) as party,
        Worker(writer_on, node.port) as writer,
    ):
        load = Load(site, party, writer, queries, stalled, random)
        all_read, some_do_not = [], []
        load.changes()
        for pair in range(min(site.sizes.pairs, _MOST_PAIRS)):
            site.say(f"watches: {watches:,} random queries, pair {pair + 1}")
            all_read.append(load.changes())
            some_do_not.append(load.changes_unread())
    of = f"{watches:,} random queries, {CHANGES_PER_SECOND} changes/s"
    p99s, others = [each.p99_ms for each in all_read], [each.p99_ms for each in some_do_not]
    p50s = [percentile(each.seconds, 50) * 1e3 for each in all_read]
    frames = [float(len(each.seconds)) for each in all_read]
    yield row(f"watches: {of}, delivery p99", "ms", p99s, "its p50", p50s, Goal("ours", "≤", 1_000))
    wrong = [float(each.wrong) for each in (*all_read, *some_do_not)]
    yield row(
        f"watches: {of}, lost, twice or out of order", "frames", wrong, "all that came", frames, Goal("ours", "=", 0)
    )
    missing = [float(each.missing) for each in some_do_not]
    late_frames = [float(len(each.seconds)) for each in some_do_not]
    what = f"watches: {of}, not come to others while 1 % do not read"
    yield row(what, "frames", missing, "all that came", late_frames, Goal("ours", "=", 0))
    what = f"watches: {of}, p99 while 1 % do not read"
    yield row(what, "ms", others, "all read", p99s, Goal("ratio", "≤", 1.1))


class Load:
    """Watches of `queries`, the first `stalled` of which can stop reading."""

    def __init__(
        self,
        site: Site,
        party: Worker[Party],
        writer: Worker[Writer],
        queries: Sequence[RandomQuery],
        stalled: int,
        random: Random,
    ) -> None:
        """Make topics, and have them watched."""
        self._site = site
        self._party = party
        self._writer = writer
        self._stalled = stalled
        self._random = random
        self._numbers = map(str, count())
        self._topics = [f"t{number}" for number in range(len(queries) // 10)]
        topics = [Write(topic, random_labels(next(self._numbers), random)) for topic in self._topics]
        topics.append(Write(_BULK_TOPIC, {"n": next(self._numbers)}))
        self._judge = Judge(queries, topics)
        writer.run(make, topics)
        site.say(f"watches: opening {len(queries):,} with random queries")
        party.run(open_watches, [Asked(str(each), number < stalled) for number, each in enumerate(queries)])

    def changes(self) -> Late:
        """Make changes, all watches reading."""
        changes = self._some()
        written = self._writer.run(write, changes, 1 / CHANGES_PER_SECOND)
        return self._late(changes, written, self._judge.due(changes))

    def changes_unread(self) -> Late:
        """Make the same number of changes while some do not read; then have them read."""
        self._party.run(pause, self._stalled)
        bulk = [Write(_BULK_TOPIC, {**_BULK, "n": next(self._numbers)}) for _ in range(self._site.sizes.bulk_changes)]
        changes = self._some()
        filled = self._writer.run(write, bulk, 0)
        written = self._writer.run(write, changes, 1 / CHANGES_PER_SECOND)
        writes = [*bulk, *changes]
        due = self._judge.due(writes)
        missing = self._party.run(
            missing_of_others, self._stalled, sum(map(len, due[self._stalled :])), _SETTLE_SECONDS
        )
        self._party.run(resume, self._stalled)
        return self._late(writes, [*filled, *written], due)._replace(missing=missing)

    def _some(self) -> list[Write]:
        many = int(self._site.sizes.watch_seconds * CHANGES_PER_SECOND)
        random = self._random
        return [Write(random.choice(self._topics), random_labels(next(self._numbers), random)) for _ in range(many)]

    def _late(self, writes: Sequence[Write], written: Sequence[Written], due: Sequence[Sequence[str]]) -> Late:
        came = self._party.run(frames_of_all, sum(map(len, due)), _SETTLE_SECONDS)
        sent = {labels["n"]: each.sent for (_, labels), each in zip(writes, written, strict=True)}
        seconds: list[float] = []
        wrong = 0
        for watch, (numbers, frames) in enumerate(zip(due, came, strict=True)):
            told = [(self._judge.number_of(line), when) for when, line in frames]
            order = [number for number, _ in told]
            if order != numbers:
                wrong += max(1, len(set(numbers) ^ set(order)), len(order) - len(numbers))
            if watch >= self._stalled:
                seconds += [when - sent[number] for number, when in told]
        return Late(seconds, wrong, 0)


async def pause(party: Party, count: int) -> None:
    """Have the first `count` watches read no more."""
    for watch in party.watches[:count]:
        watch.transport.pause_reading()


async def resume(party: Party, count: int) -> None:
    """Have them read again."""
    for watch in party.watches[:count]:
        watch.transport.resume_reading()


async def missing_of_others(party: Party, count: int, frames: int, seconds: float) -> int:
    """Return how many of `frames` do not come to all but the first `count` watches until the time is over."""

    def missing() -> int:
        return frames - party.frames + sum(len(watch.frames) for watch in party.watches[:count])

    await party.wait(lambda: missing() <= 0, seconds)
    return missing()


async def frames_of_all(party: Party, frames: int, seconds: float) -> list[list[Came]]:
    """Return what came to each watch, once there are so many frames or the time is over."""
    await party.wait_for_frames(frames, seconds)
    return party.taken()
