"""Characters that control a terminal, or the direction of text on it."""

from __future__ import annotations

import re

_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
STEERING = f"\x7f-\x9f\u2028\u2029{_BIDI}"
"""Characters that control a terminal or the direction of text on it, for use in a character class of a regular
expression. ASCII's control characters below the space are not among them.

Source: Unicode's Bidi_Control, UAX #9, and its line and paragraph separators.
"""
_STEERING_CHARACTER = re.compile(f"[{STEERING}]")
_OUT_OF_LINE = re.compile(f"[\x00-\x1f{STEERING}]")


def steers(text: str) -> bool:
    """Return whether `text` contains any of `STEERING`."""
    return _STEERING_CHARACTER.search(text) is not None


def escape_steering(text: str) -> str:
    """Return `text` with the characters of `STEERING` escaped as in double quotes of JSON and YAML.

    >>> escape_steering('"a\u202eb"')
    '"a\\\\u202eb"'
    """
    return _STEERING_CHARACTER.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def in_one_line(text: str) -> str:
    """Return `text` with the characters of `STEERING`, and ASCII's below the space, escaped as in Python.

    >>> in_one_line("a\\nb")
    'a\\\\nb'
    """
    return _OUT_OF_LINE.sub(lambda found: ascii(found[0])[1:-1], text)
