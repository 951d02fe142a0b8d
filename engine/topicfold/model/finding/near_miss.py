"""Explains a selector to whoever wrote it: how many topics fulfil each requirement, and what was probably misspelt.

A key or value that no topic has is not an error; it finds nothing or, after `!=` and `notin`, everything. This module
only compares words. The caller supplies them, from one namespace or several, and the counts; and decides when they are
compared, which takes 20 ms for 20,000 words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from heapq import nlargest
from itertools import islice
from typing import assert_never

from topicfold.model.finding.selector import (
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
"""How many misses of one selector get suggestions; further ones are only reported."""
MAX_COMPARED = 20_000
"""How many words a miss is compared with; words beyond that are never suggested."""

_SHORT_LIST = 20
_COMPARED_LENGTH = 24


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A key, or a value of a key, that a selector names but no topic has. `near`: existing ones, most similar first."""

    key: str
    value: str | None
    near: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The word that was probably misspelt."""
        return self.key if self.value is None else self.value

    def __str__(self) -> str:
        what = f"no topic has key {self.key}" if self.value is None else f"no topic has {self.key}={self.value}"
        return f"{what}; did you mean {' or '.join(self.near)}?" if self.near else what


@dataclass(frozen=True, slots=True)
class Explained:
    """A requirement, how many topics fulfil it by itself, and the keys and values in it that no topic has."""

    requirement: Requirement
    topics: int
    misses: tuple[NearMiss, ...]

    @property
    def takes_topics_without_key(self) -> bool:
        """Whether it is also fulfilled by topics without its key, which surprises many."""
        return isinstance(self.requirement, Negative)


def explain(
    selector: Selector,
    lacking: Callable[[Requirement], Collection[str | None]],
    fulfilling: Callable[[Requirement], int],
) -> tuple[Explained, ...]:
    """Return an explanation of each requirement of `selector`, without suggestions yet (see `with_near`).

    `lacking` returns which of a requirement's values no topic has for its key, and None among them if no topic has the
    key; `fulfilling` returns how many topics fulfil the requirement by itself.

    >>> misspelt = Selector((Exists("teir"), Equals("tier", "glod")))
    >>> parts = explain(misspelt, lambda each: [None] if each.key == "teir" else ["glod"], lambda each: 0)
    >>> near = {miss: near_words(miss.word, ["tier", "gold"]) for miss in suggestible(parts)}
    >>> for each in with_near(parts, near):
    ...     print(each.requirement, each.topics, *each.misses)
    teir 0 no topic has key teir; did you mean tier?
    tier=glod 0 no topic has tier=glod; did you mean gold?
    """

    def misses(requirement: Requirement) -> tuple[NearMiss, ...]:
        key, lacked = requirement.key, lacking(requirement)
        if None in lacked:
            return (NearMiss(key, None),)
        return tuple([NearMiss(key, each) for each in sorted([value for value in lacked if value is not None])])

    return tuple([Explained(each, fulfilling(each), misses(each)) for each in selector.requirements])


def suggestible(parts: Sequence[Explained]) -> list[NearMiss]:
    """Return the misses that get suggestions: the first `MAX_SUGGESTED`."""
    return list(islice((miss for part in parts for miss in part.misses), MAX_SUGGESTED))


def with_near(parts: Sequence[Explained], near: Mapping[NearMiss, tuple[str, ...]]) -> tuple[Explained, ...]:
    """Return `parts` with these suggestions for their misses."""
    return tuple(
        [
            replace(part, misses=tuple([replace(miss, near=near.get(miss, ())) for miss in part.misses]))
            for part in parts
        ]
    )


def named_values(requirement: Requirement) -> Collection[str]:
    """Return the values that a requirement names."""
    match requirement:
        case Equals(_, value) | NotEquals(_, value):
            return (value,)
        case In(_, values) | NotIn(_, values):
            return values
        case Exists() | DoesNotExist() | GreaterThan() | LessThan():
            return ()
        case _:
            assert_never(requirement)


def near_words(word: str, words: Iterable[str]) -> tuple[str, ...]:
    """Return the `words` that look like `word`, ignoring case, most similar first."""
    return most_similar(word, likely(word, words))


def likely(word: str, words: Iterable[str]) -> list[str]:
    """Return a short list of the `words` that share most letters with `word` and differ least in length.

    It may be computed in steps: the result is the same for a part of the words first, and then for what is left of them
    followed by the others. Cost: 1 µs a word.
    """
    letters = frozenset(_start(word))

    def likeness(each: str) -> int:
        return 2 * len(letters.intersection(_start(each))) - abs(len(word) - len(each))

    return nlargest(_SHORT_LIST, words, key=likeness)


def most_similar(word: str, short_list: Iterable[str]) -> tuple[str, ...]:
    """Return those of a short list that look like `word`, most similar first.

    Python's own comparison takes up to milliseconds for a pair of long words, so only their beginnings are compared.
    """
    by_start: dict[str, list[str]] = {}
    for each in short_list:
        by_start.setdefault(_start(each), []).append(each)
    near = get_close_matches(_start(word), by_start, n=MAX_NEAR)
    return tuple([each for similar in near for each in by_start[similar]][:MAX_NEAR])


def _start(word: str) -> str:
    return word[:_COMPARED_LENGTH].casefold()
