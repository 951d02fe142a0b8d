"""Label selectors: what they require of a topic's labels. Their notations are parsed in `selector_*`.

| requirement | key absent | key present with value v |
|---|---|---|
| `k` | no | yes, also where v is empty |
| `!k` | yes | no |
| `k=a`, `k==a`, `k in (a,b)` | no | v is a, or one of them |
| `k!=a`, `k notin (a,b)` | yes | v is not a, or none of them |
| `k>n`, `k<n` | no | v is an integer, and greater or less |

All requirements must hold, so a selector without any holds for everything.

Source: Kubernetes apimachinery `pkg/labels/selector.go`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from topicfold.errors import InvalidLabels, InvalidSelector
from topicfold.model.labels import MAX_VALUE_LENGTH, WORD, LabelRules, check_labels

MAX_REQUIREMENTS = 64

Labels = Mapping[str, str]

_INTEGER = re.compile(r"([+-]?)(?=[0-9])0*+([0-9]{0,19})")
_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Equals:
    """`key=value`, or with `==`, which means the same; the sign is kept as it was written."""

    key: str
    value: str
    sign: Literal["=", "=="] = "="

    def holds(self, labels: Labels) -> bool:
        """Return whether the key is there with this value."""
        return labels.get(self.key) == self.value

    def __str__(self) -> str:
        return f"{self.key}{self.sign}{_written(self.value)}"


@dataclass(frozen=True, slots=True)
class NotEquals:
    """`key!=value`."""

    key: str
    value: str

    def holds(self, labels: Labels) -> bool:
        """Return whether the key is absent or has another value."""
        return labels.get(self.key) != self.value

    def __str__(self) -> str:
        return f"{self.key}!={_written(self.value)}"


@dataclass(frozen=True, slots=True)
class In:
    """`key in (a,b)`."""

    key: str
    values: frozenset[str]

    def holds(self, labels: Labels) -> bool:
        """Return whether the key is there with one of the values."""
        return labels.get(self.key) in self.values

    def __str__(self) -> str:
        return f"{self.key} in ({','.join(sorted(self.values))})"


@dataclass(frozen=True, slots=True)
class NotIn:
    """`key notin (a,b)`."""

    key: str
    values: frozenset[str]

    def holds(self, labels: Labels) -> bool:
        """Return whether the key is absent or has none of the values."""
        return labels.get(self.key) not in self.values

    def __str__(self) -> str:
        return f"{self.key} notin ({','.join(sorted(self.values))})"


@dataclass(frozen=True, slots=True)
class Exists:
    """`key`."""

    key: str

    def holds(self, labels: Labels) -> bool:
        """Return whether the key is there, with whatever value."""
        return self.key in labels

    def __str__(self) -> str:
        return self.key


@dataclass(frozen=True, slots=True)
class DoesNotExist:
    """`!key`."""

    key: str

    def holds(self, labels: Labels) -> bool:
        """Return whether the key is absent."""
        return self.key not in labels

    def __str__(self) -> str:
        return f"!{self.key}"


@dataclass(frozen=True, slots=True)
class GreaterThan:
    """`key>bound`; `text` is the bound's decimal digits as they were written, within 64 bits."""

    key: str
    text: str

    def holds(self, labels: Labels) -> bool:
        """Return whether the key is there with a greater integer."""
        number = integer_of(labels.get(self.key, ""))
        return number is not None and number > self.bound

    @property
    def bound(self) -> int:
        """The bound as a number."""
        return int(self.text)

    def __str__(self) -> str:
        return f"{self.key}>{self.text}"


@dataclass(frozen=True, slots=True)
class LessThan:
    """`key<bound`; `text` is the bound's decimal digits as they were written, within 64 bits."""

    key: str
    text: str

    def holds(self, labels: Labels) -> bool:
        """Return whether the key is there with a lesser integer."""
        number = integer_of(labels.get(self.key, ""))
        return number is not None and number < self.bound

    @property
    def bound(self) -> int:
        """The bound as a number."""
        return int(self.text)

    def __str__(self) -> str:
        return f"{self.key}<{self.text}"


Positive = Equals | In | Exists | GreaterThan | LessThan
"""Requirements that can only be fulfilled with their key."""

Negative = NotEquals | NotIn | DoesNotExist
"""Requirements that are always fulfilled without their key."""

Requirement = Positive | Negative


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements that must all hold, sorted by key; those with the same key stay in the order given.

    `str()` is the canonical text. For a selector that was parsed from a text, it parses to the same selector again. A
    value that only `selector_of_labels` accepts is shown as a JSON string, which is not valid in a selector's text.

    >>> selector = Selector((In("tier", frozenset({"silver", "gold"})), Equals("team", "pay")))
    >>> str(selector), selector.matches({"team": "pay", "tier": "gold"})
    ('team=pay,tier in (gold,silver)', True)
    """

    requirements: tuple[Requirement, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "requirements", tuple(sorted(self.requirements, key=lambda each: each.key)))

    @property
    def is_empty(self) -> bool:
        """Whether there are no requirements, so that everything matches."""
        return not self.requirements

    @property
    def positives(self) -> tuple[Positive, ...]:
        """The requirements that no topic without their key fulfils."""
        return tuple([each for each in self.requirements if isinstance(each, Positive)])

    @property
    def negatives(self) -> tuple[Negative, ...]:
        """The requirements that every topic without their key fulfils."""
        return tuple([each for each in self.requirements if isinstance(each, Negative)])

    def matches(self, labels: Labels) -> bool:
        """Return whether a topic with exactly these labels fulfils every requirement."""
        for each in self.requirements:  # noqa: SIM110  a generator takes half as long again
            if not each.holds(labels):
                return False
        return True

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def selector_of_labels(labels: Labels, *, max_value_length: int = MAX_VALUE_LENGTH) -> Selector:
    """Return the selector of topics that have all of `labels`; it is empty if there are none.

    Values may be anything that a topic's label may be, even if the grammar of texts cannot express it.

    Raises:
        InvalidSelector: some labels are invalid, or there are too many; carries the `path` of the first, such as
            `labels.team`.
    """
    return Selector(equalities(labels, "labels", max_value_length))


def equalities(labels: Labels, name: str, max_value_length: int) -> tuple[Equals, ...]:
    """Return one requirement for each of `labels`; `name` is the map's name in errors.

    Raises:
        InvalidSelector: as `selector_of_labels`.
    """
    try:
        check_labels(labels, LabelRules(max_value_length=max_value_length, max_labels=MAX_REQUIREMENTS))
    except InvalidLabels as error:
        first = error.values["violations"][0]
        path = name + first["path"].removeprefix("labels")
        raise InvalidSelector(f"label selector, {path}: {first['reason']}", path=path) from None
    return tuple([Equals(key, value) for key, value in labels.items()])


def is_word(value: str, max_length: int) -> bool:
    """Return whether the grammar of texts can express `value`: a word of at most `max_length` characters, or empty."""
    return not value or (len(value) <= max_length and WORD.fullmatch(value) is not None)


def word_rule(max_length: int) -> str:
    """Return the sentence that states the rule of `is_word`."""
    return f"a value is empty, or 1 to {max_length} of A-Z a-z 0-9 - _ . that starts and ends with a letter or digit"


def integer_of(value: str) -> int | None:
    """Return a label's value as an integer, if it is decimal digits, optionally signed, within 64 bits; else None.

    >>> [integer_of(value) for value in ("08", "-1", "1_0", " 1", "9223372036854775808", "")]
    [8, -1, None, None, None, None]
    """
    found = _INTEGER.fullmatch(value)
    if found is None:
        return None
    number = int(found[1] + (found[2] or "0"))
    return number if number in _INT64 else None


def _written(value: str) -> str:
    return value if is_word(value, len(value)) else json.dumps(value, ensure_ascii=False)
