"""The bookkeeping of one aggregate's queue: what is waiting, what flies, when to rest."""

from __future__ import annotations

import asyncio

import pytest

from tests.builders import NAMESPACE, TOPIC, an_id, operation
from topicfold.model.events import AggregateKind
from topicfold.runtime.writing.update import Base, Target, Update
from topicfold.runtime.writing.update_queue import WINS_BEFORE_YIELD, YIELD_SECONDS, UpdateQueue

BASE = Base(1, an_id(1), an_id(2))


@pytest.fixture
def queue() -> UpdateQueue:
    """A queue of a topic, with nothing in it."""
    return UpdateQueue(Target(AggregateKind.TOPIC, TOPIC, NAMESPACE, 0))


def waiting(queue: UpdateQueue, *numbers: int) -> list[Update]:
    """Return new updates at the end of the queue."""
    settled = asyncio.get_running_loop().create_future
    new = [Update(queue.target, operation(number), None, None, settled()) for number in numbers]
    queue.waiting.extend(new)
    return new


async def test_updates_in_an_event_wait_no_more_and_are_in_an_attempt(queue: UpdateQueue) -> None:
    one, two, three = waiting(queue, 1, 2, 3)
    queue.sent(an_id(9), BASE, [one, two], 5.0)
    assert (list(queue.waiting), queue.latest, queue.sent_at) == ([three], an_id(9), 5.0)
    assert [each.in_attempt for each in (one, two, three)] == [True, True, False]


async def test_an_event_given_up_puts_its_updates_back_at_the_front_still_undecided(queue: UpdateQueue) -> None:
    one, two, three = waiting(queue, 1, 2, 3)
    queue.sent(an_id(9), BASE, [one, two], 0.0)
    queue.give_up()
    assert (list(queue.waiting), queue.latest, queue.base) == ([one, two, three], None, BASE)
    assert one.in_attempt


async def test_all_events_on_one_base_are_remembered_until_it_is_decided(queue: UpdateQueue) -> None:
    for number in (8, 9):
        queue.sent(an_id(number), BASE, waiting(queue, number), 0.0)
        queue.give_up()
    assert queue.event_ids == {an_id(8), an_id(9)}
    queue.decide(an_id(8), 0.0)
    assert (queue.event_ids, queue.base) == (set(), None)


async def test_a_rival_that_decides_after_an_event_was_given_up_does_not_put_its_updates_back_twice(
    queue: UpdateQueue,
) -> None:
    (lost,) = waiting(queue, 1)
    queue.sent(an_id(9), BASE, [lost], 0.0)
    queue.give_up()
    queue.decide(an_id(77), 0.0)
    assert list(queue.waiting) == [lost]


async def test_a_decided_base_frees_those_it_did_not_settle(queue: UpdateQueue) -> None:
    settled, lost = waiting(queue, 1, 2)
    queue.sent(an_id(9), BASE, [settled, lost], 0.0)
    settled.settled.set_result(None)
    queue.decide(an_id(77), 0.0)
    assert (list(queue.waiting), lost.in_attempt) == ([lost], False)


def win(queue: UpdateQueue, *, rivals: bool) -> None:
    """Have one event of the queue accepted."""
    queue.saw_rivals |= rivals
    queue.sent(an_id(9), BASE, waiting(queue, 9), 0.0)
    queue.decide(an_id(9), 100.0)


async def test_after_four_wins_over_rivals_a_queue_rests_one_round(queue: UpdateQueue) -> None:
    for _ in range(WINS_BEFORE_YIELD):
        assert queue.rests_until <= 100.0
        win(queue, rivals=True)
    assert queue.rests_until == 100.0 + YIELD_SECONDS
    win(queue, rivals=False)
    assert (queue.wins, queue.rests_until) == (0, 100.0 + YIELD_SECONDS)


async def test_a_queue_without_rivals_never_rests(queue: UpdateQueue) -> None:
    for _ in range(3 * WINS_BEFORE_YIELD):
        win(queue, rivals=False)
    assert queue.rests_until == 0.0


async def test_a_loss_ends_the_row_and_the_rest(queue: UpdateQueue) -> None:
    for _ in range(WINS_BEFORE_YIELD):
        win(queue, rivals=True)
    queue.decide(an_id(77), 100.0)
    assert (queue.wins, queue.rests_until) == (0, 0.0)


async def test_a_topics_queue_moves_off_with_its_namespace(queue: UpdateQueue) -> None:
    assert not queue.moved_from(an_id(3))
    queue.sent(an_id(9), BASE, waiting(queue, 9), 0.0)
    assert [queue.moved_from(an_id(1)), queue.moved_from(an_id(3))] == [False, True]


async def test_unwanted_updates_are_dropped_in_place(queue: UpdateQueue) -> None:
    one, two, three = waiting(queue, 1, 2, 3)
    queue.keep(lambda update: update is not two)
    assert list(queue.waiting) == [one, three]


async def test_an_event_that_never_was_leaves_its_updates_in_no_attempt(queue: UpdateQueue) -> None:
    one, two = waiting(queue, 1, 2)
    queue.sent(an_id(9), BASE, [one], 0.0)
    queue.withdraw(an_id(9))
    assert (list(queue.waiting), queue.latest, queue.base) == ([one, two], None, None)
    assert not one.in_attempt


async def test_an_event_that_never_was_says_nothing_of_those_before_it(queue: UpdateQueue) -> None:
    (one,) = waiting(queue, 1)
    for number in (8, 9):
        queue.sent(an_id(number), BASE, [one], 0.0)
        queue.give_up()
    queue.withdraw(an_id(9))
    assert (queue.event_ids, queue.base) == ({an_id(8)}, BASE)
    assert one.in_attempt
