"""A time finds the position after the newest event that was written up to then."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import an_id, topic_put
from tests.memory_log import MemoryLog, MemoryStore
from topicfold.log.codec import encode_audit, encode_event
from topicfold.model.events import AuditTrail
from topicfold.runtime.past.times import first_time_ms, position_at

times = st.lists(st.one_of(st.none(), st.integers(1, 50)), max_size=80)


def log_of(written: list[int | None]) -> MemoryLog:
    """Return a log of events that were written at these times; None is one that says no time."""
    store = MemoryStore(1)
    for number, time_ms in enumerate(written, 1):
        audit = b"" if time_ms is None else encode_audit(AuditTrail((), time_ms, -1))
        event = topic_put(number, an_id(1))._replace(audit=audit, operations=())
        store.append(0, b"garbage" if time_ms is None and number % 2 else encode_event(event))
    return MemoryLog(store)


def found(written: list[int | None], time_ms: int, start: int = 0) -> int:
    return asyncio.run(position_at(log_of(written), 0, time_ms, start, len(written)))


def meant(written: list[int | None], time_ms: int) -> int:
    """Return the first position with the fewest events on the wrong side."""
    surplus, best = 0, (0, 0)
    for at, time in enumerate(written, 1):
        surplus += 0 if time is None else 1 if time <= time_ms else -1
        best = max(best, (surplus, -at))
    return -best[1]


@given(times, st.integers(0, 51), st.integers(0, 80))
def test_where_times_rise_the_position_parts_them(written: list[int | None], time_ms: int, start: int) -> None:
    start = min(start, len(written))
    rising = iter(sorted(time for time in written if time is not None))
    written = [None if time is None else next(rising) for time in written]
    position = found(written, time_ms, start)
    known = [at for at, time in enumerate(written) if at >= start and time is not None and time <= time_ms]
    assert position == (max(known) + 1 if known else start)


@given(times, st.integers(0, 51))
def test_where_clocks_differ_most_events_say_what_is_meant(written: list[int | None], time_ms: int) -> None:
    written = written[:64]
    assert found(written, time_ms) == meant(written, time_ms)


@given(st.sets(st.integers(0, 99)), st.sampled_from([-(2**40), 2**40]), st.integers(0, 1000))
def test_clocks_that_stand_elsewhere_now_and_then_move_it_nowhere(wrong: set[int], off_ms: int, time_ms: int) -> None:
    right = range(2**41, 2**41 + 1000)
    written: list[int | None] = [
        time + off_ms if at % 10 == 7 and at // 10 in wrong else time for at, time in enumerate(right)
    ]
    assert found(written, 2**41 + time_ms) == meant(written, 2**41 + time_ms)


def test_the_first_time_is_that_of_the_first_event_that_says_one() -> None:
    assert asyncio.run(first_time_ms(log_of([None] * 70 + [9, 5]), 0, 3, 72)) == 9
    assert asyncio.run(first_time_ms(log_of([None, None]), 0, 0, 2)) is None
    assert asyncio.run(first_time_ms(log_of([-1, 2**60, 9]), 0, 0, 3)) == 9
