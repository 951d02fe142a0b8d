"""Regular expressions on topics' local names, by RE2: time grows with the name, times the expression's size at worst.

Python's own `re` is for expressions of ours only; a user's `(a+)+$` would hold it for ever. A try takes a microsecond
where RE2 knows the states that a name leads through. Where there are too many to be kept, as of `.*a.{60}b`, it takes
as long as the program is large: half a millisecond at worst, so whoever tries many names looks at the clock.

Source: RE2's syntax, https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakValueDictionary

import re2

from topicfold.errors import InvalidRegex

MAX_REGEX_LENGTH = 256
MAX_PROGRAM = 640
"""Instructions that an expression may be compiled to. `.` is about 8 of them, a counted repetition that many times what
it repeats, a class such as `\\pL` a thousand."""
_MAX_MEMORY_BYTES = 1 << 20
_BEYOND_MEMORY = "pattern too large"
"""What RE2 says of a program that does not fit into memory."""

_RE2_HINT = r"It is one of RE2 for the whole name: .* is any text and \. a dot, and nothing looks ahead or back."


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = _MAX_MEMORY_BYTES
    options.never_capture = True
    options.log_errors = False
    return options


_OPTIONS = _options()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Regex:
    """A valid regular expression. Make it with `parse_regex`. `prefix` goes before each name that it is tried on.

    Equal ones are one object, so that what is known of it can be kept for as long as somebody has it.
    """

    text: str
    prefix: str
    _compiled: re2._Regexp = field(compare=False, repr=False)

    def matches(self, name: str) -> bool:
        """Return whether the whole of `name`, behind the prefix, matches, case and all.

        Cost: 1 µs, and O(length of the name times size of the program) at worst.
        """
        return self._compiled.fullmatch(self.prefix + name) is not None

    def __str__(self) -> str:
        return self.text


_known: WeakValueDictionary[tuple[str, str], Regex] = WeakValueDictionary()


def parse_regex(text: str, prefix: str = "") -> Regex:
    """Return the expression that `text` spells, to be tried on names behind `prefix`.

    >>> [parse_regex("pay-.*").matches(name) for name in ("pay-refund", "no-pay-refund")]
    [True, False]

    Raises:
        InvalidRegex: it is empty, too long, too large once compiled, or is none to RE2, which says why.
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
