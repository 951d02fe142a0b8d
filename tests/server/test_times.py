"""Times in requests: what each text means by a clock that stands still."""

from __future__ import annotations

import pytest

from topicfold.errors import InvalidRequest
from topicfold.server.times import time_ms_in

NOW_MS = 1_772_368_200_500
"""2026-03-01T12:30:00.5Z."""
DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("text", "before_ms"),
    [
        ("2026-03-01T12:30:00Z", 500),
        ("2026-03-01t12:30:00z", 500),
        ("2026-03-01 12:30:00.25Z", 250),
        ("2026-03-01T12:30:00.1239999Z", 377),
        ("2026-03-01T13:30:00+01:00", 500),
        ("2026-03-01T13:30:00 01:00", 500),
        ("2026-03-01T07:00:00-05:30", 500),
        ("0s", 0),
        ("7s", 7_000),
        ("30m", 1_800_000),
        ("2h", 7_200_000),
        ("1d", DAY_MS),
        ("3w", 21 * DAY_MS),
        ("1y", 365 * DAY_MS),
    ],
)
def test_a_time_is_one_of_a_zone_or_so_long_ago(text: str, before_ms: int) -> None:
    assert time_ms_in(text, NOW_MS) == NOW_MS - before_ms


@pytest.mark.parametrize("text", ["999999999y", "1969-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59"])
def test_what_was_before_1970_is_the_beginning(text: str) -> None:
    assert time_ms_in(text, NOW_MS) == 0


def test_a_clock_that_is_ten_seconds_ahead_is_let_pass() -> None:
    assert time_ms_in("2026-03-01T12:30:10.5Z", NOW_MS) == NOW_MS + 10_000
    with pytest.raises(
        InvalidRequest, match=r"at=2026-03-01T12:30:10\.501Z is in the future; it is 2026-03-01T12:30:00"
    ):
        time_ms_in("2026-03-01T12:30:10.501Z", NOW_MS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2026-03-01T12:30:00", "is not a time with a zone"),
        ("2026-03-01", "is not a time with a zone"),
        ("30", "is not a time with a zone"),
        ("2h30m", "is not a time with a zone"),
        ("2026-02-30T00:00:00Z", "is not in the calendar"),
        ("2026-03-01T12:30:00+25:00", "is not in the calendar"),
        ("0000-01-01T00:00:00Z", "is not in the calendar"),
    ],
)
def test_what_is_no_time_says_how_to_write_one(text: str, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said) as caught:
        time_ms_in(text, NOW_MS)
    assert "2026-03-01T12:30:00Z" in caught.value.hint


def test_what_does_not_begin_with_a_digit_may_be_a_position() -> None:
    assert time_ms_in("AAAA", NOW_MS) is None
