"""Events in blocks: whatever is dropped, numbered anew and put together, those that are left come as they went in."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicfold.runtime.watching import packed_events
from topicfold.runtime.watching.packed_events import BLOCK_BYTES, NO_LISTS, Lists, PackedEvents

Event = tuple[bytes, Lists]

EVENTS = st.tuples(st.binary(max_size=6), st.sampled_from([NO_LISTS, (b"before", b""), (b"", b"after")]))


def filled(given_events: list[Event], first: int, cut: int) -> tuple[PackedEvents, int]:
    """Return events of which those below number `first` were dropped and `cut` cut off, and the first one's number."""
    events = PackedEvents()
    for each in given_events:
        events.append(*each)
    events.drop_below(first)
    events.cut(cut)
    return events, first - cut


def content(events: PackedEvents, start: int, end: int) -> list[Event]:
    return [(bytes(packed), lists) for packed, lists in events.between(start, end)]


@st.composite
def some_events(draw: st.DrawFn) -> tuple[list[Event], int, int]:
    drawn = draw(st.lists(EVENTS, max_size=12))
    first = draw(st.integers(0, len(drawn)))
    return drawn, first, draw(st.integers(0, first))


@pytest.fixture(autouse=True)
def _small_blocks() -> Iterator[None]:
    with patch.object(packed_events, "BLOCK_BYTES", 10):
        yield


@given(some_events(), some_events(), st.lists(EVENTS, max_size=4))
def test_what_is_left_comes_as_it_went_in(
    older: tuple[list[Event], int, int], newer: tuple[list[Event], int, int], last: list[Event]
) -> None:
    (before, before_first), (events, first) = filled(*older), filled(*newer)
    assert content(events, first, len(newer[0]) - newer[2]) == newer[0][newer[1] :]
    joined = events.after(before, before_first, first)
    for each in last:
        joined.append(*each)
    left = [*older[0][older[1] :], *newer[0][newer[1] :], *last]
    for start in range(len(left) + 1):
        assert content(joined, start, len(left)) == left[start:]
    joined.drop_below(len(left) // 2)
    assert content(joined, len(left) // 2, len(left)) == left[len(left) // 2 :]


def test_of_what_is_dropped_no_more_stays_than_a_block() -> None:
    with patch.object(packed_events, "BLOCK_BYTES", BLOCK_BYTES):
        events, _ = filled([(bytes(1_000), NO_LISTS)] * 2_000, 1_990, 0)
        assert 10 * 1_000 <= len(events) <= BLOCK_BYTES + 10 * 1_000


def test_of_what_is_dropped_no_list_stays() -> None:
    with patch.object(packed_events, "BLOCK_BYTES", BLOCK_BYTES):
        events, first = filled([(b"event", (b"before", b"after"))] * 20, 15, 0)
        assert [len(block.lists) for block in events._blocks] == [5]
        assert content(events, first, 20) == [(b"event", (b"before", b"after"))] * 5
