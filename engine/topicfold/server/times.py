"""Times in requests: a moment of RFC 3339, or how long ago it was."""

from __future__ import annotations

import re
from datetime import datetime

from topicfold.errors import InvalidRequest
from topicfold.text.rfc3339 import brief_time_text, time_ms_of

_AGO = re.compile(r"([0-9]{1,9})([smhdwy])")
# A plus that was not escaped comes as a space.
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?(?:[Zz]|([+ -])([0-9:]{5}))"
)
_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000, "y": 31_536_000_000}
TIME_HINT = "Write a time like 2026-03-01T12:30:00Z or 2026-03-01T12:30:00+01:00, or how long ago that is: 30m, 2h, 7d."
_MAX_AHEAD_MS = 10_000
"""By how much a caller's clock may be ahead of this node's."""


def time_ms_in(text: str, now_ms: int) -> int | None:
    """Return the time that a text says, in milliseconds since 1970; None where it is no time at all.

    Raises:
        InvalidRequest: it is none that was, or does not say in which zone.
    """
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return max(0, now_ms - int(ago[1]) * _UNITS_MS[ago[2]])
    if not text[:1].isdigit():
        return None
    parts = _TIME.fullmatch(text)
    if parts is None:
        raise InvalidRequest(f"at={text[:80]} is not a time with a zone", hint=TIME_HINT)
    zone = f"{'-' if parts[4] == '-' else '+'}{parts[5]}" if parts[5] else "+00:00"
    try:
        time_ms = time_ms_of(datetime.fromisoformat(f"{parts[1]}T{parts[2]}{(parts[3] or '')[:7]}{zone}"))
    except ValueError:
        raise InvalidRequest(f"at={text[:80]} is not in the calendar", hint=TIME_HINT) from None
    if time_ms > now_ms + _MAX_AHEAD_MS:
        raise InvalidRequest(f"at={text[:80]} is in the future; it is {brief_time_text(now_ms)} here")
    return max(0, time_ms)
