"""Long answers share turns and room."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress

import pytest

from topicfold.errors import LogUnavailable, Overloaded
from topicfold.server.connections.in_flight import MADE_AT_ONCE, InFlight


async def test_a_listing_that_has_no_turn_in_time_is_refused_and_takes_none() -> None:
    in_flight, past = InFlight(1000, 1000), asyncio.get_running_loop().time() - 1
    async with AsyncExitStack() as stack:
        for _ in range(MADE_AT_ONCE):
            await stack.enter_async_context(in_flight.turn("ann", past + 60))
        with pytest.raises(Overloaded, match="too many topic listings"):
            await stack.enter_async_context(in_flight.turn("ann", past))
    async with in_flight.turn("ann", past + 60):
        pass


def test_one_answer_may_be_larger_than_all_may_be_together() -> None:
    in_flight = InFlight(10, 10)
    in_flight.take("ann", 11)
    with pytest.raises(Overloaded):
        in_flight.take("ben", 1)
    in_flight.give_back("ann", 11)
    in_flight.take("ben", 1)


def test_one_asker_leaves_room_for_others() -> None:
    in_flight = InFlight(100, 50)
    in_flight.take("ann", 40)
    with pytest.raises(Overloaded, match=r"^40 bytes of long answers to ann .* at most 50 may be"):
        in_flight.take("ann", 11)
    in_flight.take("ben", 50)
    with pytest.raises(Overloaded, match=r"^90 bytes of long answers are .* at most 100 may be"):
        in_flight.take("cid", 11)
    in_flight.give_back("ann", 40)
    in_flight.take("cid", 11)


def test_there_is_room_for_as_many_bytes_as_are_allowed_and_for_no_more() -> None:
    in_flight = InFlight(100, 50)
    for asker in ("ann", "ben"):
        in_flight.take(asker, 40)
        in_flight.take(asker, 10)
    with pytest.raises(Overloaded, match=r"^50 bytes of long answers to ann "):
        in_flight.take("ann", 1)
    with pytest.raises(Overloaded, match=r"^100 bytes of long answers are "):
        in_flight.take("cid", 1)


@pytest.mark.parametrize("fails", [False, True])
def test_what_is_being_made_is_counted_until_it_is_made_or_cannot_be(fails: bool) -> None:
    in_flight = InFlight(100, 100)
    with suppress(LogUnavailable), in_flight.making("ann", 60):
        with pytest.raises(Overloaded):
            in_flight.take("ben", 60)
        if fails:
            raise LogUnavailable("away")
    in_flight.take("ben", 60)


async def test_who_makes_many_answers_has_no_more_turns_than_who_makes_few() -> None:
    in_flight, until = InFlight(100, 100), asyncio.get_running_loop().time() + 60
    may_end, made = asyncio.Event(), list[str]()

    async def make(asker: str) -> None:
        async with in_flight.turn(asker, until):
            made.append(asker)
            await may_end.wait()

    making = [asyncio.create_task(make("ann")) for _ in range(MADE_AT_ONCE + 5)]
    await asyncio.sleep(0)
    making += [asyncio.create_task(make("ben")) for _ in range(2)]
    await asyncio.sleep(0)
    may_end.set()
    await asyncio.gather(*making)
    assert "".join(each[0] for each in made) == "aaaa" + "ababaaa"
