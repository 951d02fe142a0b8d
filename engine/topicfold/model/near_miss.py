"""Explains a selector to whoever wrote it: how many topics each requirement leaves, and what was probably misspelt.

A key or value that no topic bears is no error, and finds nothing or, behind `!=` and `notin`, everything. Looks at
words only; whose they are, of one namespace or several, and how often they are borne, is the caller's to say. So is
when they are compared: 20,000 of them take 20 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from heapq import nlargest
from itertools import islice
from typing import assert_never

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


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A key, or a value of a key, that a selector names and no topic bears. `near` is what is, most similar first."""

    key: str
    value: str | None
    near: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """What was probably misspelt."""
        return self.key if self.value is None else self.value

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
    selector: Selector,
    lacking: Callable[[Requirement], Collection[str | None]],
    fulfilling: Callable[[Requirement], int],
) -> tuple[Explained, ...]:
    """Return what each requirement of `selector` comes to; nothing is near to what is missed yet.

    `lacking` says which of the values that a requirement names no topic bears its key with, and None beside them
    where none bears the key; `fulfilling` how many topics fulfil it by itself.

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
    """Return the misses that are told what is near: the first ones."""
    return list(islice((miss for part in parts for miss in part.misses), MAX_SUGGESTED))


def with_near(parts: Sequence[Explained], near: Mapping[NearMiss, tuple[str, ...]]) -> tuple[Explained, ...]:
    """Return `parts` with what is near to their misses."""
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
    """Return the `words` that look like `word`, whatever their case, most similar first."""
    return most_similar(word, likely(word, words))


def likely(word: str, words: Iterable[str]) -> list[str]:
    """Return a short list of the `words` that share most letters with `word` and differ least in length.

    The same where some are looked at first, and what is left of them before the others. Cost: 1 µs a word.
    """
    letters = frozenset(_start(word))

    def likeness(each: str) -> int:
        return 2 * len(letters.intersection(_start(each))) - abs(len(word) - len(each))

    return nlargest(_SHORT_LIST, words, key=likeness)


def most_similar(word: str, short_list: Iterable[str]) -> tuple[str, ...]:
    """Return those of a short list that look like `word`, most similar first.

    Python's own comparison takes up to milliseconds a pair of long words, so it sees the starts of a short list only.
    """
    by_start: dict[str, list[str]] = {}
    for each in short_list:
        by_start.setdefault(_start(each), []).append(each)
    near = get_close_matches(_start(word), by_start, n=MAX_NEAR)
    return tuple([each for similar in near for each in by_start[similar]][:MAX_NEAR])


def _start(word: str) -> str:
    return word[:_COMPARED_LENGTH].casefold()
