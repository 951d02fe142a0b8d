"""A time finds the position after the newest event that was written up to then."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import an_id, topic_put
from topicfold.log.codec import encode_audit, encode_event
from topicfold.log.memory import MemoryLog, MemoryStore
from topicfold.model.events import AuditTrail
from topicfold.runtime.past_times import first_time_ms, position_at

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


def inside(written: list[int | None], time_ms: int, position: int, start: int) -> bool:
    """Return whether what lies just before `position` was written up to then, and what follows it later."""
    known = [(at, time) for at, time in enumerate(written) if time is not None and at >= start]
    before = [time for at, time in known if at < position]
    after = [time for at, time in known if at >= position]
    return (not before or before[-1] <= time_ms) and (not after or after[0] > time_ms)


@given(times, st.integers(0, 51), st.integers(0, 80))
def test_where_times_rise_the_position_parts_them(written: list[int | None], time_ms: int, start: int) -> None:
    start = min(start, len(written))
    rising = iter(sorted(time for time in written if time is not None))
    written = [None if time is None else next(rising) for time in written]
    position = found(written, time_ms, start)
    known = [at for at, time in enumerate(written) if at >= start and time is not None and time <= time_ms]
    assert position == (max(known) + 1 if known else start)


@given(times, st.integers(0, 51))
def test_where_clocks_differ_it_is_one_of_those_that_may_be_meant(written: list[int | None], time_ms: int) -> None:
    assert inside(written, time_ms, found(written, time_ms), 0)


def test_the_first_time_is_that_of_the_first_event_that_says_one() -> None:
    assert asyncio.run(first_time_ms(log_of([None] * 70 + [9, 5]), 0, 3, 72)) == 9
    assert asyncio.run(first_time_ms(log_of([None, None]), 0, 0, 2)) is None
    assert asyncio.run(first_time_ms(log_of([-1, 2**60, 9]), 0, 0, 3)) == 9
