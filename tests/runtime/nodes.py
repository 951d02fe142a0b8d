"""Nodes for tests: engines over a log in memory, whose handle loses, holds and doubles records when told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.memory_log import MemoryLog, MemoryStore
from topicfold.errors import LogUnavailable
from topicfold.log.codec import decode_event
from topicfold.log.port import Failed, LogDenied, LogFull, SettingProblem
from topicfold.model.events import Event
from topicfold.model.names import parse_topic
from topicfold.runtime.asking import Asked
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.runtime.reading import Reading
from topicfold.runtime.writing.writing import Writing
from topicfold.state.invariants import check

ORDERS = parse_topic("orders")
Fate = Callable[[int, bytes, Failed], None]


class WilfulLog(MemoryLog):
    """A handle whose `fate` decides what becomes of each append; delivery and queries can be held back."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.store = store
        self.fate: Fate = self.take
        self.tries = 0
        self.queries = 0
        self.held: list[tuple[int, bytes]] = []
        self.problems: tuple[SettingProblem, ...] = ()
        self.answers = asyncio.Event()
        self.answers.set()
        self.is_cut = False
        self.silent: set[int] = set()
        self.is_paused = False

    def append(self, partition: int, value: bytes, failed: Failed) -> None:
        self.tries += 1
        self.fate(partition, value, failed)

    def take(self, partition: int, value: bytes, failed: Failed) -> None:
        """Append at once."""
        super().append(partition, value, failed)

    def lose(self, partition: int, value: bytes, failed: Failed) -> None:
        """Append nothing and say nothing."""

    def lose_and_say_so(self, partition: int, value: bytes, failed: Failed) -> None:
        """Append nothing and report a failure."""
        asyncio.get_running_loop().call_soon(failed, LogUnavailable("lost"))

    def deny(self, partition: int, value: bytes, failed: Failed) -> None:
        """Append nothing, for want of a right."""
        asyncio.get_running_loop().call_soon(failed, LogDenied("not you", hint="let it"))

    def be_full(self, partition: int, value: bytes, failed: Failed) -> None:
        """Append nothing, for want of room."""
        asyncio.get_running_loop().call_soon(failed, LogFull("no room", hint="Make some."))

    def take_and_deny_it(self, partition: int, value: bytes, failed: Failed) -> None:
        """Append, and report a failure all the same."""
        self.take(partition, value, failed)
        asyncio.get_running_loop().call_soon(failed, LogUnavailable("denied"))

    def hold(self, partition: int, value: bytes, failed: Failed) -> None:
        """Keep the append until `release`."""
        self.held.append((partition, value))

    def release(self) -> None:
        """Append what is held, and all that comes."""
        self.fate = self.take
        for partition, value in self.held:
            self.store.append(partition, value)
        self.held.clear()

    async def end_offsets(self) -> Mapping[int, int]:
        return self._whole(await self._ends())

    async def known_end_offsets(self) -> Mapping[int, int]:
        return self._known(await self._ends())

    async def start_offsets(self) -> Mapping[int, int]:
        return self._whole(await super().start_offsets())

    async def known_start_offsets(self) -> Mapping[int, int]:
        return self._known(await super().start_offsets())

    async def _ends(self) -> Mapping[int, int]:
        self.queries += 1
        await self.answers.wait()
        if self.is_cut:
            raise LogUnavailable("cut off")
        return await super().end_offsets()

    def _whole(self, offsets: Mapping[int, int]) -> Mapping[int, int]:
        if self.silent:
            raise LogUnavailable(f"partition {min(self.silent)} is silent")
        return offsets

    def _known(self, offsets: Mapping[int, int]) -> Mapping[int, int]:
        return {partition: offset for partition, offset in offsets.items() if partition not in self.silent}

    async def check_settings(self) -> tuple[SettingProblem, ...]:
        return self.problems

    def pause(self) -> None:
        """Deliver nothing for now."""
        self.is_paused = True

    def resume(self) -> None:
        """Deliver again."""
        self.is_paused = False
        self.wake()

    def _deliver_next(self) -> None:
        if self.is_paused:
            self._is_woken = False
        else:
            super()._deliver_next()


@dataclass
class Node:
    """One node and the ways into it."""

    engine: Engine
    log: WilfulLog
    writing: Writing
    reading: Reading

    def asked(self, seconds: float = 5.0, **fields: Any) -> Asked:
        """Return the circumstances of a request that has so many seconds."""
        return Asked(asyncio.get_running_loop().time() + seconds, **fields)

    async def label(self, _seconds: float = 5.0, **labels: str) -> None:
        """Set labels of the topic `orders`."""
        await self.writing.set_labels(ORDERS, labels, self.asked(_seconds))

    def labels(self) -> Mapping[str, str]:
        """Return the labels of the topic `orders`."""
        return self.reading.labels(ORDERS)[0]

    def digests(self) -> list[str]:
        """Return the digest of each partition."""
        return [state.digest().hex() for state in self.engine.states.values()]

    async def caught_up(self) -> None:
        """Return once everything in the log is folded here."""
        await self.engine.barriers.wait(self.engine.states, self.asked().deadline)

    @contextmanager
    def events(self) -> Iterator[list[Event]]:
        """Collect the events that come to the log meanwhile."""
        found: list[Event] = []
        before = [len(entries) for entries in self.log.store.entries]
        yield found
        for start, entries in zip(before, self.log.store.entries, strict=True):
            found += [event for entry in entries[start:] if (event := decode_event(entry.value)) is not None]


@asynccontextmanager
async def running(store: MemoryStore, first_id: int = 0, **options: Any) -> AsyncIterator[Node]:
    """Run a ready node over `store`; its state must agree with itself at the end. Ids count up from `first_id`.

    But for `options` it logs nothing by itself, however slow the test is.
    """
    ids = count(first_id or 10_000 * (1 + sum(map(len, store.entries))))
    log = WilfulLog(store)
    told = {"new_id": lambda: next(ids).to_bytes(16, "big"), "digest_within_seconds": 0.0, **options}
    engine = await Engine.start(log, EngineOptions(**told))
    try:
        await engine.readiness.wait(engine.states, 60.0)
        yield Node(engine, log, Writing(engine), Reading(engine))
        assert [check(state) for state in engine.states.values()] == [[]] * len(engine.states)
    finally:
        await engine.stop()


@asynccontextmanager
async def held_up(store: MemoryStore) -> AsyncIterator[Node]:
    """Run a node that knows where `store`, which is not empty, ends, and folds nothing until its log is resumed."""
    log = WilfulLog(store)
    log.pause()
    engine = await Engine.start(log, EngineOptions(ready_timeout_seconds=0.02))
    try:
        await turns()
        yield Node(engine, log, Writing(engine), Reading(engine))
    finally:
        await engine.stop()


async def turns(number: int = 10) -> None:
    """Let the loop turn so many times: enough for everything that waits for no clock."""
    for _ in range(number):
        await asyncio.sleep(0)
