"""Regular expressions on topics' local names, by RE2: time grows with the name alone, whatever the expression.

Python's own `re` is for expressions of ours only; a user's `(a+)+$` would hold it for ever.

Source: RE2's syntax, https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import re2

from topicfold.errors import InvalidRegex

MAX_REGEX_LENGTH = 256
_MAX_MEMORY_BYTES = 1 << 20


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = _MAX_MEMORY_BYTES
    options.never_capture = True
    options.log_errors = False
    return options


_OPTIONS = _options()


@dataclass(frozen=True, slots=True)
class Regex:
    """A valid regular expression. Make it with `parse_regex`. `prefix` goes before each name that it is tried on."""

    text: str
    prefix: str
    _compiled: re2._Regexp = field(compare=False, repr=False)

    def matches(self, name: str) -> bool:
        """Return whether the whole of `name`, behind the prefix, matches, case and all. Cost: O(length of the name)."""
        return self._compiled.fullmatch(self.prefix + name) is not None

    def __str__(self) -> str:
        return self.text


def parse_regex(text: str, prefix: str = "") -> Regex:
    """Return the expression that `text` spells, to be tried on names behind `prefix`.

    >>> [parse_regex("pay-.*").matches(name) for name in ("pay-refund", "no-pay-refund")]
    [True, False]

    Raises:
        InvalidRegex: it is empty, too long, needs too much memory, or is none to RE2, which says why.
    """
    if not text:
        raise InvalidRegex("a regular expression must not be empty", regex=text)
    if len(text) > MAX_REGEX_LENGTH:
        reason = f"regular expression {text[:80]!r}: {len(text)} characters, at most {MAX_REGEX_LENGTH} are allowed"
        raise InvalidRegex(reason, regex=text)
    try:
        return Regex(text, prefix, re2.compile(text, _OPTIONS))
    except UnicodeEncodeError:
        raise InvalidRegex("a regular expression must be valid UTF-8", regex=ascii(text)) from None
    except re2.error as error:
        said = error.args[0].decode(errors="replace")
        raise InvalidRegex(f"regular expression {text[:80]!r}: {said}", regex=text) from None
