"""One node of the simulated cluster: a shipped engine on a fake log, which can be killed and started again."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from random import Random
from typing import Any, TypeVar

import topicfold.state.fold
from tests.simulation.fake_log import CHECKPOINT, FakeLog, FakeStore
from tests.simulation.history import Crashed, History
from tests.simulation.setup import Setup
from tests.simulation.virtual_loop import VirtualLoop, owned_by
from topicfold.errors import LevelUnsupported, TopicfoldError, Wait
from topicfold.log.port import Deliver, Entry
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.runtime.policy_service import TopicPoliciesService
from topicfold.runtime.reading import Reading
from topicfold.runtime.writing.writing import Writing

READY_SECONDS = 1.0
DIGEST_SECONDS = 1.0
SCRUB_SECONDS = 5.0
_FOLD = vars(topicfold.state.fold)
_T = TypeVar("_T")


class Digests:
    """Every digest that any node had at a position: two nodes at one position must have the same."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], bytes] = {}

    def agree(self, partition: int, position: int, digest: bytes) -> bool:
        """Note a digest; return whether all before it at this position were the same."""
        return self._seen.setdefault((partition, position), digest) == digest


class Node:
    """A place where an engine runs, or does not. `level` is the folding rule that its version knows."""

    def __init__(
        self, name: str, level: int, setup: Setup, store: FakeStore, history: History, digests: Digests
    ) -> None:
        self.name = name
        self.level = level
        self.engine: Engine | None = None
        self.service: TopicPoliciesService | None = None
        self.log: FakeLog | None = None
        self._life = 0
        self._setup = setup
        self._store = store
        self._history = history
        self._digests = digests
        self._rng = Random(store.rng.random())
        self._shares = Random(name)

    @property
    def loop(self) -> VirtualLoop:
        """The loop that everything runs on."""
        loop = self._store.loop
        assert isinstance(loop, VirtualLoop)
        return loop

    @property
    def writing(self) -> Writing:
        """The writes of the engine that runs now.

        Raises:
            Crashed: none does.
        """
        return Writing(self._running())

    @property
    def reading(self) -> Reading:
        """The reads of the engine that runs now.

        Raises:
            Crashed: none does.
        """
        return Reading(self._running())

    async def start(self) -> None:
        """Start a fresh engine that folds from 0; returns when it runs, ready or not."""
        self._life += 1
        task = self.loop.create_task(self._boot(), context=owned_by(self._owner))
        await asyncio.wait([task])

    def crash(self) -> None:
        """Kill the engine: no goodbye, queues lost; what it sent may still land."""
        self._note_agreement()
        self.loop.kill(self._owner)
        if self.log is not None:
            self.log.die()
        self.engine = self.log = self.service = None

    async def stop(self) -> None:
        """Stop the engine as an operator would; whoever waits is told so."""
        for part in (self.service, self.engine):
            if part is not None:
                task = self.loop.create_task(part.stop(), context=owned_by(self._owner))
                await asyncio.wait([task])
                task.result()
        self.engine = self.service = None

    async def run(self, work: Coroutine[Any, Any, _T], patience_seconds: float | None = None) -> _T:
        """Run one request on this node's engine; a client without patience left hangs up.

        Raises:
            Crashed: the node was killed, or the client hung up.
            TopicfoldError: what the engine answered.
        """
        task = self.loop.create_task(work, context=owned_by(self._owner))
        await asyncio.wait([task], timeout=patience_seconds)
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
        if task.cancelled():
            raise Crashed("no answer")
        return task.result()

    @property
    def _owner(self) -> str:
        return f"{self.name}#{self._life}"

    def _running(self) -> Engine:
        if self.engine is None:
            raise Crashed("connection refused")
        return self.engine

    async def _boot(self) -> None:
        options = EngineOptions(
            ready_timeout_seconds=READY_SECONDS,
            new_id=lambda: self._rng.randbytes(16),
            clock_ms=lambda: int(self.loop.time() * 1000),
            random_share=self._shares.random,
            node=self.name,
            digest_within_seconds=DIGEST_SECONDS,
            scrub_every_seconds=SCRUB_SECONDS,
            client_ring=self._setup.client_ring,
            server_ring=self._setup.server_ring,
        )
        while True:
            self.log = FakeLog(self._store, self._owner, self._observe)
            try:
                self.engine = await Engine.start(self.log, options)
                self.service = TopicPoliciesService(self.engine)
                return
            except Wait:
                self.log.die()
                await asyncio.sleep(0.2)

    def _observe(self, deliver: Deliver, batch: Sequence[Entry]) -> None:
        """Deliver as a version that knows `level`, then compare digests with those of other nodes."""
        before, _FOLD["SUPPORTED_LEVEL"] = _FOLD["SUPPORTED_LEVEL"], self.level
        try:
            deliver(batch)
        finally:
            _FOLD["SUPPORTED_LEVEL"] = before
        engine = self.engine
        if engine is None:
            return
        for partition in {entry.partition: None for entry in batch}:
            state = engine.states[partition]
            if state.position % CHECKPOINT == 0 and not self._digests.agree(partition, state.position, state.digest()):
                self._history.wrong.append(f"I1 {self.name} has another digest at {partition}/{state.position}")

    def check_end(self) -> None:
        """Note what is wrong with this node once everything has come to rest."""
        engine = self._running()
        self._note_agreement()
        for partition, state in engine.states.items():
            fault: TopicfoldError | None = engine.reader.faults.get(partition)
            if fault is not None and not isinstance(fault, LevelUnsupported):
                self._history.wrong.append(f"I9 {self.name} stopped partition {partition}: {fault!r}")
            elif fault is None and state.position != len(self._store.entries[partition]):
                self._history.wrong.append(f"{self.name} never reached the end of partition {partition}")
            if not self._digests.agree(partition, state.position, state.digest()):
                self._history.wrong.append(f"I1 {self.name} has another digest at {partition}/{state.position}")

    def _note_agreement(self) -> None:
        """Note how often this life compared digests with others; where all is well no two ever differ."""
        if self.engine is None:
            return
        for partition, report in self.engine.agreement.reports.items():
            self._history.compared += report.compared
            if report.differences:
                self._history.wrong.append(f"I1 {self.name} in {partition} differs from {dict(report.differences)}")
        if self.engine.scrubber.found:
            self._history.wrong.append(f"I1 {self.name} does not agree with itself")
