"""Regular expressions for topics' local names, by RE2: time is at worst the name's length times the expression's size.

Python's own `re` is only used for our own expressions; a user's `(a+)+$` would block it for ever. Trying a name takes a
microsecond if RE2 has cached the states that the name leads through. If there are too many to cache, as for
`.*a.{60}b`, the time depends on the program's size: half a millisecond at worst, so code that tries many names must
watch the clock.

Source: RE2's syntax, https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakValueDictionary

import re2

from topicfold.errors import InvalidRegex

MAX_REGEX_LENGTH = 256
MAX_PROGRAM = 640
"""How many instructions an expression may compile to. `.` takes about 8, a class such as `\\pL` a thousand, and a
counted repetition multiplies what it repeats."""
_MAX_MEMORY_BYTES = 1 << 20
_BEYOND_MEMORY = "pattern too large"
"""RE2's message for a program that does not fit into memory."""

_RE2_HINT = r"Write RE2 syntax for the whole name: .* is any text, \. a dot; there is no lookahead or lookbehind."


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = _MAX_MEMORY_BYTES
    options.never_capture = True
    options.log_errors = False
    return options


_OPTIONS = _options()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Regex:
    """A valid regular expression, created by `parse_regex`. `prefix` is put before each name that is tried.

    Equal ones are the same object, so that results can be cached for as long as somebody holds it.
    """

    text: str
    prefix: str
    _compiled: re2._Regexp = field(compare=False, repr=False)

    def matches(self, name: str) -> bool:
        """Return whether the whole of `name`, after the prefix, matches; case matters.

        Cost: 1 µs; at worst O(length of the name × size of the program).
        """
        return self._compiled.fullmatch(self.prefix + name) is not None

    def __str__(self) -> str:
        return self.text


_known: WeakValueDictionary[tuple[str, str], Regex] = WeakValueDictionary()


def parse_regex(text: str, prefix: str = "") -> Regex:
    """Return the expression in `text`, to be tried on names with `prefix` before them.

    >>> [parse_regex("pay-.*").matches(name) for name in ("pay-refund", "no-pay-refund")]
    [True, False]

    Raises:
        InvalidRegex: it is empty, too long, too large once compiled, or not valid for RE2; says why.
    """
    known = _known.get((text, prefix))
    if known is not None:
        return known
    if not text:
        raise InvalidRegex("a regular expression must not be empty", regex=text)
    if len(text) > MAX_REGEX_LENGTH:
        reason = f"regular expression {text[:80]!r}: {len(text)} characters, at most {MAX_REGEX_LENGTH} are allowed"
        raise InvalidRegex(reason, regex=text)
    try:
        compiled = re2.compile(text, _OPTIONS)
    except UnicodeEncodeError:
        raise InvalidRegex("a regular expression must be valid UTF-8", regex=ascii(text)) from None
    except re2.error as error:
        said = error.args[0].decode(errors="replace")
        if _BEYOND_MEMORY in said:
            raise _too_large(text) from None
        raise InvalidRegex(f"regular expression {text[:80]!r}: {said}", hint=_RE2_HINT, regex=text) from None
    if compiled.programsize > MAX_PROGRAM:
        raise _too_large(text)
    regex = _known[text, prefix] = Regex(text, prefix, compiled)
    return regex


def _too_large(text: str) -> InvalidRegex:
    return InvalidRegex(
        f"regular expression {text[:80]!r}: pattern too large",
        hint=r"Repeat fewer times (.+ for .{1,200}), and name characters ([a-z]) rather than classes such as \pL.",
        regex=text,
    )
