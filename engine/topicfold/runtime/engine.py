"""The engine: one node's reader, tracker, updates and barriers over one log, started and stopped together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import structlog

from topicfold.clock import random_id, random_share, wall_clock_ms
from topicfold.errors import LogUnavailable, NotReady, OperatorNeeded, OutcomeUnknown, UnsafeLog, Wait
from topicfold.log.identity import establish_identity, is_empty
from topicfold.log.payload import decode_indexed
from topicfold.log.port import Log, LogIdentity
from topicfold.model.events import CLIENT_RING, SERVER_RING, AggregateKind, Audit, Operation, partition_of
from topicfold.model.finding.pattern import SEPARATOR
from topicfold.model.labels import LabelRules
from topicfold.model.made import made
from topicfold.model.names import DEFAULT_NAMESPACE, DEFAULT_TENANT, TopicName
from topicfold.model.policy.limits import Limits
from topicfold.model.records import NamespaceRecord, Record, TenantRecord
from topicfold.model.updates import ensure
from topicfold.runtime.agreement import Agreement
from topicfold.runtime.asking import ACTOR
from topicfold.runtime.barrier import Barriers
from topicfold.runtime.examiner import Examiner
from topicfold.runtime.freshness import Freshness, why_unsafe
from topicfold.runtime.left_behind import LeftBehind
from topicfold.runtime.past.states import Past
from topicfold.runtime.reader import Reader
from topicfold.runtime.readiness import Readiness
from topicfold.runtime.revision import Revision
from topicfold.runtime.scrubber import Scrubber
from topicfold.runtime.snapshot_age import SnapshotAge
from topicfold.runtime.snapshots import Snapshots, Tell, require_none
from topicfold.runtime.tables import Tables
from topicfold.runtime.task_end import end_tasks
from topicfold.runtime.tracker import Tracker
from topicfold.runtime.watching.watches import Watches
from topicfold.runtime.watching.window import SIZE as WINDOW_SIZE
from topicfold.runtime.watching.window_refill import WindowRefill
from topicfold.runtime.writing.update import Target, Update
from topicfold.runtime.writing.updates import Updates
from topicfold.state.fold import NewState, PartitionState
from topicfold.state.operations import Operations

_log = structlog.get_logger(__name__)

TICK_SECONDS = 1.0
SET_BACK_SECONDS = 5.0
"""Less than that a clock that is put right bit by bit may go back between two looks; Kafka's client then waits on."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The settings of an engine. Ids, clocks and random numbers come from here, so that a test can repeat a run.

    `past_max_events` may be folded for one question about the past. `node` is what it is called in digest records.
    `snapshot` is the directory of the snapshot to start from, and `tell` takes how far that is.
    """

    label_rules: LabelRules = field(default_factory=LabelRules)
    limits: Limits = field(default_factory=Limits)
    wildcard_separator: str = SEPARATOR
    ready_timeout_seconds: float = 5.0
    request_timeout_seconds: float = 15.0
    stale_after_seconds: float = 10.0
    new_id: Callable[[], bytes] = random_id
    clock_ms: Callable[[], int] = wall_clock_ms
    random_share: Callable[[], float] = random_share
    client_ring: int = CLIENT_RING
    server_ring: int = SERVER_RING
    window_size: int = WINDOW_SIZE
    past_max_events: int = 1_000_000
    node: str = ""
    digest_within_seconds: float = 5.0
    scrub_every_seconds: float = 600.0
    snapshot: Path | None = None
    tell: Tell = lambda done, total: None


class Engine:
    """One node. Make it with `Engine.start`; `stop` it once.

    All parts are public to the service and the tests; only the reader changes `states`.
    """

    def __init__(
        self,
        log: Log,
        identity: LogIdentity,
        options: EngineOptions,
        snapshots: Snapshots,
        states: dict[int, PartitionState],
        ends: Mapping[int, int],
    ) -> None:
        """Create a node that folds a log with these known ends, from `states` on."""
        self.log = log
        self.identity = identity
        self.options = options
        self.states = states
        self.new_state = state_maker(identity, options)
        self.snapshots = snapshots
        self.tables = Tables(states, identity.partitions)
        self.tracker = Tracker()
        self.reader = Reader(self.states, self.tracker, self._withhold)
        self.left_behind = LeftBehind(log, self.states, self.reader, can_start_anew=options.snapshot is not None)
        self.freshness = Freshness(log, self.states, self.reader.faults)
        self.readiness = Readiness(self.states, self.reader.faults)
        self.snapshot_age = SnapshotAge(options.snapshot, states, self.readiness.is_ready, options.clock_ms)
        self.barriers = Barriers(log, self.states, self.tracker, options.new_id, self.freshness.on_ends)
        self.updates = Updates(log, self.states, self.barriers, options.new_id, options.clock_ms, self.freshness)
        self.reader.listen(self.updates.publish)
        self.reader.listen(self.tables.publish)
        self.watches = Watches(states, self.tables, identity, ends, options.wildcard_separator, options.window_size)
        self.reader.listen(self.watches.publish)
        self.window_refill = WindowRefill(log, states, self.watches.window, self.new_state, self.snapshots.base)
        self.past = Past(
            log,
            identity,
            self.snapshots,
            self.new_state,
            separator=options.wildcard_separator,
            max_events=options.past_max_events,
        )
        self.examiner = Examiner(log, self.reader, self.new_state, self.snapshots.verified, self._withhold)
        self.agreement = Agreement(
            log,
            self.states,
            self.readiness,
            self.examiner,
            self.freshness.refuses_writes,
            node=options.node,
            within_seconds=options.digest_within_seconds,
            new_id=options.new_id,
            random_share=options.random_share,
            clock_ms=options.clock_ms,
        )
        self.scrubber = Scrubber(
            self.states,
            self.readiness,
            self.examiner,
            every_seconds=options.scrub_every_seconds,
            clock_ms=options.clock_ms,
        )
        self.clock_set_back_seconds = 0.0
        """By how much the system's clock was set back, 0 once as much time has passed since."""
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def start(cls, log: Log, options: EngineOptions | None = None) -> Engine:
        """Recognise `log`, or make it Topicfold's, load the snapshot, begin to fold the rest; do not wait for that.

        Raises:
            WrongLog: it is some other log.
            UnsafeLog: its settings would lose events; the hint is the commands that repair them.
            SnapshotDamaged, WrongSnapshot, LevelUnsupported, LogGap: the snapshot to start from cannot be gone on from.
            LogUnavailable: it does not answer.
        """
        options = options or EngineOptions()
        is_new = await is_empty(log)
        if is_new and options.snapshot is not None:
            await require_none(options.snapshot)
        identity = None if is_new else await establish_identity(log, options.new_id())
        if unsafe := why_unsafe(await log.check_settings()):
            raise UnsafeLog(unsafe.reason, hint=unsafe.repair)
        if identity is None:
            identity = await establish_identity(log, options.new_id())
        snapshots = Snapshots(options.snapshot, identity, state_maker(identity, options))
        states = await snapshots.states(log, options.tell)
        engine = cls(log, identity, options, snapshots, states, await log.known_end_offsets())
        starts = {partition: state.position for partition, state in states.items()}
        engine.agreement.begin(starts)
        log.follow(starts, engine.reader.deliver, engine.left_behind.on_fault)
        running = (
            engine._become_ready(),
            engine._tick(),
            engine._look_at_settings(),
            engine.watches.beat(),
            engine.agreement.run(),
            engine.scrubber.run(),
        )
        engine._tasks = [asyncio.create_task(each) for each in running]
        for task in engine._tasks:
            task.add_done_callback(engine._on_end)
        engine.snapshot_age.start()
        return engine

    def give_up_stopped(self) -> None:
        """Tell those who wait in stopped partitions that these have stopped, or that the outcome is unknown."""
        for partition in self.reader.faults:
            self._give_up(partition)

    async def stop(self) -> None:
        """Stop folding and appending. Those who wait are told that, or that the outcome is unknown."""
        self.snapshot_age.stop()
        await self.watches.close()
        self.updates.close()
        self.tracker.close()
        await end_tasks(self._tasks)
        await self.examiner.close()
        await self.past.close()
        await self.window_refill.close()
        await self.left_behind.close()
        await self.log.close()

    def deadline(self) -> float:
        """Return the deadline of a request that begins now, by the loop's clock."""
        return asyncio.get_running_loop().time() + self.options.request_timeout_seconds

    def partition(self, name: str) -> int:
        """Return the partition of the namespace (`tenant/namespace`) or tenant called `name`."""
        return partition_of(name, self.identity.partitions)

    async def reach(self, minimum: Revision | None, deadline: float) -> None:
        """Return once every position of `minimum` is folded.

        Raises:
            PositionTimeout: one is not by `deadline`.
        """
        if minimum is not None:
            for partition, position in minimum.positions.items():
                await self.tracker.wait_for(partition, position, self.states[partition].position, deadline)

    def revision(self, partitions: Collection[int]) -> Revision:
        """Return the position up to which `partitions` are folded now."""
        positions = {each: self.states[each].position for each in partitions}
        return made(Revision, (self.identity.incarnation, positions))

    def target_of(self, place: str | TopicName) -> Target:
        """Return the target of updates of a topic, or of the namespace or the tenant that a text names."""
        if isinstance(place, TopicName):
            return self.target(AggregateKind.TOPIC, str(place), place.namespace)
        return self.target(AggregateKind.NAMESPACE if "/" in place else AggregateKind.TENANT, place)

    def target(self, kind: AggregateKind, name: str, namespace: str = "") -> Target:
        """Return the target of updates of a tenant, a namespace, or a topic of `namespace`."""
        owner = namespace if kind == AggregateKind.TOPIC else name
        return Target(kind, name, owner if kind != AggregateKind.TENANT else "", self.partition(owner))

    async def _become_ready(self) -> None:
        """Open each partition once it is folded up to the end that it had when it was asked for after the start."""
        unknown = set(self.states)
        opening: list[asyncio.Task[None]] = []
        try:
            while unknown:
                try:
                    ends = await self.barriers.ends()
                except Wait as error:
                    self.freshness.on_unavailable(error)
                else:
                    found = {partition: ends[partition] for partition in unknown & ends.keys()}
                    self.readiness.expect(found)
                    opening += [asyncio.create_task(self._open(*each)) for each in found.items()]
                    unknown -= found.keys()
                if unknown:
                    await asyncio.sleep(TICK_SECONDS)
            await asyncio.gather(*opening)
        finally:
            for task in opening:
                task.cancel()
        _log.info("ready", positions={partition: state.position for partition, state in self.states.items()})

    async def _open(self, partition: int, end: int) -> None:
        try:
            await self.tracker.wait_for(partition, end, self.states[partition].position, None)
        except NotReady:
            # It has stopped, and whoever waits for it was told so. The others go on.
            return
        if not await self._is_joined(partition):
            return
        first: tuple[tuple[AggregateKind, str, Record], ...] = (
            (AggregateKind.TENANT, DEFAULT_TENANT, TenantRecord()),
            (AggregateKind.NAMESPACE, DEFAULT_NAMESPACE, NamespaceRecord()),
        )
        for kind, name, record in first:
            while self.partition(name) == partition and self.states[partition].current(kind, name).offset < 0:
                await self._make(kind, name, record)
        self.states[partition].keeps_marks = True
        self.readiness.open(partition)

    async def _is_joined(self, partition: int) -> bool:
        """Return whether the log continues the snapshot of a partition; stop the partition if not."""
        while True:
            try:
                await self.snapshots.confirm(self.log, partition)
            except Wait as error:
                _log.warning("snapshot_not_compared_yet", partition=partition, reason=error.reason)
                await asyncio.sleep(TICK_SECONDS)
            except OperatorNeeded as error:
                self.reader.stop(error, partition)
                return False
            else:
                return True

    async def _make(self, kind: AggregateKind, name: str, record: Record) -> None:
        """Create what exists from the first start on; another node may be doing the same."""
        update = Update(
            self.target(kind, name),
            Operation(self.options.new_id(), 0, False, bytes(8)),
            ensure(record),
            Audit(ACTOR, "first start", ""),
            asyncio.get_running_loop().create_future(),
        )
        try:
            await self.updates.submit(update, self.deadline())
        except (Wait, OutcomeUnknown) as error:
            _log.warning("not_made_yet", name=name, reason=error.reason)
            await asyncio.sleep(TICK_SECONDS)

    def _withhold(self, partition: int) -> None:
        """Answer nothing more from a stopped partition, and end all waits and streams that depend on it."""
        self.readiness.close(partition)
        error = NotReady(self.readiness.reason(partition), hint="Ask another node.", partition=partition)
        self.watches.fail(partition, error)
        # Not before the reader has told of what it has folded: who waits for that is to hear so.
        asyncio.get_running_loop().call_soon(self._give_up, partition)

    def _give_up(self, partition: int) -> None:
        self.updates.give_up(partition)
        self.tracker.give_up(partition)

    def _on_end(self, task: asyncio.Task[None]) -> None:
        """Stop everything if a task that must never end was ended by a defect."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _log.error("task_failed", exc_info=error)
            self.reader.stop(OperatorNeeded(f"a part of this node failed: {error!r}", hint="Restart it."), None)

    async def _tick(self) -> None:
        """Each second: confirm the age of the state, look after the queues, and look at the clock."""
        ahead_seconds = self._clock_ahead_seconds()
        while True:
            try:
                await self.barriers.ends()
            except LogUnavailable as error:
                self.freshness.on_unavailable(error)
            self.updates.tick()
            before, ahead_seconds = ahead_seconds, self._clock_ahead_seconds()
            if before - ahead_seconds > SET_BACK_SECONDS:
                self._note_clock(before - ahead_seconds)
            await asyncio.sleep(TICK_SECONDS)

    def _note_clock(self, seconds: float) -> None:
        """Remember that the clock was set back, for as long as this may prolong waits that are measured by it."""
        _log.warning("clock_set_back", seconds=round(seconds, 3))
        self.clock_set_back_seconds += seconds
        asyncio.get_running_loop().call_later(
            self.clock_set_back_seconds, self._forget_clock, self.clock_set_back_seconds
        )

    def _forget_clock(self, seconds: float) -> None:
        if self.clock_set_back_seconds == seconds:
            self.clock_set_back_seconds = 0.0

    def _clock_ahead_seconds(self) -> float:
        """Return how far the system's clock is ahead of the loop's, which cannot be set."""
        return self.options.clock_ms() / 1000 - asyncio.get_running_loop().time()

    async def _look_at_settings(self) -> None:
        """Each second: check the log's settings, if it answers. That may take long: nothing else waits for it."""
        while True:
            if self.freshness.is_reachable:
                await self.freshness.check_settings()
            await asyncio.sleep(TICK_SECONDS)


def state_maker(identity: LogIdentity, options: EngineOptions) -> NewState:
    """Return a function that makes the state of a partition before its first record."""
    return partial(_new_state, identity, options)


def _new_state(identity: LogIdentity, options: EngineOptions, partition: int) -> PartitionState:
    return PartitionState(
        partition,
        identity.partitions,
        decode=decode_indexed,
        operations=Operations(options.client_ring, options.server_ring),
        separator=options.wildcard_separator,
    )
