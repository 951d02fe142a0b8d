"""YAML, and JSON with it, read so that nothing is lost unseen.

No key counts twice, and of values that would read otherwise as text it is known how they are written. Whether they may
be is for the caller to say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Self

import yaml
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.error import Mark, MarkedYAMLError


class WrittenObject(dict[Any, Any]):
    """An object of a file. `written` has, by key, how those numbers and booleans stand there that become other text.

    >>> [found] = read_documents("{zip: 01234, country: NO, port: 8080}")
    >>> found, found.written
    ({'zip': 668, 'country': False, 'port': 8080}, {'zip': '01234', 'country': 'NO'})
    """

    written: dict[Any, str]


def read_documents(text: str) -> list[Any]:
    """Return the documents of a file in YAML's own types, each object as a `WrittenObject`.

    A key may be given beside a merged object (`<<`) that has it too, and then counts.

    Raises:
        yaml.YAMLError: it is no YAML, a key is given twice in one object, or a value is not what it looks like; `told`
            says where.
        RecursionError: objects too deep.
    """
    as_json = _json_document(text)
    return list(yaml.load_all(text, Loader=_LOADER)) if as_json is None else [as_json]


def told(error: yaml.YAMLError) -> str:
    """Return where in a file what is wrong, in one line."""
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return f"not YAML: {getattr(error, 'reason', error)}"
    what = error.problem if isinstance(error, ConstructorError) else f"not YAML: {error.problem}"
    start, place = error.context_mark, error.problem_mark
    around = f", {error.context} from {_place(start)} on" if start is not None and start.line < place.line else ""
    return f"{_place(place)}: {what}{around}"


def text_of(value: object) -> str:
    """Return a text, number or boolean as text, as Pulsar takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Decimal(float):
    """A number with a fraction or an exponent in JSON; `written` is how it stands there."""

    written: str

    def __new__(cls, written: str) -> Self:
        number = super().__new__(cls, written)
        number.written = written
        return number


def _json_document(text: str) -> WrittenObject | None:
    """Return the object that a text is in JSON. None: it is none, or one in which something would be lost.

    What JSON has and YAML has not: half characters in pairs, control characters, long keys, `1e3`. Whatever is wrong
    with JSON is wrong with YAML too, which says where.

    Raises:
        RecursionError: objects too deep.
    """
    text = text.removeprefix("\ufeff")
    if not text.lstrip().startswith("{"):
        return None
    try:
        found: WrittenObject = _JSON.decode(text)
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()  # half a character cannot be
    except ValueError:
        return None
    return found


def _json_object(pairs: list[tuple[str, Any]]) -> WrittenObject:
    found = WrittenObject(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    decimals = {key: value for key, value in pairs if isinstance(value, _Decimal)}
    found.written = {key: value.written for key, value in decimals.items() if value.written != text_of(value)}
    return found


def _json_whole(written: str) -> int:
    if written == "-0":
        raise ValueError("a sign would be lost")
    return int(written)


def _json_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_JSON = json.JSONDecoder(
    object_pairs_hook=_json_object, parse_float=_Decimal, parse_int=_json_whole, parse_constant=_json_constant
)

_FRAGILE = tuple(f"tag:yaml.org,2002:{each}" for each in ("bool", "int", "float", "timestamp"))
"""Tags that PyYAML makes values of without looking whether it can."""
_LONGEST = 1_000
"""Characters of a number: Python makes no text of one that is much longer, and one of base 60 takes their square."""


def _checked(tag: str, construct: Callable[..., Any]) -> Callable[..., Any]:
    def checked(constructor: SafeConstructor, node: yaml.ScalarNode) -> Any:
        try:
            if len(node.value) > _LONGEST:
                raise ValueError("too long")
            return construct(constructor, node)
        except (AttributeError, IndexError, KeyError, OverflowError, ValueError) as error:
            kind = tag.rpartition(":")[2]
            raise ConstructorError(None, None, f"{node.value[:40]!r} is not of type {kind}", node.start_mark) from error

    return checked


class _Strict(SafeConstructor):
    """Makes values of nodes. Merging puts other keys among a node's own, which are looked at before, and only once."""

    def construct_document(self, node: yaml.Node) -> Any:
        self._looked_at: set[yaml.Node] = set()
        return super().construct_document(node)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        if node not in self._looked_at:
            self._looked_at.add(node)
            _refuse_repeated_keys(node)
        super().flatten_mapping(node)

    def _construct_object(self, node: yaml.MappingNode) -> Iterator[WrittenObject]:
        found = WrittenObject()
        yield found  # before it is filled: an alias inside it may mean it
        found.update(self.construct_mapping(node))
        typed = [key for key, value in found.items() if isinstance(value, int | float)]
        last = {self.construct_object(key): value.value for key, value in node.value} if typed else {}
        found.written = {key: last[key] for key in typed if last[key] != text_of(found[key])}

    yaml_constructors = (
        SafeConstructor.yaml_constructors
        | {tag: _checked(tag, SafeConstructor.yaml_constructors[tag]) for tag in _FRAGILE}
        | {"tag:yaml.org,2002:map": _construct_object}
    )


# libyaml's, where PyYAML was built with it, is ten times as fast.
_LOADER = type("_Loader", (_Strict, getattr(yaml, "CSafeLoader", yaml.SafeLoader)), {})


def _place(mark: Mark) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"


def _refuse_repeated_keys(node: yaml.MappingNode) -> None:
    # By their text alone: a key that is no text is refused by whoever reads the object, or cannot be hashed.
    first: dict[str, yaml.Node] = {}
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in first:
                place = _place(first[key.value].start_mark)
                raise ConstructorError(None, None, f"{key.value} is given twice, first in {place}", key.start_mark)
            first[key.value] = key
