"""Patterns for topics' local names: text, `*` for one segment, `**` at the end for one or more.

A name is split into segments at each separator, from the left: `a___b` is `a`, `_b`. Nothing else is special, and there
are no escapes. A name with an empty segment (`__change_events`) matches no pattern, so `**` never includes system
topics.

Source: RocketMQ #10559; NATS's subjects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from topicfold.errors import InvalidPattern

SEPARATOR = "__"
MAX_PATTERN_LENGTH = 512
MAX_SEGMENTS = 32
ONE = "*"
REST = "**"
_USUAL_SEPARATORS = (".", SEPARATOR)


@dataclass(frozen=True, slots=True)
class Shape:
    """What patterns that differ only in their literals have in common.

    `count` is the number of segments, including a last `**`; `is_open` says whether there is one; `positions` are those
    of the literals, from 0. `pick` returns the segments at these positions, from a list that is long enough.
    """

    count: int
    is_open: bool
    positions: tuple[int, ...]
    pick: Callable[[Sequence[str]], Hashable] = field(compare=False, repr=False)

    def admits(self, length: int) -> bool:
        """Return whether a name of `length` segments may match a pattern of this shape."""
        return length == self.count or (self.is_open and length > self.count)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A valid pattern, created by `parse_pattern`.

    `literals` is what its shape picks from its segments.
    """

    segments: tuple[str, ...]
    separator: str
    shape: Shape = field(repr=False)
    literals: Hashable = field(repr=False)

    def matches(self, name: str | None) -> bool:
        """Return whether the local name `name` matches; an empty name and None never do.

        >>> [parse_pattern("pay__**").matches(name) for name in ("pay__refund__notify", "pay", "pay__")]
        [True, False, False]

        Cost: O(length of the name).
        """
        if not name:
            return False
        segments, shape = name.split(self.separator), self.shape
        if len(segments) != shape.count and not (shape.is_open and len(segments) > shape.count):
            return False
        return shape.pick(segments) == self.literals and "" not in segments

    @property
    def is_literal(self) -> bool:
        """Whether it has no wildcard, so that it matches only the name that it spells."""
        return len(self.shape.positions) == self.shape.count

    def __str__(self) -> str:
        return self.separator.join(self.segments)


def parse_pattern(text: str | None, separator: str = SEPARATOR) -> Pattern:
    """Return the pattern in `text`; None stands for a null in a request, and is refused.

    Raises:
        InvalidPattern: names the first invalid segment, and says why.
    """
    if not text:
        raise _refusal(text, separator, None, "a pattern must not be empty")
    if len(text) > MAX_PATTERN_LENGTH:
        raise _refusal(text, separator, None, f"{len(text)} characters, at most {MAX_PATTERN_LENGTH} are allowed")
    segments = tuple(text.split(separator))
    if len(segments) > MAX_SEGMENTS:
        raise _refusal(
            text, separator, MAX_SEGMENTS + 1, f"{len(segments)} segments, at most {MAX_SEGMENTS} are allowed"
        )
    for number, segment in enumerate(segments, 1):
        reason = _violation(segment, is_last=number == len(segments))
        if reason:
            raise _refusal(text, separator, number, f"segment {number} {reason}", is_starred=ONE in segment)
    positions = tuple(position for position, segment in enumerate(segments) if segment not in (ONE, REST))
    shape = Shape(len(segments), segments[-1] == REST, positions, _picker(positions))
    return Pattern(segments, separator, shape, shape.pick(segments))


def _violation(segment: str, is_last: bool) -> str | None:
    """Return what is wrong with a segment, or None."""
    if not segment:
        return "is empty"
    if segment == REST and not is_last:
        return "is '**', which can only be the last"
    if ONE in segment and segment not in (ONE, REST):
        return f"is {segment[:80]!r}: a '*' must be a whole segment"
    return None


def _meant_separator(text: str) -> str | None:
    """Return the usual separator of names with which `text` is a pattern of several segments, None if there is none.

    >>> _meant_separator("prod.*.orders")
    '.'
    """
    for separator in _USUAL_SEPARATORS:
        *firsts, last = text.split(separator)
        if firsts and not (any(_violation(each, is_last=False) for each in firsts) or _violation(last, is_last=True)):
            return separator
    return None


def _expression(text: str, separator: str | None) -> str:
    """Return the regular expression for `text`, a pattern whose segments `separator` separates.

    With None, it is read as a shell pattern, where `*` stands for any characters.

    >>> _expression("prod.*.orders", "."), _expression("ord*", None)
    ('prod\\\\.[^.]+\\\\.orders', 'ord.*')
    """
    if separator is None:
        return re.sub(r"(\\\*)+", ".*", re.escape(text))
    wild = {ONE: "[^.]+" if separator == "." else ".+", REST: ".+"}
    return re.escape(separator).join(wild.get(each) or re.escape(each) for each in text.split(separator))


def _refusal(
    text: str | None, separator: str, segment: int | None, reason: str, *, is_starred: bool = False
) -> InvalidPattern:
    shown = "null" if text is None else repr(text[:80])
    meant = _meant_separator(text) if text and is_starred else None
    expression = _expression(text, meant) if text and is_starred else None
    rule = f"Separate segments by {separator!r}; each is text, * for any one, or a last ** for one or more."
    if meant:
        rule += f" With TOPICFOLD_WILDCARD_SEPARATOR={meant} on all nodes they are separated by {meant!r} instead."
    return InvalidPattern(
        f"pattern {shown}: {reason}",
        hint=f"{rule} A regular expression can say more: {expression}" if expression else rule,
        pattern=text,
        segment=segment,
        separator=separator,
        meant=meant,
        expression=expression,
    )


def _picker(positions: tuple[int, ...]) -> Callable[[Sequence[str]], Hashable]:
    return itemgetter(*positions) if positions else _nothing


def _nothing(_: Sequence[str]) -> Hashable:
    return ()
