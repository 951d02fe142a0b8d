"""Times and sizes as Pulsar's command reads them."""

from __future__ import annotations

import pytest

from topicfold.cli.units import in_whole, read_bytes, read_seconds
from topicfold.errors import InvalidRequest

DAY = 24 * 60 * 60


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90), ("-1", -1), ("+5", 5), ("0", 0), ("90s", 90), ("10m", 600), ("10M", 600), ("3h", 10_800),
        ("7d", 7 * DAY), ("2w", 14 * DAY), ("1y", 365 * DAY),
    ],
)  # fmt: skip
def test_a_time_is_seconds_or_has_a_unit(text: str, seconds: int) -> None:
    assert read_seconds(text, "--time") == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096),
        ("-1", -1),
        ("10k", 10 << 10),
        ("10K", 10 << 10),
        ("16M", 16 << 20),
        ("2g", 2 << 30),
        ("2T", 2 << 40),
    ],
)
def test_a_size_is_bytes_or_has_a_unit(text: str, size: int) -> None:
    assert read_bytes(text, "--size") == size


@pytest.mark.parametrize("text", ["", "x", "m", "10x", "1.5h", "10ms", "1 h", "1_0", "٣m", "9" * 20])
def test_what_is_no_time_is_refused_and_the_option_named(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"--time: .* is not a time") as refused:
        read_seconds(text, "--time")
    assert "10m" in refused.value.hint


@pytest.mark.parametrize("text", ["", "10MB", "10Mi", "1.5G", "M", "10\N{KELVIN SIGN}"])
def test_what_is_no_size_is_refused_and_the_option_named(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"--size: .* is not a size"):
        read_bytes(text, "--size")


@pytest.mark.parametrize(("seconds", "minutes"), [(0, 0), (60, 1), (119, 1), (-1, -1), (-120, -2)])
def test_whole_units_are_counted_down_and_no_limit_stays_none(seconds: int, minutes: int) -> None:
    assert in_whole(seconds, 60, "text", "--time", "minute") == minutes


def test_a_little_does_not_become_nothing() -> None:
    with pytest.raises(InvalidRequest, match="--time: '30' is less than a minute"):
        in_whole(30, 60, "30", "--time", "minute")
