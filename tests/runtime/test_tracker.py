"""Waiting for what is folded."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.builders import an_id, topic_put
from tests.runtime.nodes import turns
from topicfold.errors import NotReady, PositionTimeout
from topicfold.runtime.tracker import Tracker
from topicfold.state.change import GARBAGE, Change, Outcome


def soon(seconds: float) -> float:
    """Return a time of the loop's clock."""
    return asyncio.get_running_loop().time() + seconds


async def test_a_position_that_is_reached_already_is_not_waited_for() -> None:
    await Tracker().wait_for(0, 5, 5, soon(-1))


async def test_waiters_are_completed_in_any_order_when_their_position_is_folded() -> None:
    tracker = Tracker()
    waits = [asyncio.create_task(tracker.wait_for(0, position, 0, None)) for position in (3, 1, 2, 2)]
    await turns()
    tracker.publish_position(0, 2)
    await turns()
    assert [wait.done() for wait in waits] == [False, True, True, True]
    tracker.publish_position(0, 9)
    await waits[0]


async def test_a_position_of_another_partition_completes_nobody() -> None:
    tracker = Tracker()
    wait = asyncio.create_task(tracker.wait_for(1, 1, 0, None))
    await turns()
    tracker.publish_position(0, 100)
    await turns()
    assert not wait.done()
    wait.cancel()


@pytest.mark.parametrize("published", [[], [4, 5]])
async def test_a_waiter_whose_time_is_up_is_told_what_was_wanted_and_reached(published: list[int]) -> None:
    tracker = Tracker()
    wait = asyncio.create_task(tracker.wait_for(2, 7, 3, soon(0.01)))
    await turns()
    for position in published:
        tracker.publish_position(2, position)
    with pytest.raises(PositionTimeout) as caught:
        await wait
    assert caught.value.values == {"partition": 2, "wanted": 7, "reached": max(published, default=3)}


async def test_one_who_gave_up_does_not_keep_others_from_being_completed() -> None:
    tracker = Tracker()
    impatient = asyncio.create_task(tracker.wait_for(0, 1, 0, None))
    patient = asyncio.create_task(tracker.wait_for(0, 1, 0, None))
    await turns()
    impatient.cancel()
    await turns()
    tracker.publish_position(0, 1)
    await patient


async def test_waiters_who_gave_up_leave_nothing_behind() -> None:
    tracker = Tracker()
    for _ in range(300):
        with pytest.raises(PositionTimeout):
            await tracker.wait_for(0, 2**63, 0, soon(-1))
    assert sum(map(len, tracker._positions.values())) < 100


async def test_whoever_still_waits_is_completed_in_time_although_many_gave_up() -> None:
    tracker, chance = Tracker(), random.Random(1)
    waits: dict[asyncio.Task[None], int] = {}
    for _ in range(300):
        position = chance.randrange(1, 1_000)
        waits[asyncio.create_task(tracker.wait_for(0, position, 0, None))] = position
        await turns(1)
        if chance.random() < 0.7:
            chance.choice([*waits]).cancel()
            await turns(1)
    for reached in range(0, 1_001, 50):
        tracker.publish_position(0, reached)
        await turns()
        assert all(wait.done() for wait, position in waits.items() if position <= reached)


async def test_an_event_is_done_once_its_record_is_folded_whatever_came_of_it() -> None:
    tracker = Tracker()
    for outcome in (Outcome.ACCEPTED, Outcome.REJECTED, Outcome.NO_OP):
        done = tracker.expect_event(0, an_id(4))
        tracker.publish(0, GARBAGE)
        tracker.publish(0, Change(outcome, topic_put(5, an_id(1))))
        assert not done.done()
        tracker.publish(0, Change(outcome, topic_put(4, an_id(1))))
        await done


async def test_an_event_that_comes_twice_or_as_soon_as_it_is_given_up_stops_nothing() -> None:
    tracker = Tracker()
    tracker.expect_event(0, an_id(1)).cancel()
    done = tracker.expect_event(0, an_id(2))
    for event in (1, 2, 2):
        tracker.publish(0, Change(Outcome.ACCEPTED, topic_put(event, an_id(1))))
    await done


async def test_an_event_that_is_done_or_given_up_is_forgotten() -> None:
    tracker = Tracker()
    tracker.expect_event(0, an_id(1)).cancel()
    tracker.expect_event(0, an_id(2)).set_result(None)
    await turns()
    assert tracker._events == {}


async def test_closing_fails_all_who_wait_and_all_who_come_later() -> None:
    tracker = Tracker()
    wait = asyncio.create_task(tracker.wait_for(0, 1, 0, None))
    event = tracker.expect_event(0, an_id(1))
    await turns()
    tracker.close()
    for waiting in (wait, event, tracker.wait_for(0, 1, 0, None)):
        with pytest.raises(NotReady, match="folds partition 0 no further"):
            await waiting
    with pytest.raises(NotReady):
        tracker.expect_event(0, an_id(2))
    with pytest.raises(NotReady, match="folds partition 1 no further"):
        await tracker.wait_for(1, 1, 0, None)


async def test_giving_up_one_partition_fails_nobody_who_waits_for_another() -> None:
    tracker = Tracker()
    waits = [asyncio.create_task(tracker.wait_for(each, 1, 0, None)) for each in (0, 1)]
    events = [tracker.expect_event(each, an_id(1)) for each in (0, 1)]
    await turns()
    tracker.give_up(0)
    for given_up in (waits[0], events[0], tracker.wait_for(0, 1, 0, None)):
        with pytest.raises(NotReady, match="folds partition 0 no further"):
            await given_up
    tracker.publish(1, Change(Outcome.ACCEPTED, topic_put(1, an_id(1))))
    tracker.publish_position(1, 1)
    await asyncio.gather(waits[1], events[1])
