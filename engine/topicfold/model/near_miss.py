"""Explains a selector to whoever wrote it: how many topics each requirement leaves, and what was probably misspelt.

A key or value that no topic bears is no error, and finds nothing or, behind `!=` and `notin`, everything. Looks at
words only; whose they are, of one namespace or several, and how often they are borne, is the caller's to say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from heapq import nlargest
from itertools import islice
from typing import Protocol, assert_never

from topicfold.model.selector import (
    DoesNotExist,
    Equals,
    Exists,
    GreaterThan,
    In,
    LessThan,
    Negative,
    NotEquals,
    NotIn,
    Requirement,
    Selector,
)

MAX_NEAR = 3
MAX_SUGGESTED = 5
"""Misses of one selector that are told what is near; a 6th is told as a miss only."""
MAX_COMPARED = 20_000
"""Words that a miss is compared with; of more, those beyond are never suggested."""

_SHORT_LIST = 20
_COMPARED_LENGTH = 24


class Words(Protocol):
    """Keys that some topics bear, or values of one key; there may be as many as topics."""

    def __contains__(self, word: object, /) -> bool: ...

    def __iter__(self) -> Iterator[str]: ...


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A key, or a value of a key, that a selector names and no topic bears. `near` is what is, most similar first."""

    key: str
    value: str | None
    near: tuple[str, ...]

    def __str__(self) -> str:
        what = f"no topic has key {self.key}" if self.value is None else f"no topic has {self.key}={self.value}"
        return f"{what}; did you mean {' or '.join(self.near)}?" if self.near else what


@dataclass(frozen=True, slots=True)
class Explained:
    """A requirement, how many topics fulfil it by itself, and what in it no topic bears."""

    requirement: Requirement
    topics: int
    misses: tuple[NearMiss, ...]

    @property
    def takes_topics_without_key(self) -> bool:
        """Whether it also holds for topics that do not have its key, which surprises many."""
        return isinstance(self.requirement, Negative)


def explain(
    selector: Selector, keys: Words, values: Callable[[str], Words], fulfilling: Callable[[Requirement], int]
) -> tuple[Explained, ...]:
    """Return what each requirement of `selector` comes to among topics that bear `keys` with `values`.

    `fulfilling` says how many of them fulfil a requirement by itself. Cost: that of asking it, and at most 20 ms a
    suggestion; only for these are words gone through.

    >>> borne = {"tier": ("gold", "silver")}
    >>> misspelt = Selector((Exists("teir"), Equals("tier", "glod")))
    >>> for each in explain(misspelt, borne, borne.__getitem__, lambda requirement: 0):
    ...     print(each.requirement, each.topics, *each.misses)
    teir 0 no topic has key teir; did you mean tier?
    tier=glod 0 no topic has tier=glod; did you mean gold?
    """
    suggested = iter(range(MAX_SUGGESTED))

    def miss(key: str, value: str | None, words: Words) -> NearMiss:
        near = near_words(key if value is None else value, words) if next(suggested, None) is not None else ()
        return NearMiss(key, value, near)

    def misses(requirement: Requirement) -> tuple[NearMiss, ...]:
        key = requirement.key
        if key not in keys:
            return (miss(key, None, keys),)
        borne = values(key)
        return tuple([miss(key, each, borne) for each in _values(requirement) if each not in borne])

    return tuple([Explained(each, fulfilling(each), misses(each)) for each in selector.requirements])


def _values(requirement: Requirement) -> Collection[str]:
    """Return the values that a requirement names."""
    match requirement:
        case Equals(_, value) | NotEquals(_, value):
            return (value,)
        case In(_, values) | NotIn(_, values):
            return sorted(values)
        case Exists() | DoesNotExist() | GreaterThan() | LessThan():
            return ()
        case _:
            assert_never(requirement)


def near_words(word: str, words: Iterable[str]) -> tuple[str, ...]:
    """Return the `words` that look like `word`, whatever their case, most similar first.

    Python's own comparison takes up to milliseconds a pair of long words, so it sees the starts of a short list only:
    of the words that share most letters and differ least in length.
    """
    start = _start(word)
    letters = frozenset(start)

    def likeness(each: str) -> int:
        return 2 * len(letters.intersection(_start(each))) - abs(len(word) - len(each))

    by_start: dict[str, list[str]] = {}
    for each in nlargest(_SHORT_LIST, islice(words, MAX_COMPARED), key=likeness):
        by_start.setdefault(_start(each), []).append(each)
    near = get_close_matches(start, by_start, n=MAX_NEAR)
    return tuple([each for similar in near for each in by_start[similar]][:MAX_NEAR])


def _start(word: str) -> str:
    return word[:_COMPARED_LENGTH].casefold()
