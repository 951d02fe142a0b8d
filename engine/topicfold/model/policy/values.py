"""The kinds of values that policies have, and how they are read from JSON.

A value that was read is canonical: numbers are ints in range, objects have only members of their shape, and everything
is frozen. Nothing is converted with a loss: 1.9 is not a whole number, and an unknown constant is refused. As in
Pulsar, 2.0 and a text of digits are whole numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, assert_never

from topicfold.errors import InvalidPolicy, step
from topicfold.model.labels import MAX_VIOLATIONS

MIB = 1024 * 1024
MAX_TEXT_LENGTH = 1024
MAX_ITEMS = 256

_MAX_DIGITS = 24
_EXACT_BELOW = 1 << 53
"""From here on a float may have been another whole number, of which it is the nearest."""
_DECIMAL_TEXT = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")

Value = Any
"""A canonical value: bool, int, float, str, a tuple of texts, or a read-only mapping of values."""


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number of 32 or 64 bits, signed."""

    bits: int = 32


@dataclass(frozen=True, slots=True)
class Decimal:
    """A number with a fraction."""


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text of at most `MAX_TEXT_LENGTH` characters."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several constants; `name` is what Pulsar calls them."""

    constants: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True)
class ListOf:
    """Texts or constants, without repetitions, in the order given."""

    item: Text | Choice


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a shape.

    `missing` is its value if JSON leaves it out; None leaves it unset, and then null is allowed in JSON too.
    `alias` is another name that is read if the first is missing, and written beside it.
    """

    name: str
    kind: Kind
    missing: Value = None
    doc: str = ""
    alias: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """An object. A sparse one stores only the members that were given; the others are filled in when it is shown."""

    name: str
    members: tuple[Member, ...]
    is_sparse: bool = False


@dataclass(frozen=True, slots=True)
class MapOf:
    """Values by name. `keys` are the allowed names; if there are none, any text is allowed."""

    value: Shape | Text
    keys: tuple[str, ...] = ()


Kind = Number | Decimal | Flag | Text | Choice | ListOf | Shape | MapOf


@dataclass(slots=True)
class _Reading:
    """Reads one JSON value, collecting violations up to `MAX_VIOLATIONS`; `refuses_unknown`: unknown members are some.

    `is_patch`: the value is a merge patch, so a null removes a member, and a missing member is left as it is.
    """

    refuses_unknown: bool
    is_patch: bool = False
    violations: list[dict[str, str]] = field(default_factory=list)

    def wrong(self, path: str, reason: str) -> None:
        if len(self.violations) < MAX_VIOLATIONS:
            self.violations.append({"path": path, "reason": reason})

    def value(self, kind: Kind, given: Any, path: str) -> Value:
        match kind:
            case Number():
                return self._number(kind, given, path)
            case Decimal():
                return self._decimal(given, path)
            case Flag():
                return self._flag(given, path)
            case Text():
                return self._text(given, path)
            case Choice():
                return self._choice(kind, given, path)
            case ListOf():
                return self._list(kind, given, path)
            case Shape():
                return self._object(kind, given, path)
            case MapOf():
                return self._map(kind, given, path)
            case _:
                assert_never(kind)

    def _number(self, kind: Number, given: Any, path: str) -> Value:
        number = whole_number(given)
        if number is None:
            found = f"{given}" if isinstance(given, float) else kind_of(given)
            if isinstance(given, float) and given.is_integer():
                return self.wrong(path, f"{found} may have been rounded; write its digits, without . and e")
            return self.wrong(path, f"must be a whole number, not {found}")
        if not _fits(kind, number):
            return self.wrong(path, f"{number} does not fit into {kind.bits} bits")
        return number

    def _decimal(self, given: Any, path: str) -> Value:
        if isinstance(given, str):
            if not _DECIMAL_TEXT.fullmatch(given):
                return self.wrong(path, "must be a number, not text")
            given = float(given)
        if not isinstance(given, (int, float)) or isinstance(given, bool):
            return self.wrong(path, f"must be a number, not {kind_of(given)}")
        try:
            found = float(given)
        except OverflowError:
            found = math.inf
        return found if math.isfinite(found) else self.wrong(path, "is too large a number")

    def _flag(self, given: Any, path: str) -> Value:
        if isinstance(given, str) and given in ("true", "false"):
            return given == "true"
        return given if isinstance(given, bool) else self.wrong(path, f"must be true or false, not {kind_of(given)}")

    def _text(self, given: Any, path: str) -> Value:
        if not isinstance(given, str):
            return self.wrong(path, f"must be text, not {kind_of(given)}")
        if len(given) > MAX_TEXT_LENGTH:
            return self.wrong(path, f"has {len(given)} characters, at most {MAX_TEXT_LENGTH} are allowed")
        return given if given.isprintable() else self.wrong(path, "holds characters that cannot be printed")

    def _choice(self, kind: Choice, given: Any, path: str) -> Value:
        if isinstance(given, str) and given in kind.constants:
            return given
        shown = repr(given[:80]) if isinstance(given, str) else kind_of(given)
        return self.wrong(path, f"must be one of {', '.join(kind.constants)}, not {shown}")

    def _list(self, kind: ListOf, given: Any, path: str) -> Value:
        if not isinstance(given, (list, tuple)):
            return self.wrong(path, f"must be a list, not {kind_of(given)}")
        if len(given) > MAX_ITEMS:
            return self.wrong(path, f"has {len(given)} items, at most {MAX_ITEMS} are allowed")
        read = [self.value(kind.item, item, _under(path, index)) for index, item in enumerate(given)]
        return tuple(dict.fromkeys(read))

    def _object(self, shape: Shape, given: Any, path: str) -> Value:
        if not isinstance(given, Mapping):
            return self.wrong(path, f"must be an object, not {kind_of(given)}")
        found: dict[str, Value] = {}
        for member in shape.members:
            is_alias = member.alias and member.alias in given and given.get(member.name) is None
            name = member.alias if is_alias else member.name
            if given.get(name) is not None:
                found[member.name] = self.value(member.kind, given[name], _under(path, name))
            elif name in given and self.is_patch:
                found[member.name] = None
            elif name in given and member.missing is not None:
                self.wrong(_under(path, name), "must not be null")
            elif self.is_patch:
                continue
            elif member.missing is not None and not shape.is_sparse:
                found[member.name] = member.missing
        if self.refuses_unknown:
            known = {name for member in shape.members for name in (member.name, member.alias) if name}
            for name in (each for each in given if each not in known):
                self.wrong(_under(path, name), f"not known here; expected one of {', '.join(sorted(known))}")
        return MappingProxyType(found)

    def _map(self, kind: MapOf, given: Any, path: str) -> Value:
        if not isinstance(given, Mapping):
            return self.wrong(path, f"must be an object, not {kind_of(given)}")
        removed = {name for name, each in given.items() if each is None and self.is_patch}
        if len(given) - len(removed) > MAX_ITEMS:
            return self.wrong(path, f"has {len(given) - len(removed)} members, at most {MAX_ITEMS} are allowed")
        for name in given:
            if kind.keys and name not in kind.keys:
                self.wrong(_under(path, name), f"not known here; expected one of {', '.join(kind.keys)}")
            elif not isinstance(name, str) or len(name) > MAX_TEXT_LENGTH or not name.isprintable():
                self.wrong(_under(path, name), "is not a name")
            elif not name.strip() and name not in removed:
                self.wrong(_under(path, repr(name)), "is a blank name")
        return MappingProxyType(
            {
                name: None if name in removed else self.value(kind.value, given[name], _under(path, name))
                for name in sorted(given, key=str)
            }
        )


def whole_number(given: Any) -> int | None:
    """Return the whole number that a JSON value means, None if it means none.

    >>> whole_number("12"), whole_number(2.0), whole_number(1.9), whole_number(True)
    (12, 2, None, None)
    """
    match given:
        case bool():
            return None
        case str() if given.isascii() and given.removeprefix("-").isdecimal() and len(given) <= _MAX_DIGITS:
            return int(given)
        case float() if given.is_integer() and abs(given) < _EXACT_BELOW:
            return int(given)
        case int():
            return given
        case _:
            return None


def read_value(kind: Kind, given: Any, what: str, *, refuses_unknown: bool = False) -> Value:
    """Return the canonical value for a JSON value; `what` names it in errors.

    >>> read_value(Number(), "12", "maxProducers")
    12

    Raises:
        InvalidPolicy: carries all violations with their paths, up to `MAX_VIOLATIONS`. Members that a shape does not
            have are violations with `refuses_unknown`, and ignored otherwise.
    """
    return _read(_Reading(refuses_unknown), kind, given, what)


def read_patch(kind: Kind, given: Any, what: str) -> Value:
    """Return a JSON value as a canonical merge patch for a value of this kind; anything but an object replaces it.

    >>> dict(read_patch(MapOf(Text()), {"b": "1", "a": None}, "settings"))
    {'a': None, 'b': '1'}

    Raises:
        InvalidPolicy: carries what is wrong regardless of the value that it is applied to, up to `MAX_VIOLATIONS`.
    """
    return _read(_Reading(refuses_unknown=True, is_patch=True), kind, given, what)


def shown_value(kind: Kind, value: Value) -> Any:
    """Return a canonical value as JSON shows it: aliases beside their names, a sparse shape's members filled in."""
    match kind:
        case Shape():
            shown: dict[str, Any] = {}
            for member in kind.members:
                found = value.get(member.name, member.missing if kind.is_sparse else None)
                if found is not None:
                    if member.alias:
                        shown[member.alias] = found
                    shown[member.name] = shown_value(member.kind, found)
            return shown
        case MapOf():
            return {name: shown_value(kind.value, each) for name, each in value.items()}
        case ListOf():
            return list(value)
        case _:
            return value


def plain_value(value: Value) -> Any:
    """Return a canonical value as dicts and lists, as it is stored; None stays None."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        return {name: plain_value(each) for name, each in value.items()}
    return list(value) if isinstance(value, tuple) else value


def is_whole(kind: Kind, value: Value) -> bool:
    """Return whether a value has every member that canonical ones always have, and only numbers in range, however deep.

    >>> rate = Shape("Rate", (Member("limit", Number(32), 0), Member("note", Text())))
    >>> is_whole(rate, {"limit": 5}), is_whole(MapOf(rate), {"a": {}}), is_whole(rate, {"limit": 1 << 31})
    (True, False, False)
    """
    match kind:
        case Number():
            return _fits(kind, value)
        case Decimal():
            return math.isfinite(value)
        case Shape():
            return all(
                is_whole(member.kind, value[member.name])
                if member.name in value
                else kind.is_sparse or member.missing is None
                for member in kind.members
            )
        case MapOf():
            return all(is_whole(kind.value, each) for each in value.values())
        case _:
            return True


def _fits(kind: Number, number: int) -> bool:
    limit = 1 << (kind.bits - 1)
    return -limit <= number < limit


def frozen_value(value: Any) -> Value:
    """Return a value from `plain_value`, frozen again; members that are None are left out."""
    if isinstance(value, Mapping):
        return MappingProxyType({name: frozen_value(each) for name, each in value.items() if each is not None})
    return tuple(value) if isinstance(value, list) else value


def kind_of(given: Any) -> str:
    """Return the kind of a value in words: JSON's name for it, or else Python's."""
    names: Sequence[tuple[type | tuple[type, ...], str]] = (
        (bool, "a boolean"), ((int, float), "a number"), (str, "text"), (list, "a list"), (dict, "an object"),
    )  # fmt: skip
    other = "null" if given is None else f"a {type(given).__name__}"
    return next((name for kind, name in names if isinstance(given, kind)), other)


def _read(reading: _Reading, kind: Kind, given: Any, what: str) -> Value:
    value = reading.value(kind, given, "")
    if reading.violations:
        raise InvalidPolicy(what, reading.violations)
    return value


def _under(path: str, name: object) -> str:
    return f"{path}.{step(name)}" if path else step(name)
