"""The shipped code with one of DESIGN's rules removed: what the simulation has to notice.

Each mutant is a function that patches the engine; its first line says what the broken engine does. Nothing in the
product knows of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import pytest

import topicfold.runtime.writing.pending
import topicfold.runtime.writing.updates
import topicfold.state.fold
from topicfold.errors import LogUnavailable, TopicfoldError
from topicfold.log.payload import decode_indexed
from topicfold.model.events import GENESIS, Event, Kind, operation_text
from topicfold.runtime.barrier import Barriers, Ends
from topicfold.runtime.reading import Reading
from topicfold.runtime.writing.group_commit import GroupCommit, run_group
from topicfold.runtime.writing.update import Base, Update
from topicfold.runtime.writing.update_queue import UpdateQueue
from topicfold.runtime.writing.updates import Updates
from topicfold.state.aggregate import Aggregate, Etag
from topicfold.state.change import Change, Outcome
from topicfold.state.fold import PartitionState
from topicfold.state.operations import OperationRing, Operations, Settled

Patch = Callable[[pytest.MonkeyPatch], None]


class Mutant(NamedTuple):
    """A broken engine. `rule` is the number of the rule it breaks, `seed` the first that may show it.

    Seeds are tried from there on, for some defects are shown by one in a hundred.
    """

    rule: int
    break_it: Patch
    seed: int = 0

    def __str__(self) -> str:
        return f"rule {self.rule}: {(self.break_it.__doc__ or '').partition('.')[0]}"


MUTANTS: list[Mutant] = []


def breaks(rule: int, seed: int = 0) -> Callable[[Patch], Patch]:
    """Enlist a mutant that breaks `rule`, which seeds before `seed` do not show."""

    def enlist(patch: Patch) -> Patch:
        MUTANTS.append(Mutant(rule, patch, seed))
        return patch

    return enlist


@breaks(1)
def _delete_forgets_the_version(patch: pytest.MonkeyPatch) -> None:
    """A delete forgets the version."""
    shipped = topicfold.state.fold._after

    def after(event: Event, offset: int, etag: Etag) -> Aggregate:
        left = shipped(event, offset, etag)
        return left if left.is_live else left._replace(version=GENESIS)

    patch.setattr(topicfold.state.fold, "_after", after)


@breaks(1)
def _incarnations_are_not_compared(patch: pytest.MonkeyPatch) -> None:
    """An event for a former life of its namespace is taken."""

    def accepted(event: Event, namespace: Aggregate, topic: Aggregate) -> bool:
        return namespace.is_live and topic.version == event.base

    patch.setattr(topicfold.state.fold, "topic_event_is_accepted", accepted)


@breaks(2)
def _failure_is_an_answer(patch: pytest.MonkeyPatch) -> None:
    """An append that failed counts as not applied."""

    def append_failed(updates: Updates, queue: UpdateQueue, event_id: bytes, error: TopicfoldError) -> None:
        if queue.latest == event_id:
            for update in queue.carried:
                updates.pending.fail(update, LogUnavailable("the append failed"))
            queue.give_up()
            updates._make_due(queue)

    patch.setattr(Updates, "_append_failed", append_failed)


@breaks(2, seed=45)
def _failure_clears_the_attempt(patch: pytest.MonkeyPatch) -> None:
    """An append that failed is forgotten while it may still land."""
    shipped = UpdateQueue.give_up

    def give_up(queue: UpdateQueue) -> None:
        shipped(queue)
        for update in queue.waiting:
            update.in_attempt = False

    patch.setattr(UpdateQueue, "give_up", give_up)


@breaks(2, seed=127)
def _a_full_log_clears_all_attempts(patch: pytest.MonkeyPatch) -> None:
    """That the log had no room for one event is taken to hold for those sent before it."""

    def withdraw(queue: UpdateQueue, event_id: bytes) -> None:
        queue.give_up()
        queue.event_ids.clear()
        queue._free()

    patch.setattr(UpdateQueue, "withdraw", withdraw)


@breaks(2, seed=14)
def _silence_is_not_given_up(patch: pytest.MonkeyPatch) -> None:
    """Silently lost events are never sent again."""

    def tick(updates: Updates) -> None:
        for queue in list(updates._queues.values()):
            if queue.latest is None:
                updates._make_due(queue)

    patch.setattr(Updates, "tick", tick)


@breaks(3)
def _losers_are_sent_again_as_they_were(patch: pytest.MonkeyPatch) -> None:
    """Updates that lost are not run again on the new record."""
    ran: dict[tuple[bytes, ...], GroupCommit] = {}

    def run(*run_on: Any) -> GroupCommit:
        group = run_group(*run_on)
        before = ran.setdefault(tuple(update.operation.id for update in group.updates), group)
        if before is group or not before.changes:
            return group
        return replace(before, updates=group.updates, etags=group.etags)

    patch.setattr(topicfold.runtime.writing.updates, "run_group", run)


@breaks(3)
def _all_of_a_group_get_one_etag(patch: pytest.MonkeyPatch) -> None:
    """Every update of a group is answered with the ETag of the last."""
    shipped = PartitionState._settle

    def settle(state: PartitionState, event: Event, etag: Etag, verdict: int | None = None) -> Any:
        settled, last = shipped(state, event, etag, verdict)
        return tuple((operation_id, each._replace(etag=last)) for operation_id, each in settled), last

    patch.setattr(PartitionState, "_settle", settle)


@breaks(3)
def _losers_go_to_the_back(patch: pytest.MonkeyPatch) -> None:
    """Updates that lost queue up behind younger ones."""

    def give_up(queue: UpdateQueue) -> None:
        queue.latest = None
        queue.waiting.extend(update for update in queue.carried if not update.settled.done())
        queue.carried = ()

    patch.setattr(UpdateQueue, "give_up", give_up)


@breaks(5)
def _operations_are_not_remembered(patch: pytest.MonkeyPatch) -> None:
    """The fold forgets operation ids at once."""
    shipped = OperationRing.add

    def add(ring: OperationRing, *outcome: Any) -> Any:
        remembered = shipped(ring, *outcome)
        ring._by_id.clear()
        ring._order.clear()
        return remembered

    patch.setattr(OperationRing, "add", add)


@breaks(5)
def _operations_are_not_looked_up(patch: pytest.MonkeyPatch) -> None:
    """A key that the fold knows is taken for a new one."""
    patch.setattr(Operations, "get", lambda operations, operation_id: None)


@breaks(5)
def _refusals_are_not_logged(patch: pytest.MonkeyPatch) -> None:
    """A no to a request with a key is answered without an event."""
    patch.setattr(
        GroupCommit, "must_be_logged", property(lambda group: group.changes or any(u.in_attempt for u in group.updates))
    )


@breaks(5)
def _bodies_are_not_compared(patch: pytest.MonkeyPatch) -> None:
    """A key answers for any body."""
    for module in (topicfold.runtime.writing.updates, topicfold.runtime.writing.pending):
        patch.setattr(module, "check_body", lambda body_hash, before: None)


@breaks(6)
def _refusals_need_no_barrier(patch: pytest.MonkeyPatch) -> None:
    """A no without a key is answered from whatever is folded."""
    shipped = Updates._answer_fresh

    def answer(updates: Updates, queue: UpdateQueue, group: GroupCommit) -> None:
        for update in group.updates:
            update.is_fresh = True
        shipped(updates, queue, group)

    patch.setattr(Updates, "_answer_fresh", answer)


@breaks(6)
def _reads_do_not_ask(patch: pytest.MonkeyPatch) -> None:
    """A GET does not wait for a barrier."""

    async def answer_at_once(reading: Reading, partitions: Collection[int], deadline: float) -> None:
        return None

    patch.setattr(Reading, "catch_up", answer_at_once)


@breaks(6, seed=29)
def _a_query_serves_latecomers(patch: pytest.MonkeyPatch) -> None:
    """A barrier takes the answer to a question asked before the request came."""
    shipped = Barriers.ends

    async def ends(barriers: Barriers) -> Ends:
        return await (asyncio.shield(barriers._running) if barriers._running else shipped(barriers))

    patch.setattr(Barriers, "ends", ends)


@breaks(7)
def _payloads_are_validated(patch: pytest.MonkeyPatch) -> None:
    """Every other node rejects events whose payload it cannot read."""
    _reject_on_every_other_node(patch, lambda event: decode_indexed(event.payload_schema, event.payload) is None)


@breaks(7)
def _limits_are_enforced_by_the_fold(patch: pytest.MonkeyPatch) -> None:
    """Every other node is set to allow one label only, and rejects events that bring more."""

    def is_above_the_limit(event: Event) -> bool:
        indexed = decode_indexed(event.payload_schema, event.payload)
        return indexed is not None and len(indexed.labels) > 1

    _reject_on_every_other_node(patch, is_above_the_limit)


@breaks(8)
def _acknowledged_when_appended(patch: pytest.MonkeyPatch) -> None:
    """A write is acknowledged when it is sent."""
    shipped = Updates._append

    def append(
        updates: Updates, queue: UpdateQueue, group: GroupCommit, event_id: bytes, current: Aggregate, base: Base
    ) -> None:
        shipped(updates, queue, group, event_id, current, base)
        for update, verdict, etag in zip(group.updates, group.verdicts, group.etags, strict=True):
            updates.pending.settle(update, Settled(verdict, etag, update.operation.body_hash))

    patch.setattr(Updates, "_append", append)


@breaks(9)
def _unknown_is_said_as_no(patch: pytest.MonkeyPatch) -> None:
    """A write that is still under way at its deadline is said not to be applied."""

    def expired(update: Update) -> LogUnavailable:
        return LogUnavailable(operation_text(update.target.partition, update.handle))

    patch.setattr(topicfold.runtime.writing.updates, "expired", expired)


@breaks(13, seed=22)
def _levels_are_not_compared(patch: pytest.MonkeyPatch) -> None:
    """An event takes effect whatever level it was written under."""
    shipped = PartitionState._step

    def step(state: PartitionState, offset: int, event: Event) -> Change:
        return shipped(state, offset, event if event.kind == Kind.LEVEL else event._replace(level=state.level))

    patch.setattr(PartitionState, "_step", step)


def _reject_on_every_other_node(patch: pytest.MonkeyPatch, dislikes: Callable[[Event], bool]) -> None:
    """Have the fold reject puts of topics that it `dislikes`, on every other node that starts."""
    shipped = PartitionState._topic_event
    strict: WeakKeyDictionary[PartitionState, bool] = WeakKeyDictionary()

    def topic_event(state: PartitionState, offset: int, event: Event) -> Change:
        if strict.setdefault(state, len(strict) % 2 == 0) and event.kind == Kind.PUT and dislikes(event):
            return Change(Outcome.REJECTED, event)
        return shipped(state, offset, event)

    patch.setattr(PartitionState, "_topic_event", topic_event)
