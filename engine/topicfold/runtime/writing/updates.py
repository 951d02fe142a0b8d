"""Updates: the path of every write, from a queue per aggregate to the event that settles it.

Each aggregate has at most one outstanding event, which carries all queued updates in order (`group_commit`). An event
is decided when the aggregate's (level, incarnation of the live namespace, version) is no longer what the event was
written against: it was accepted if it is the successor; otherwise its updates go back to the front and run again. What
the log reports about an append is never taken for an outcome; it only leads to another attempt on the same base, of
which at most one can be accepted. An update is answered when an accepted event that carries its operation id is folded,
whoever wrote it.

A refusal ("missing", "unchanged", "If-Match failed") without a client's key is answered from a state that a barrier
made fresh. With a key it is logged, which makes every earlier attempt that is still in flight ineffective.

Source: PIP-428; group commit after the analysis in Gray and Reuter 1992, 9.4.7.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping

from topicfold.errors import LogUnavailable, Overloaded, TopicfoldError, Wait
from topicfold.log.codec import encode_event
from topicfold.log.payload import decode_indexed
from topicfold.log.port import Log, LogDenied, LogFull
from topicfold.model.events import GENESIS, AggregateKind, Event, Kind
from topicfold.runtime.barrier import Barriers
from topicfold.runtime.freshness import Freshness
from topicfold.runtime.writing.group_commit import GroupCommit, event_of, run_group
from topicfold.runtime.writing.own_events import OwnEvents
from topicfold.runtime.writing.pending import PendingUpdates, check_body, denied, expired, stopping, unknown
from topicfold.runtime.writing.update import Base, Target, Update
from topicfold.runtime.writing.update_queue import UpdateQueue
from topicfold.state.aggregate import Aggregate
from topicfold.state.change import Change, Outcome
from topicfold.state.fold import PartitionState
from topicfold.state.operations import Settled

RESEND_AFTER_SECONDS = 12.0
RETRY_AFTER_SECONDS = 0.05
BARRIER_SECONDS = 5.0
MAX_WAITING = 10_000


class Updates:
    """All queues of one node. The reader tells it of every folded change."""

    def __init__(
        self,
        log: Log,
        states: Mapping[int, PartitionState],
        barriers: Barriers,
        new_id: Callable[[], bytes],
        clock_ms: Callable[[], int],
        freshness: Freshness,
    ) -> None:
        """Take `freshness`, which says why a partition accepts no appends now, and learns what becomes of appends."""
        self._log = log
        self._states = states
        self._barriers = barriers
        self._new_id = new_id
        self._clock_ms = clock_ms
        self._freshness = freshness
        self._queues: dict[tuple[int, str], UpdateQueue] = {}
        self.pending = PendingUpdates()
        self._own = OwnEvents()
        self._due: dict[UpdateQueue, None] = {}
        self._loop = asyncio.get_running_loop()
        self._given_up: set[int] = set()
        self._closed = False

    def __len__(self) -> int:
        """Return how many aggregates have updates waiting or events undecided."""
        return len(self._queues)

    async def submit(self, update: Update, deadline: float) -> Settled:
        """Return the outcome of `update` once it is folded here. `deadline` is a time of the loop's clock.

        With the last who waits for it, be their time up or be they cancelled, an update leaves its queue: it is in no
        further event, though one that carries it may still land.

        Where it shares another's operation id, that one's `refusal` and `failure` become its own.

        Raises:
            KeyReused: the operation id was used with another body.
            OutcomeUnknown: time is up and an event that carries the update is undecided.
            LogUnavailable, NotReady, Overloaded: not applied, and never will be by this call.
            Wait: the updater raised it. Any other error of ours that it raised is a refusal, and in `update.failure`.
        """
        mine, update = update, self._joined(update)
        if not update.settled.done():
            await self.pending.wait(update, deadline)
        if not update.settled.done():
            raise expired(update)
        mine.refusal, mine.failure = update.refusal, update.failure
        return update.settled.result()

    def publish(self, partition: int, change: Change) -> None:
        """Settle what this change decides, and run the queues that it frees once the reader's batch is done."""
        event = change.event
        if event is None or change.outcome is Outcome.NO_OP:
            return
        self._own_seen(partition, event, change.outcome)
        if change.outcome is Outcome.REJECTED:
            return
        for operation_id, settled in change.settled:
            self.pending.answer(operation_id, settled)
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
                self._resend(queue, queue.latest)
            elif queue.latest is None:
                self._make_due(queue)
            else:
                self._drop_left(queue)

    def give_up(self, partition: int) -> None:
        """Fail everybody who waits in a partition that is folded no further here, now and later, as `close` does."""
        self._given_up.add(partition)
        for update in self.pending.all():
            if update.target.partition == partition:
                self.pending.fail(update, stopping(update))

    def close(self) -> None:
        """Fail everybody who waits, saying unknown where an event is undecided."""
        self._closed = True
        for update in self.pending.all():
            self.pending.fail(update, stopping(update))
        for queue in self._queues.values():
            if queue.refreshing:
                queue.refreshing.cancel()
            if queue.timer:
                queue.timer.cancel()

    def _joined(self, update: Update) -> Update:
        """Return the update to wait for: this one, queued now, or the one with the same operation id."""
        if self._closed or update.target.partition in self._given_up:
            raise stopping(update)
        state = self._states[update.target.partition]
        operation = update.operation
        known = state.operations.get(operation.id)
        if known is not None:
            check_body(operation.body_hash, known.body_hash)
            update.settled.set_result(known)
            return update
        twin = self.pending.twin(operation)
        if twin is not None:
            return twin
        queue = self._queue(update.target)
        if len(queue.waiting) >= MAX_WAITING:
            raise Overloaded(f"{len(queue.waiting)} updates of {update.target.name} are waiting already")
        self.pending.add(update)
        queue.waiting.append(update)
        if queue.refreshing is None:
            self._run(queue)
        else:
            # Those who wait for the barrier are run once more with it: once for all who come in this turn of the loop.
            self._make_due(queue)
        return update

    def _queue(self, target: Target) -> UpdateQueue:
        key = (int(target.kind), target.name)
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = UpdateQueue(target)
        return queue

    def _run(self, queue: UpdateQueue) -> None:
        """Append the next event of `queue`, if nothing is outstanding and somebody waits."""
        if queue.latest is not None or self._closed:
            return
        self._drop_left(queue)
        if not queue.waiting:
            self._forget(queue)
            return
        target = queue.target
        refusal = self._freshness.refuses_writes(target.partition)
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
        event_id = self._new_id()
        group = run_group(target, queue.waiting, current, event_id, self._own.record_at(current.version))
        if len(group.updates) < len(queue.waiting):
            self.pending.end_settled(queue.waiting)
        if group.must_be_logged:
            self._append(queue, group, event_id, current, Base(state.level, incarnation, current.version))
        elif group.updates:
            self._answer_fresh(queue, group)
        # What waits still is settled, or in an undecided event and cannot be told yet: `tick` comes back to it.

    def _append(self, queue: UpdateQueue, group: GroupCommit, event_id: bytes, current: Aggregate, base: Base) -> None:
        target = queue.target
        value = encode_event(event_of(group, target, event_id, base, current.offset, self._clock_ms()))
        try:
            self._log.append(target.partition, value, lambda error: self._append_failed(queue, event_id, error))
        except Wait:
            self._later(queue, RETRY_AFTER_SECONDS)
            return
        except TopicfoldError as error:
            for update in group.updates:
                self.pending.fail(update, unknown(update, error.reason) if update.in_attempt else error)
            self._make_due(queue)
            return
        self._own.add(event_id, group)
        queue.sent(event_id, base, group.updates, self._loop.time())
        if target.kind == AggregateKind.TOPIC:
            # After the log has sent it, while nothing else is to be done.
            self._loop.call_soon(decode_indexed, group.schema, group.payload)

    def _append_failed(self, queue: UpdateQueue, event_id: bytes, error: TopicfoldError) -> None:
        """Note that the log gave up on an event. Only a full log certainly lacks it: its waiters are told at once."""
        self._freshness.on_refused(queue.target.partition, error)
        if not isinstance(error, LogFull):
            for update in queue.carried if queue.latest == event_id else ():
                update.log_said = error.reason
                if isinstance(error, LogDenied):
                    self.pending.fail(update, denied(update, error))
            self._resend(queue, event_id)
            if isinstance(error, LogDenied):
                self._refuse_all(queue, error)
            return
        queue.withdraw(event_id)
        self._refuse_all(queue, error)
        if queue.waiting:
            self._later(queue, RETRY_AFTER_SECONDS)

    def _resend(self, queue: UpdateQueue, event_id: bytes) -> None:
        """Give up on an event, which says nothing about its outcome: try again on the same base."""
        if queue.latest == event_id:
            queue.give_up()
            self._later(queue, RETRY_AFTER_SECONDS)

    def _decide(self, queue: UpdateQueue, successor: bytes | None) -> None:
        queue.decide(successor, self._loop.time())
        self._make_due(queue)

    def _decide_all(self, concerns: Callable[[UpdateQueue], bool]) -> None:
        for queue in self._queues.values():
            if queue.base is not None and concerns(queue):
                self._decide(queue, None)

    def _answer_fresh(self, queue: UpdateQueue, group: GroupCommit) -> None:
        """Give the refusals that a barrier has made fresh; ask for a barrier for the others."""
        for update, verdict, etag in zip(group.updates, group.verdicts, group.etags, strict=True):
            if update.is_fresh:
                self.pending.settle(update, Settled(verdict, etag, update.operation.body_hash))
        self._drop_left(queue)
        if queue.waiting and queue.refreshing is None:
            queue.refreshing = self._loop.create_task(self._refresh(queue, list(queue.waiting)))
        elif not queue.waiting:
            self._forget(queue)

    async def _refresh(self, queue: UpdateQueue, updates: list[Update]) -> None:
        """Make `updates` fresh by a barrier; if that fails, answer that the log is unavailable."""
        try:
            await self._barriers.wait([queue.target.partition], self._loop.time() + BARRIER_SECONDS)
        except TopicfoldError as error:
            for update in updates:
                if not update.in_attempt:
                    self.pending.fail(update, LogUnavailable(f"cannot tell for sure: {error.reason}"))
        else:
            for update in updates:
                update.is_fresh = True
        queue.refreshing = None
        self._run(queue)

    def _refuse_in_namespace(self, queue: UpdateQueue) -> None:
        """Move a topic's updates to the queue of its namespace, which is not live: their refusal is logged there."""
        target = queue.target
        owner = self._queue(Target(AggregateKind.NAMESPACE, target.namespace, target.namespace, target.partition))
        owner.waiting.extend(queue.waiting)
        queue.waiting.clear()
        self._forget(queue)
        self._make_due(owner)

    def _return_strangers(self, queue: UpdateQueue, incarnation: bytes) -> None:
        """Give updates of topics that wait here back to their topics, before younger ones, the namespace being live."""
        if queue.target.kind != AggregateKind.NAMESPACE or incarnation == GENESIS:
            return
        strangers = [update for update in queue.waiting if update.target.kind == AggregateKind.TOPIC]
        if strangers:
            queue.waiting = deque(update for update in queue.waiting if update.target.kind != AggregateKind.TOPIC)
            for update in reversed(strangers):
                home = self._queue(update.target)
                home.waiting.appendleft(update)
                self._make_due(home)

    def _make_due(self, queue: UpdateQueue) -> None:
        """Run `queue` when the current callback is over, together with all others that are due."""
        if not self._due:
            self._loop.call_soon(self._run_due)
        self._due[queue] = None

    def _run_due(self) -> None:
        due, self._due = self._due, {}
        for queue in due:
            self._run(queue)

    def _later(self, queue: UpdateQueue, seconds: float) -> None:
        if queue.timer is not None:
            queue.timer.cancel()
        queue.timer = self._loop.call_later(seconds, self._run, queue)

    def _refuse_all(self, queue: UpdateQueue, refusal: Wait) -> None:
        """Fail the updates that are in no undecided event; the others wait for the log or their deadlines."""
        for update in queue.waiting:
            if not update.in_attempt:
                self.pending.fail(update, refusal)
        self._drop_left(queue)
        if not queue.waiting:
            self._forget(queue)

    def _drop_left(self, queue: UpdateQueue) -> None:
        """Drop updates that are settled or that nobody waits for any more."""
        queue.keep(lambda update: not update.settled.done() and update in self.pending)

    def _forget(self, queue: UpdateQueue) -> None:
        """Drop an idle queue. An undecided event of it may still land: at most one event on its base takes effect."""
        key = (int(queue.target.kind), queue.target.name)
        if queue.refreshing is None and queue.latest is None and self._queues.get(key) is queue:
            del self._queues[key]
            if queue.timer is not None:
                queue.timer.cancel()

    def _incarnation(self, partition: int, namespace: str) -> bytes:
        """Return the incarnation of the live namespace, GENESIS for none."""
        owner = self._states[partition].namespaces.get(namespace)
        return owner.incarnation if owner is not None and owner.is_live else GENESIS

    def _own_seen(self, partition: int, event: Event, outcome: Outcome) -> None:
        """Note that the log took an event of ours, or a rival's rejected one on an aggregate that we write to.

        A rejected event of a rival shows that the rival may starve.
        """
        if self._own.came_back(event.event_id):
            self._freshness.on_taken(partition)
        elif outcome is Outcome.REJECTED:
            queue = self._queues.get((event.aggregate_kind, event.name))
            if queue is not None:
                queue.saw_rivals = True
