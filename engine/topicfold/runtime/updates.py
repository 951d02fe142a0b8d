"""Updates: the path of every write, from a queue per aggregate to the event that settles it.

At most one outstanding event per aggregate; it carries all queued updates in order (`group`). An event is decided
when the aggregate's (level, incarnation of the live namespace, version) moves off what the event was written
against: accepted if it is the successor, else its updates go back to the front and run again. What the log says of
an append is never taken for an outcome; it only leads to another attempt on the same base, of which at most one can
be accepted. An update is answered when an accepted event that carries its operation id is folded, whoever wrote it.

A no ("missing", "unchanged", "If-Match failed") without a client's key is answered from a state that a barrier made
fresh; with one it is logged, which kills every earlier attempt still in flight.

Source: PIP-428; group commit after the analysis in Gray and Reuter 1992, 9.4.7.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from topicfold.errors import KeyReused, LogUnavailable, NotReady, OutcomeUnknown, Overloaded, TopicfoldError, Wait
from topicfold.log.codec import encode_audit, encode_event
from topicfold.log.port import Log
from topicfold.model.events import GENESIS, REQUIRE_EMPTY, AggregateKind, AuditTrail, Event, Kind
from topicfold.model.names import split_topic
from topicfold.runtime.barrier import Barriers
from topicfold.runtime.group import Group, Target, Update, run_group
from topicfold.state.aggregate import Aggregate
from topicfold.state.change import Change, Outcome
from topicfold.state.fold import PartitionState
from topicfold.state.operations import Settled

RESEND_AFTER_SECONDS = 12.0
RETRY_AFTER_SECONDS = 0.05
YIELD_SECONDS = 0.012
WINS_BEFORE_YIELD = 4
MAX_WAITING = 10_000
BARRIER_SECONDS = 5.0


@dataclass(slots=True)
class _Base:
    """What events were written against: they are decided when the aggregate moves off it."""

    level: int
    incarnation: bytes
    version: bytes


@dataclass(slots=True, eq=False)
class _Queue:
    """The waiting updates of one aggregate, and the undecided events on its current version.

    `latest` is the event not yet given up; `event_ids` all of this base. `carried` are updates in `latest`.
    """

    target: Target
    waiting: deque[Update] = field(default_factory=deque)
    base: _Base | None = None
    event_ids: set[bytes] = field(default_factory=set)
    latest: bytes | None = None
    sent_at: float = 0.0
    carried: list[Update] = field(default_factory=list)
    wins: int = 0
    saw_rivals: bool = False
    rests_until: float = 0.0
    timer: asyncio.TimerHandle | None = None
    refreshing: asyncio.Task[None] | None = None

    def moved_from(self, incarnation: bytes) -> bool:
        """Whether undecided events of a topic were written for another life of its namespace than this."""
        return (
            self.target.kind == AggregateKind.TOPIC and self.base is not None and self.base.incarnation != incarnation
        )


class Updates:
    """All queues of one node. Told of every folded change by the reader."""

    def __init__(
        self,
        log: Log,
        states: Mapping[int, PartitionState],
        barriers: Barriers,
        new_id: Callable[[], bytes],
        clock_ms: Callable[[], int],
        refuses_writes: Callable[[int], Wait | None],
    ) -> None:
        """Take `refuses_writes`, which says why a partition takes no appends now, None where it does."""
        self._log = log
        self._states = states
        self._barriers = barriers
        self._new_id = new_id
        self._clock_ms = clock_ms
        self._refuses_writes = refuses_writes
        self._queues: dict[tuple[int, str], _Queue] = {}
        self._by_operation: dict[bytes, Update] = {}
        self._own: dict[bytes, None] = {}
        self._due: dict[_Queue, None] = {}
        self._loop = asyncio.get_running_loop()
        self._closed = False

    def __len__(self) -> int:
        """Return how many aggregates have updates waiting or events undecided."""
        return len(self._queues)

    async def submit(self, update: Update, deadline: float) -> Settled:
        """Return what became of `update`, once that is folded here. `deadline` is a time of the loop's clock.

        Raises:
            KeyReused: the operation id was used with another body.
            OutcomeUnknown: time is up and an event that carries the update is undecided.
            LogUnavailable, NotReady, Overloaded: not applied, and never will be by this call.
            TopicfoldError: whatever the updater raised.
        """
        update = self._joined(update)
        if update.settled.done():
            return update.settled.result()
        update.waiters += 1
        try:
            async with asyncio.timeout_at(deadline):
                return await asyncio.shield(update.settled)
        except TimeoutError:
            raise self._expired(update) from None
        finally:
            update.waiters -= 1

    def publish(self, partition: int, change: Change) -> None:
        """Settle what this change decides, and run the queues it sets free once the reader's batch is done."""
        event = change.event
        if event is None or change.outcome is Outcome.NO_OP:
            return
        self._own_seen(change)
        if change.outcome is Outcome.REJECTED:
            return
        for operation_id, settled in change.settled:
            update = self._by_operation.get(operation_id)
            if update is not None:
                self._settle(update, settled)
        if event.kind == Kind.LEVEL:
            self._decide_all(lambda queue: queue.target.partition == partition)
            return
        queue = self._queues.get((event.aggregate_kind, event.name))
        if queue is not None and queue.base is not None:
            self._decide(queue, event.event_id)
        elif queue is not None:
            queue.rests_until = 0.0
            self._make_due(queue)
        if event.aggregate_kind == AggregateKind.NAMESPACE:
            incarnation = self._incarnation(partition, event.name)
            self._decide_all(lambda queue: queue.target.namespace == event.name and queue.moved_from(incarnation))

    def tick(self) -> None:
        """Give up on events that have not come back in time, and forget queues nobody waits for. Call each second."""
        now = self._loop.time()
        for queue in list(self._queues.values()):
            if queue.latest is not None and now - queue.sent_at > RESEND_AFTER_SECONDS:
                self._give_up(queue, queue.latest)
            elif queue.latest is None:
                self._make_due(queue)

    def close(self) -> None:
        """Fail everybody who waits, saying unknown where an event is undecided."""
        self._closed = True
        for update in list(self._by_operation.values()):
            if not update.settled.done():
                update.settled.set_exception(self._stopping(update))
                update.settled.exception()
        for queue in self._queues.values():
            if queue.refreshing:
                queue.refreshing.cancel()
            if queue.timer:
                queue.timer.cancel()

    def _joined(self, update: Update) -> Update:
        """Return the update to wait for: this one, queued now, or the one with the same operation id."""
        if self._closed:
            raise self._stopping(update)
        state = self._states[update.target.partition]
        operation = update.operation
        known = state.operations.get(operation.id)
        twin = self._by_operation.get(operation.id)
        if known is not None or twin is not None:
            body_hash = known.body_hash if known is not None else twin.operation.body_hash  # type: ignore[union-attr]
            if body_hash != operation.body_hash:
                raise KeyReused("this Idempotency-Key was used before with another request body")
            if known is not None:
                update.settled.set_result(known)
                return update
            assert twin is not None
            return twin
        queue = self._queue(update.target)
        if len(queue.waiting) >= MAX_WAITING:
            raise Overloaded(f"{len(queue.waiting)} updates of {update.target.name} are waiting already")
        self._by_operation[operation.id] = update
        queue.waiting.append(update)
        self._run(queue)
        return update

    def _queue(self, target: Target) -> _Queue:
        key = (int(target.kind), target.name)
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = _Queue(target)
        return queue

    def _run(self, queue: _Queue) -> None:
        """Append the next event of `queue`, if nothing is outstanding and somebody waits."""
        self._drop_left(queue)
        if queue.latest is not None or self._closed:
            return
        if not queue.waiting:
            self._forget(queue)
            return
        target = queue.target
        refusal = self._refuses_writes(target.partition)
        now = self._loop.time()
        if refusal is not None:
            self._refuse_all(queue, refusal)
            return
        if now < queue.rests_until:
            self._later(queue, queue.rests_until - now)
            return
        state = self._states[target.partition]
        current = state.current(target.kind, target.name)
        incarnation = self._incarnation(target.partition, target.namespace)
        self._return_strangers(queue, incarnation)
        if target.kind == AggregateKind.TOPIC and incarnation == GENESIS:
            self._refuse_in_namespace(queue)
            return
        if not queue.waiting:
            self._forget(queue)
            return
        event_id = self._new_id()
        group = run_group(target, queue.waiting, current, event_id)
        if group.must_be_logged:
            self._append(queue, group, event_id, current, _Base(state.level, incarnation, current.version))
        elif group.updates:
            self._answer_fresh(queue, group)
        else:
            self._run(queue)

    def _append(self, queue: _Queue, group: Group, event_id: bytes, current: Aggregate, base: _Base) -> None:
        target = queue.target
        is_put = group.is_live
        requires_empty = not is_put and group.updates[-1].require_empty and group.changes
        value = encode_event(
            Event(
                base.level,
                Kind.PUT if is_put else Kind.DELETE,
                REQUIRE_EMPTY if requires_empty else 0,
                event_id,
                target.kind,
                target.name,
                0,
                base.version,
                base.incarnation if target.kind == AggregateKind.TOPIC else GENESIS,
                tuple(
                    update.operation._replace(verdict=verdict)
                    for update, verdict in zip(group.updates, group.verdicts, strict=True)
                ),
                group.schema if is_put else 0,
                group.payload if is_put else b"",
                encode_audit(
                    AuditTrail(tuple(update.audit for update in group.updates), self._clock_ms(), current.offset)
                ),
            )
        )
        try:
            self._log.append(target.partition, value, lambda error: self._append_failed(queue, event_id, error))
        except Wait:
            self._later(queue, RETRY_AFTER_SECONDS)
            return
        except TopicfoldError as error:
            for update in group.updates:
                self._fail(update, error)
            self._make_due(queue)
            return
        self._remember_own(event_id)
        if queue.base is None:
            queue.base = base
        queue.event_ids.add(event_id)
        queue.latest = event_id
        queue.sent_at = self._loop.time()
        queue.carried = group.updates
        taken = set(map(id, group.updates))
        for update in group.updates:
            update.in_attempt = True
        queue.waiting = deque(update for update in queue.waiting if id(update) not in taken)

    def _append_failed(self, queue: _Queue, event_id: bytes, error: TopicfoldError) -> None:
        """Hear that the log gave up, which says nothing about the outcome."""
        if queue.latest == event_id:
            self._give_up(queue, event_id)

    def _give_up(self, queue: _Queue, event_id: bytes) -> None:
        """Stop waiting for one event, undecided as it is; its updates go into the next on the same base."""
        queue.latest = None
        self._requeue(queue)
        self._later(queue, RETRY_AFTER_SECONDS)

    def _decide(self, queue: _Queue, successor: bytes | None) -> None:
        """Take note that the base is superseded by `successor` (None: the namespace ended, or the level rose)."""
        won = successor is not None and successor in queue.event_ids
        if won and queue.saw_rivals:
            queue.wins += 1
            if queue.wins >= WINS_BEFORE_YIELD:
                queue.wins, queue.saw_rivals = 0, False
                queue.rests_until = self._loop.time() + YIELD_SECONDS
        elif not won:
            queue.wins, queue.rests_until = 0, 0.0
        queue.base = None
        queue.latest = None
        queue.event_ids.clear()
        self._requeue(queue)
        for update in queue.waiting:
            update.in_attempt = False
        self._make_due(queue)

    def _decide_all(self, concerns: Callable[[_Queue], bool]) -> None:
        for queue in self._queues.values():
            if queue.base is not None and concerns(queue):
                self._decide(queue, None)

    def _requeue(self, queue: _Queue) -> None:
        """Put the updates of the last event that are not settled back at the front, in their order."""
        queue.waiting.extendleft(update for update in reversed(queue.carried) if not update.settled.done())
        queue.carried = []

    def _answer_fresh(self, queue: _Queue, group: Group) -> None:
        """Answer those noes that a barrier has made fresh; have one made for the others."""
        for update, verdict, etag in zip(group.updates, group.verdicts, group.etags, strict=True):
            if update.is_fresh:
                self._settle(update, Settled(verdict, etag, update.operation.body_hash))
        self._drop_left(queue)
        if queue.waiting and queue.refreshing is None:
            queue.refreshing = self._loop.create_task(self._refresh(queue, list(queue.waiting)))
        elif not queue.waiting:
            self._forget(queue)

    async def _refresh(self, queue: _Queue, updates: list[Update]) -> None:
        """Make `updates` fresh by a barrier; without one their answer is that the log is unavailable."""
        try:
            await self._barriers.wait([queue.target.partition], self._loop.time() + BARRIER_SECONDS)
        except Wait as error:
            for update in updates:
                if not update.settled.done() and not update.in_attempt:
                    self._fail(update, LogUnavailable(f"cannot tell for sure: {error.reason}"))
        for update in updates:
            update.is_fresh = True
        queue.refreshing = None
        self._run(queue)

    def _refuse_in_namespace(self, queue: _Queue) -> None:
        """Hand a topic's updates to the queue of its namespace, which is not live: their refusal is logged there."""
        target = queue.target
        owner = self._queue(Target(AggregateKind.NAMESPACE, target.namespace, target.namespace, target.partition))
        owner.waiting.extend(queue.waiting)
        queue.waiting.clear()
        self._forget(queue)
        self._make_due(owner)

    def _return_strangers(self, queue: _Queue, incarnation: bytes) -> None:
        """Give updates of topics that wait here back to their topics, the namespace being live."""
        if queue.target.kind != AggregateKind.NAMESPACE or incarnation == GENESIS:
            return
        strangers = [update for update in queue.waiting if update.target.kind == AggregateKind.TOPIC]
        if strangers:
            queue.waiting = deque(update for update in queue.waiting if update.target.kind != AggregateKind.TOPIC)
            for update in strangers:
                home = self._queue(update.target)
                home.waiting.append(update)
                self._make_due(home)

    def _make_due(self, queue: _Queue) -> None:
        """Run `queue` when the current callback is over, together with all others that are due."""
        if not self._due:
            self._loop.call_soon(self._run_due)
        self._due[queue] = None

    def _run_due(self) -> None:
        due, self._due = self._due, {}
        for queue in due:
            self._run(queue)

    def _later(self, queue: _Queue, seconds: float) -> None:
        if queue.timer is not None:
            queue.timer.cancel()
        queue.timer = self._loop.call_later(seconds, self._run, queue)

    def _settle(self, update: Update, settled: Settled) -> None:
        if not update.settled.done():
            update.settled.set_result(settled)
        self._by_operation.pop(update.operation.id, None)

    def _fail(self, update: Update, error: TopicfoldError) -> None:
        if not update.settled.done():
            update.settled.set_exception(error)
            update.settled.exception()
        self._by_operation.pop(update.operation.id, None)

    def _refuse_all(self, queue: _Queue, refusal: Wait) -> None:
        """Fail what is in no undecided event; the rest waits for better times or its deadline."""
        for update in queue.waiting:
            if not update.in_attempt:
                self._fail(update, refusal)
        self._drop_left(queue)
        if not queue.waiting:
            self._forget(queue)

    def _drop_left(self, queue: _Queue) -> None:
        """Drop updates that are settled or that nobody waits for any more."""
        kept = deque[Update]()
        for update in queue.waiting:
            if update.settled.done() or update.waiters == 0 and update.operation.id not in self._by_operation:
                self._by_operation.pop(update.operation.id, None)
            else:
                kept.append(update)
        queue.waiting = kept

    def _forget(self, queue: _Queue) -> None:
        """Drop an idle queue. An undecided event of it may still land: at most one on its base does."""
        if queue.refreshing is None and queue.latest is None:
            self._queues.pop((int(queue.target.kind), queue.target.name), None)
            if queue.timer is not None:
                queue.timer.cancel()

    def _expired(self, update: Update) -> TopicfoldError:
        """Return what to tell a waiter whose time is up; with the last of them the update leaves its queue."""
        if update.waiters == 1:
            self._by_operation.pop(update.operation.id, None)
        operation = operation_text(update.target.partition, update.operation.id)
        if update.in_attempt:
            return OutcomeUnknown(
                "the change was sent to the log and its outcome is not known yet", operation=operation
            )
        return LogUnavailable("the change was still queued when its time was up; it is not applied")

    def _stopping(self, update: Update) -> TopicfoldError:
        if update.in_attempt:
            operation = operation_text(update.target.partition, update.operation.id)
            return OutcomeUnknown("this node stopped before the outcome was known", operation=operation)
        return NotReady("this node is stopping", hint="Send the request to another node.")

    def _incarnation(self, partition: int, namespace: str) -> bytes:
        """Return the incarnation of the live namespace, GENESIS for none."""
        owner = self._states[partition].namespaces.get(namespace)
        return owner.incarnation if owner is not None and owner.is_live else GENESIS

    def _remember_own(self, event_id: bytes) -> None:
        self._own[event_id] = None
        if len(self._own) > MAX_WAITING:
            del self._own[next(iter(self._own))]

    def _own_seen(self, change: Change) -> None:
        """Note a rival's rejected event on an aggregate we write to; only they tell that somebody starves."""
        event = change.event
        assert event is not None
        if event.event_id in self._own:
            del self._own[event.event_id]
        elif change.outcome is Outcome.REJECTED:
            queue = self._queues.get((event.aggregate_kind, event.name))
            if queue is not None:
                queue.saw_rivals = True


def operation_text(partition: int, operation_id: bytes) -> str:
    """Return the public form of an operation id; it names its partition."""
    return f"{partition}-{operation_id.hex()}"


def target_of_topic(name: str, partition: int) -> Target:
    """Return the target of updates of the topic with that full name."""
    place = split_topic(name)
    assert place is not None
    return Target(AggregateKind.TOPIC, name, place[0], partition)
