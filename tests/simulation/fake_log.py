"""A log that keeps the promises of `topicfold.log.port.Log`, and not one more.

Appends may be lost, land twice or long after their sender died, fail although they landed, and overtake one
another; deliveries are slow and in odd batches; queries fail. What is never bent: one order per partition, each offset
once, and an end offset that lies above all that had landed when it was asked for.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from random import Random

from tests.simulation.virtual_loop import owned_by
from tests.simulation.weather import CALM
from topicfold.errors import LogUnavailable
from topicfold.log.port import Deliver, Entry, Failed, Fault, LogFull, SettingProblem
from topicfold.runtime.reading import BARRIER_SECONDS

CHECKPOINT = 8
"""Batches end at multiples of this, so that all nodes are seen at the same positions."""

_LONG_SECONDS = BARRIER_SECONDS / 2 - 1e-3
"""Two queries that take less are soon enough for a read, which may have to wait for the one before its own."""

Observer = Callable[[Deliver, Sequence[Entry]], None]
"""Takes a delivery and makes it, looking on."""


class FakeStore:
    """The records, when they landed, and those that are still under way."""

    def __init__(self, partitions: int, rng: Random, loop: asyncio.AbstractEventLoop) -> None:
        self.entries: list[list[Entry]] = [[] for _ in range(partitions)]
        self.landed_at: list[list[float]] = [[] for _ in range(partitions)]
        self.foreign: set[tuple[int, int]] = set()
        self.weather = CALM
        self.rng = rng
        self.loop = loop
        self.logs: list[FakeLog] = []
        self._under_way: dict[int, tuple[int, bytes, bool]] = {}
        self._sent = 0
        self._context = owned_by("store")

    def lengths(self) -> tuple[int, ...]:
        """Return the end of each partition."""
        return tuple(map(len, self.entries))

    def length_at(self, partition: int, moment: float) -> int:
        """Return how many records had landed in `partition` at `moment` (inclusive)."""
        return bisect_right(self.landed_at[partition], moment)

    def send(self, partition: int, value: bytes, seconds: float, *, is_foreign: bool = False) -> None:
        """Let `value` land after `seconds`, whatever happens to its sender; foreign ones no engine wrote."""
        self._sent += 1
        self._under_way[self._sent] = (partition, value, is_foreign)
        self.loop.call_later(seconds, self._land, self._sent, context=self._context)

    def land_all(self) -> None:
        """Let everything that is under way land now."""
        for number in list(self._under_way):
            self._land(number)

    def _land(self, number: int) -> None:
        if number not in self._under_way:
            return
        partition, value, is_foreign = self._under_way.pop(number)
        entries = self.entries[partition]
        if is_foreign:
            self.foreign.add((partition, len(entries)))
        entries.append(Entry(partition, len(entries), value))
        self.landed_at[partition].append(self.loop.time())
        for log in self.logs:
            log.wake()


class FakeLog:
    """One node's handle. `pace` multiplies the time its deliveries take; an outage fails its queries and appends.

    `hard_queries` has when each query for the ends that failed or takes long was asked, and when that will be known.
    """

    def __init__(self, store: FakeStore, owner: str, observer: Observer) -> None:
        self.pace = 1.0
        self.outage_ends = -1.0
        self.hard_queries: list[tuple[float, float]] = []
        self._store = store
        self._observer = observer
        self._context = owned_by(owner)
        self._positions: dict[int, int] = {}
        self._deliver: Deliver | None = None
        self._is_woken = False
        self._is_closed = False
        store.logs.append(self)

    @property
    def partitions(self) -> int:
        """The number of partitions of the store."""
        return len(self._store.entries)

    @property
    def is_out(self) -> bool:
        """Whether this node cannot reach the log now."""
        return self._store.loop.time() < self.outage_ends

    def append(self, partition: int, value: bytes, failed: Failed) -> None:
        """Send `value` to its fate.

        Raises:
            LogUnavailable: closed; in an outage, sometimes.
        """
        rng = self._store.rng
        if self._is_closed or (self.is_out and rng.random() < 0.5):
            raise LogUnavailable("the fake log takes nothing now")
        lands, fails_after = self._store.weather.fate(rng)
        if self.is_out:
            lands, fails_after = lands if rng.random() < 0.5 else (), 0.01
        for seconds in lands:
            self._store.send(partition, value, seconds)
        if fails_after is not None:
            is_full = not lands and rng.random() < 0.5
            self._store.loop.call_later(fails_after, self._tell, failed, is_full)

    async def place(self) -> Hashable:
        """Return which store it is."""
        return id(self._store)

    async def read(self, partition: int, offset: int, limit: int) -> list[Entry]:
        """Return records of `partition` from `offset` on."""
        return self._store.entries[partition][offset : offset + limit]

    async def start_offsets(self) -> Mapping[int, int]:
        """Return zeros: nothing is ever trimmed."""
        return dict.fromkeys(range(self.partitions), 0)

    async def known_start_offsets(self) -> Mapping[int, int]:
        """Return the same as `start_offsets`."""
        return await self.start_offsets()

    async def known_end_offsets(self) -> Mapping[int, int]:
        """Return the same as `end_offsets`."""
        return await self.end_offsets()

    async def end_offsets(self) -> Mapping[int, int]:
        """Return the ends as of some moment between the call and the answer.

        Raises:
            LogUnavailable: the weather, or an outage.
        """
        asked, rng, weather = self._store.loop.time(), self._store.rng, self._store.weather
        await asyncio.sleep(rng.uniform(0, weather.append_seconds))
        ends = dict(enumerate(self._store.lengths()))
        is_slow = rng.random() < weather.query_slow or self.is_out
        seconds = rng.uniform(0.1, 1.0) if is_slow else rng.uniform(0, weather.query_seconds)
        answered = self._store.loop.time() + seconds
        if answered - asked > _LONG_SECONDS:
            self.hard_queries.append((asked, answered))
        await asyncio.sleep(seconds)
        if self._is_closed or self.is_out or rng.random() < weather.query_fails:
            self.hard_queries.append((asked, self._store.loop.time()))
            raise LogUnavailable("the fake log does not say where it ends")
        return ends

    async def delete_before(self, partition: int, offset: int) -> None:
        """Delete nothing: these worlds are short."""

    def follow(self, positions: Mapping[int, int], deliver: Deliver, fault: Fault) -> None:
        """Deliver from `positions` on."""
        self._positions = dict(positions)
        self._deliver = deliver
        self.wake()

    async def check_settings(self) -> Sequence[SettingProblem]:
        """Return nothing: there are no settings."""
        return ()

    async def close(self) -> None:
        """Stop delivering and taking."""
        self.die()

    def die(self) -> None:
        """Stop at once, as a killed process does; what it sent stays under way."""
        self._is_closed = True
        if self in self._store.logs:
            self._store.logs.remove(self)

    def wake(self) -> None:
        """Deliver what is new, in a while."""
        if self._deliver is None or self._is_woken or self._is_closed:
            return
        self._is_woken = True
        seconds = self._store.rng.uniform(0, 2) * self._store.weather.deliver_seconds * self.pace
        self._store.loop.call_later(seconds, self._deliver_next, context=self._context)

    def _deliver_next(self) -> None:
        self._is_woken = False
        if self._is_closed or self._deliver is None:
            return
        batch: list[Entry] = []
        for partition, position in self._positions.items():
            size = min(self._store.rng.randint(1, self._store.weather.batch), CHECKPOINT - position % CHECKPOINT)
            batch += self._store.entries[partition][position : position + size]
        if not batch:
            return
        for entry in batch:
            self._positions[entry.partition] = entry.offset + 1
        self.wake()
        self._observer(self._deliver, batch)

    def _tell(self, failed: Failed, is_full: bool) -> None:
        kind = LogFull if is_full else LogUnavailable
        failed(kind("the fake log gave up on an append"))
