"""Pending updates: those of this node that are not settled, by operation id, and who waits for each.

An operation id is listed from its arrival until it is settled or nobody waits for it any more. Two requests with one id
share one update, each with its own deadline. A waiter that gets no result is told whether the outcome is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from topicfold.errors import KeyReused, LogUnavailable, OutcomeUnknown, TopicfoldError
from topicfold.log.port import LogDenied
from topicfold.model.events import Operation, operation_text
from topicfold.runtime.tracker import no_further
from topicfold.runtime.writing.update import Update
from topicfold.state.operations import Settled


class PendingUpdates:
    """The updates of one loop that are not settled yet."""

    def __init__(self) -> None:
        self._by_operation: dict[bytes, Update] = {}
        self._loop = asyncio.get_running_loop()

    def __len__(self) -> int:
        return len(self._by_operation)

    def __contains__(self, update: Update) -> bool:
        """Return whether `update` itself is listed, rather than another one with its id."""
        return self._by_operation.get(update.operation.id) is update

    def twin(self, operation: Operation) -> Update | None:
        """Return the listed update with this operation's id, None where there is none.

        Raises:
            KeyReused: it has another body.
        """
        update = self._by_operation.get(operation.id)
        if update is not None:
            check_body(operation.body_hash, update.operation.body_hash)
        return update

    def add(self, update: Update) -> None:
        """List `update`."""
        self._by_operation[update.operation.id] = update

    async def wait(self, update: Update, deadline: float) -> None:
        """Return once `update` is settled or `deadline` has passed; it is listed until the last waiter leaves.

        A shield and a time-out cost 9 µs more.
        """
        waiter: asyncio.Future[None] = self._loop.create_future()
        update.waiters.append(waiter)
        timer = self._loop.call_at(deadline, _wake, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            update.waiters.remove(waiter)
            if not update.waiters:
                self.remove(update)

    def answer(self, operation_id: bytes, settled: Settled) -> None:
        """Settle the update under `operation_id` with the verdict in the log.

        If another body used the id first, the answer says so.
        """
        update = self._by_operation.get(operation_id)
        if update is None:
            return
        try:
            check_body(update.operation.body_hash, settled.body_hash)
        except KeyReused as error:
            self.fail(update, error)
        else:
            self.settle(update, settled)

    def settle(self, update: Update, settled: Settled) -> None:
        """Settle `update`; nothing happens if it is settled already."""
        if not update.settled.done():
            update.settled.set_result(settled)
        self._end(update)

    def fail(self, update: Update, error: TopicfoldError) -> None:
        """Settle `update` as not applied; nothing happens if it is settled already."""
        if not update.settled.done():
            update.settled.set_exception(error)
        self._end(update)

    def end_settled(self, updates: Iterable[Update]) -> None:
        """Wake the waiters of updates that were settled elsewhere."""
        for update in updates:
            if update.settled.done():
                self._end(update)

    def remove(self, update: Update) -> None:
        """Remove the operation id, unless a later update has it now."""
        if update in self:
            del self._by_operation[update.operation.id]

    def all(self) -> list[Update]:
        """Return all that are listed."""
        return list(self._by_operation.values())

    def _end(self, update: Update) -> None:
        update.settled.exception()
        self.remove(update)
        for waiter in update.waiters:
            _wake(waiter)


def check_body(body_hash: bytes, before: bytes) -> None:
    """Return if both hashes belong to the same request.

    Raises:
        KeyReused: they are not.
    """
    if body_hash != before:
        raise KeyReused("this Idempotency-Key was used before with another request")


def expired(update: Update) -> TopicfoldError:
    """Return the error for a waiter whose time is up."""
    if update.in_attempt:
        said = f"; the log said: {update.log_said}" if update.log_said else ""
        return unknown(update, f"the change was sent to the log and its outcome is not known yet{said}")
    return LogUnavailable("the change was still queued when its time was up; it is not applied")


def denied(update: Update, error: LogDenied) -> TopicfoldError:
    """Return the error for a waiter whose change the log refused to take: another attempt would be refused, too.

    Changes that were sent before, and not answered, may be in the log.
    """
    told = unknown(update, f"the change is most likely not in the log: {error.reason}")
    told.hint = f"{error.hint} allows it. {told.hint}"
    return told


def stopping(update: Update) -> TopicfoldError:
    """Return the error for a waiter whose node stops, or no longer folds the partition."""
    told = no_further(update.target.partition)
    return unknown(update, f"{told.reason}, and did not know the outcome yet") if update.in_attempt else told


def unknown(update: Update, reason: str) -> OutcomeUnknown:
    """Return the error that the outcome is unknown; it names the operation to ask for."""
    return OutcomeUnknown(reason, operation=operation_text(update.target.partition, update.handle))


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
