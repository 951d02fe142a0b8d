"""Parses selectors in Kubernetes' text form: `team=pay,tier in (gold,silver),!legacy`.

    selector    = [ requirement *( "," requirement ) ]
    requirement = key / "!" key / key ( "=" / "==" / "!=" ) [ value ] / key ( ">" / "<" ) integer
                / key ( "in" / "notin" ) "(" [ value ] *( "," [ value ] ) ")"

A missing value is the empty one. `in` and `notin` are operators only in an operator's place. There are no quotes,
escapes, ORs or groups. Cost: linear in the text, which is short.

Source: Kubernetes apimachinery `pkg/labels/selector.go`. Stricter: control bytes are refused; upstream ends at a NUL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from topicfold.errors import InvalidSelector
from topicfold.model.finding.selector import (
    MAX_REQUIREMENTS,
    DoesNotExist,
    Equals,
    Exists,
    GreaterThan,
    In,
    LessThan,
    NotEquals,
    NotIn,
    Requirement,
    Selector,
    integer_of,
    is_word,
    word_rule,
)
from topicfold.model.labels import MAX_VALUE_LENGTH, broken_key_rule

MAX_LENGTH = 1024

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_TOKEN = re.compile(r"==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+")
_END = ""
_SIGNS = frozenset({_END, "==", "!=", *"=!(),<>"})
"""All tokens that are not words."""

_EXCERPT = 30
_ANY_VALUE = '. JSON takes any value: {"matchLabels": {"owner": "ann@example.com"}}'
_NO_WILDCARD = ". No * stands for anything here: a key alone finds it with any value"


def parse_selector(text: str, *, max_value_length: int = MAX_VALUE_LENGTH) -> Selector:
    """Return the selector in `text`; if that is blank, the empty one.

    Kubernetes' own `max_value_length` is 63.

    >>> str(parse_selector("tier in (gold, silver), team = pay"))
    'team=pay,tier in (gold,silver)'

    Raises:
        InvalidSelector: carries the `column` of what is wrong, and says what was expected.
    """
    if len(text) > MAX_LENGTH:
        raise refusal(text, MAX_LENGTH + 1, f"{len(text)} characters, at most {MAX_LENGTH} are allowed")
    control = _CONTROL.search(text)
    if control:
        raise refusal(text, control.start() + 1, f"{_quoted(control[0])} is a control character")
    return Selector(tuple(_Reader(text, max_value_length).requirements()))


def refusal(text: str, column: int, what: str, instead: str = "") -> InvalidSelector:
    """Return the error that says `what` is wrong with `text` in this column, shows the place, and adds `instead`."""
    before, after = text[: column - 1][-_EXCERPT:], text[column - 1 :][:_EXCERPT]
    place = "".join(each if each.isprintable() else " " for each in f"{before}^{after}")
    hint = f"Look at the ^ in: {place}{instead}"
    return InvalidSelector(f"label selector, column {column}: {what}", hint=hint, column=column)


class _Reader:
    """Parses one text, token by token; `_next` is the next token."""

    def __init__(self, text: str, max_value_length: int) -> None:
        self._text = text
        self._max_value_length = max_value_length
        self._tokens: list[str] = [*_TOKEN.findall(text), _END]
        self._at = 0
        self._next = self._tokens[0]

    def requirements(self) -> Iterator[Requirement]:
        """Yield the requirements in the order in which they are written."""
        if self._next == _END:
            return
        for _ in range(MAX_REQUIREMENTS):
            yield self._requirement()
            if self._next == _END:
                return
            if self._next != ",":
                raise self._expected("',' or the end", "" if self._next in _SIGNS else _ANY_VALUE)
            self._step()
        raise self._refused(f"this is requirement {MAX_REQUIREMENTS + 1}, at most {MAX_REQUIREMENTS} are allowed")

    def _requirement(self) -> Requirement:
        if self._next == "!":
            self._step()
            return DoesNotExist(self._key())
        key = self._key()
        match self._next:
            case "" | ",":
                return Exists(key)
            case "=" | "==" as sign:
                return Equals(key, self._value(), sign)
            case "!=":
                return NotEquals(key, self._value())
            case ">":
                return GreaterThan(key, self._integer())
            case "<":
                return LessThan(key, self._integer())
            case "in":
                return In(key, self._values())
            case "notin":
                return NotIn(key, self._values())
            case _:
                raise self._expected("one of = == != in notin > <, or ',' or the end")

    def _key(self) -> str:
        key = self._next
        if key in _SIGNS:
            raise self._expected("a key, or '!' and a key")
        broken = broken_key_rule(key)
        if broken is not None:
            pair = key.partition(":")
            is_pair = pair[1] and not broken_key_rule(pair[0]) and ":" not in pair[2]
            meant = f"; write {_quoted(f'{pair[0]}={pair[2]}')}" if is_pair else ""
            raise self._refused(f"{_quoted(key)} is not a key: {broken}{meant}")
        self._step()
        return key

    def _value(self) -> str:
        """Return the value after the operator; it may be missing before a comma or the end."""
        self._step()
        if self._next in (_END, ","):
            return ""
        if self._next in _SIGNS:
            raise self._expected("a value, or nothing for the empty one")
        return self._word()

    def _integer(self) -> str:
        self._step()
        if self._next in _SIGNS:
            raise self._expected("an integer")
        if integer_of(self._next) is None or not self._next.isalnum():
            raise self._refused(
                f"{_quoted(self._next)} is not an integer: decimal digits without a sign, at most {2**63 - 1}"
            )
        return self._word()

    def _values(self) -> frozenset[str]:
        """Return the values of a list; between two of its signs there is an empty value."""
        self._step()
        if self._next != "(":
            raise self._expected("'('")
        values: set[str] = set()
        while self._next != ")":
            self._step()
            values.add("" if self._next in _SIGNS else self._word())
            if self._next not in (",", ")"):
                raise self._expected("',' or ')'")
        self._step()
        return frozenset(values)

    def _word(self) -> str:
        word = self._next
        if not is_word(word, self._max_value_length):
            instead = _NO_WILDCARD * ("*" in word) + _ANY_VALUE
            raise self._refused(f"{_quoted(word)} is not a value here: {word_rule(self._max_value_length)}", instead)
        self._step()
        return word

    def _step(self) -> None:
        self._at += 1
        self._next = self._tokens[self._at]

    def _expected(self, what: str, instead: str = "") -> InvalidSelector:
        return self._refused(f"found {_quoted(self._next) if self._next else 'the end'}, expected {what}", instead)

    def _refused(self, what: str, instead: str = "") -> InvalidSelector:
        """Return the error that says `what` is wrong at the next token, and what to do `instead`."""
        starts = [found.start() for found in _TOKEN.finditer(self._text)]
        return refusal(self._text, [*starts, len(self._text)][self._at] + 1, what, instead)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _EXCERPT else text[:_EXCERPT] + "…")
