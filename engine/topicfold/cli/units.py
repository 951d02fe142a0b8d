"""Times and sizes as people write them: 90, 10m, 7d; 4096, 10M, 2T.

A number alone is seconds or bytes; -1, alone, says "no limit". Capitals do not matter. A year has 365 days, and K is
1024.

Source: Pulsar's `RelativeTimeUtil` and `ByteUnitUtil`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from topicfold.errors import InvalidRequest

_MINUTE_SECONDS = 60
_HOUR_SECONDS = 60 * _MINUTE_SECONDS
_DAY_SECONDS = 24 * _HOUR_SECONDS
_SECONDS: Mapping[str, int] = {
    "": 1, "s": 1, "m": _MINUTE_SECONDS, "h": _HOUR_SECONDS,
    "d": _DAY_SECONDS, "w": 7 * _DAY_SECONDS, "y": 365 * _DAY_SECONDS,
}  # fmt: skip
_BYTES: Mapping[str, int] = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_AMOUNT = re.compile(r"(\+?[0-9]{1,19})([A-Za-z]?)")
_UNLIMITED = -1


def read_seconds(text: str, option: str) -> int:
    """Return a time in seconds.

    >>> read_seconds("200d", "--time")
    17280000

    Raises:
        InvalidRequest: `text` is none; the reason names `option`.
    """
    return _read(text, option, "time", _SECONDS, "Write whole seconds, or a number with s, m, h, d, w or y: 10m, 7d.")


def read_bytes(text: str, option: str) -> int:
    """Return a size in bytes.

    >>> read_bytes("2T", "--size")
    2199023255552

    Raises:
        InvalidRequest: `text` is none; the reason names `option`.
    """
    return _read(text, option, "size", _BYTES, "Write whole bytes, or a number with K, M, G or T: 4096, 10M.")


def age_text(seconds: float) -> str:
    """Return an age for people, in a unit in which it is one or more.

    >>> age_text(0.4), age_text(90), age_text(9_000), age_text(200_000)
    ('0 s', '2 min', '2.5 h', '2.3 d')
    """
    if seconds < _MINUTE_SECONDS:
        return f"{seconds:.0f} s"
    if seconds < _HOUR_SECONDS:
        return f"{seconds / _MINUTE_SECONDS:.0f} min"
    if seconds < _DAY_SECONDS:
        return f"{seconds / _HOUR_SECONDS:.1f} h"
    return f"{seconds / _DAY_SECONDS:.1f} d"


def in_whole(amount: int, unit: int, text: str, option: str, unit_name: str) -> int:
    """Return how many whole `unit`s `amount` is, rounded down: so -1 stays what it is, no limit.

    Raises:
        InvalidRequest: it is less than one, which would turn "a little" into "nothing".
    """
    whole = amount // unit
    if amount and not whole:
        raise InvalidRequest(
            f"{option}: {text!r} is less than a {unit_name}",
            hint=f"Write 0, at least one {unit_name}, or -1 for no limit.",
        )
    return whole


def _read(text: str, option: str, what: str, units: Mapping[str, int], hint: str) -> int:
    if text == str(_UNLIMITED):
        return _UNLIMITED
    found = _AMOUNT.fullmatch(text)
    unit = units.get(found[2].lower()) if found else None
    if found is None or unit is None:
        raise InvalidRequest(f"{option}: {text!r} is not a {what}", hint=hint)
    return int(found[1]) * unit
