"""Updates by their operation's id: each is settled once, whatever else is said of it, and listed while one waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import permutations

import pytest

from tests.builders import NAMESPACE, TOPIC, an_id, operation
from topicfold.errors import KeyReused, LogUnavailable
from topicfold.model.events import AggregateKind, Audit, Verdict
from topicfold.runtime.writing.pending import PendingUpdates
from topicfold.runtime.writing.update import Target, Update
from topicfold.state.aggregate import Etag
from topicfold.state.operations import Settled

TARGET = Target(AggregateKind.TOPIC, TOPIC, NAMESPACE, 0)
DONE = Settled(Verdict.CHANGED, Etag(an_id(5), 1), bytes(8))
OF_ANOTHER_BODY = DONE._replace(body_hash=b"another!")
LATE = 60.0

Say = Callable[[PendingUpdates, Update], None]


def an_update() -> Update:
    """Return an update that nothing was said of."""
    settled = asyncio.get_running_loop().create_future()
    return Update(TARGET, operation(9), lambda old: old, Audit("", "", ""), settled)


def answered(pending: PendingUpdates, update: Update) -> None:
    pending.answer(update.operation.id, DONE)


def answered_for_another_body(pending: PendingUpdates, update: Update) -> None:
    pending.answer(update.operation.id, OF_ANOTHER_BODY)


def settled(pending: PendingUpdates, update: Update) -> None:
    pending.settle(update, DONE)


def failed(pending: PendingUpdates, update: Update) -> None:
    pending.fail(update, LogUnavailable("away"))


SAID: dict[Say, type[Exception] | None] = {
    answered: None, answered_for_another_body: KeyReused, settled: None, failed: LogUnavailable,
}  # fmt: skip


@pytest.mark.parametrize(
    "said", list(permutations(SAID)), ids=lambda said: ", then ".join(say.__name__ for say in said)
)
async def test_what_is_said_first_of_an_update_is_its_outcome_and_wakes_all_who_wait(said: tuple[Say, ...]) -> None:
    pending, update = PendingUpdates(), an_update()
    pending.add(update)
    waiting = [asyncio.create_task(pending.wait(update, asyncio.get_running_loop().time() + LATE)) for _ in range(2)]
    await asyncio.sleep(0)
    for say in said:
        say(pending, update)
    await asyncio.gather(*waiting)
    error = update.settled.exception()
    assert (type(error) if error else None) == SAID[said[0]]
    assert (len(pending), update.waiters) == (0, [])


async def test_an_update_is_listed_until_the_last_who_waits_has_left_or_their_time_is_up() -> None:
    pending, update, now = PendingUpdates(), an_update(), asyncio.get_running_loop().time()
    pending.add(update)
    leaving, staying = (asyncio.create_task(pending.wait(update, now + LATE)) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.wait([leaving])
    await pending.wait(update, now)
    assert pending.twin(update.operation) is update
    staying.cancel()
    await asyncio.wait([staying])
    assert (pending.twin(update.operation), update.settled.done()) == (None, False)
    pending.add(update)
    await pending.wait(update, now)
    assert (pending.twin(update.operation), update.settled.done()) == (None, False)


async def test_another_body_under_the_same_id_is_refused_and_a_later_update_keeps_its_place() -> None:
    pending, update, later = PendingUpdates(), an_update(), an_update()
    pending.add(update)
    with pytest.raises(KeyReused):
        pending.twin(update.operation._replace(body_hash=b"another!"))
    pending.add(later)
    pending.settle(update, DONE)
    assert pending.twin(update.operation) is later
