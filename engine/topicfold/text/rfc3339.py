"""Times as events, commits and reports hold them, milliseconds since 1970, and as RFC 3339 writes them, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def moment_of(time_ms: int) -> datetime:
    """Return the moment that many milliseconds after 1970 began.

    Raises:
        OverflowError: no calendar holds it.
    """
    return _EPOCH + time_ms * _MILLISECOND


def time_ms_of(moment: datetime) -> int:
    """Return the whole milliseconds from 1970 to a moment with a zone."""
    return (moment - _EPOCH) // _MILLISECOND


def time_text(time_ms: int, precision: str = "milliseconds") -> str:
    """Return a time to this precision, one of `isoformat`'s.

    >>> time_text(1_700_000_000_000), time_text(1_700_000_000_999, "seconds")
    ('2023-11-14T22:13:20.000Z', '2023-11-14T22:13:20Z')

    Raises:
        OverflowError: no calendar holds it.
    """
    return moment_of(time_ms).isoformat(timespec=precision).replace("+00:00", "Z")


def brief_time_text(time_ms: int) -> str:
    """Return a time for a sentence, without milliseconds where there are none.

    >>> brief_time_text(1_700_000_000_000), brief_time_text(1_700_000_000_999)
    ('2023-11-14T22:13:20Z', '2023-11-14T22:13:20.999Z')

    Raises:
        OverflowError: no calendar holds it.
    """
    return time_text(time_ms).replace(".000Z", "Z")
