"""How labels are used: how many topics have each key, who owns how many, and which words were probably misspelt.

The report is computed from counts alone, whether they come from a snapshot's columns or a list of topics.

    >>> counts = count_labels([("a/b", {"team": "pay"}), ("a/b", {"team": "pay", "tier": "gold"}), ("a/c", {})])
    >>> report = label_report(counts, None)
    >>> [(each.key, each.topics, each.values) for each in report.keys], report.by
    ([('team', 2, 1), ('tier', 1, 1)], 'team')
    >>> [(each.value, each.topics) for each in report.owners]
    [('pay', 2), (None, 1)]
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from topicfold.model.finding.near_miss import near_words

OWNER_KEYS = ("team", "owner")
"""Keys that say who owns a topic, if nobody says which one does."""
TIMES_RARER = 10
"""A word is probably misspelt if at least this many times as many topics spell it differently."""
MAX_TYPOS = 100
LIKENESS = 0.8
"""How similar, from 0 to 1, two words must be unless they consist of the same letters."""
_MAX_RARE, _MAX_COMMON = 1_000, 1_000
_DIGITS = re.compile("[0-9]+")


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """How many topics each namespace has, and how many topics have each (namespace, key, value)."""

    topics: Mapping[str, int]
    bearing: Mapping[tuple[str, str, str], int]


@dataclass(frozen=True, slots=True)
class KeyUse:
    """How many topics have a key, what share of all topics that is, and how many distinct values they have."""

    key: str
    topics: int
    share: float
    values: int


@dataclass(frozen=True, slots=True)
class Owned:
    """How many topics have a value of the chosen key, in total and by namespace; `value` None: without that key."""

    value: str | None
    topics: int
    namespaces: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Typo:
    """A key, or a value of a key, that few topics have; `meant` is a similar one that many topics have."""

    key: str
    value: str | None
    topics: int
    meant: str
    meant_topics: int


@dataclass(frozen=True, slots=True)
class LabelReport:
    """The report. `by` is the key that names a topic's owner, "" if no topic has a label. All lists begin with the most
    topics, except `typos`, which begins with the most likely one.
    """

    topics: int
    namespaces: Mapping[str, int]
    keys: tuple[KeyUse, ...]
    by: str
    owners: tuple[Owned, ...]
    typos: tuple[Typo, ...]


def count_labels(topics: Iterable[tuple[str, Mapping[str, str]]]) -> LabelCounts:
    """Return the counts over topics, each given as its namespace and its labels."""
    by_namespace: Counter[str] = Counter()
    bearing: Counter[tuple[str, str, str]] = Counter()
    for namespace, labels in topics:
        by_namespace[namespace] += 1
        bearing.update((namespace, key, value) for key, value in labels.items())
    return LabelCounts(by_namespace, bearing)


def label_report(counts: LabelCounts, by: str | None) -> LabelReport:
    """Return the report over `counts`; the key `by` names a topic's owner.

    If it is None, that is the most common of `OWNER_KEYS`, or else the most common key.

    Cost: O(distinct labels), plus about a millisecond for each word that may be misspelt.
    """
    total = sum(counts.topics.values())
    values: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (_, key, value), number in counts.bearing.items():
        values[key][value] += number
    topics_of = {key: each.total() for key, each in values.items()}
    keys = tuple(
        KeyUse(key, number, number / total if total else 0.0, len(values[key])) for key, number in _sorted(topics_of)
    )
    chosen = by if by is not None else _owner_key(topics_of)
    typos = sorted(_typos(topics_of, values), key=lambda each: (-each.meant_topics / each.topics, each.key))
    return LabelReport(
        total,
        dict(_sorted(counts.topics)),
        keys,
        chosen,
        tuple(_owners(counts, chosen)) if chosen else (),
        tuple(typos[:MAX_TYPOS]),
    )


def share_text(share: float) -> str:
    """Return a share as people write it; only nothing is shown as 0%, and only everything as 100%.

    >>> share_text(0.5), share_text(0.005), share_text(0.997), share_text(0), share_text(1)
    ('50%', '<1%', '>99%', '0%', '100%')
    """
    if 0 < share < 1:
        return {"0%": "<1%", "100%": ">99%"}.get(f"{share:.0%}", f"{share:.0%}")
    return f"{share:.0%}"


def _owners(counts: LabelCounts, by: str) -> Iterator[Owned]:
    """Yield the owners with their topics; topics without the key come last."""
    owned: dict[str, dict[str, int]] = {}
    without = dict(counts.topics)
    for (namespace, key, value), number in counts.bearing.items():
        if key == by:
            owned.setdefault(value, {})[namespace] = number
            without[namespace] -= number
    totals = {value: sum(each.values()) for value, each in owned.items()}
    for value, topics in _sorted(totals):
        yield Owned(value, topics, dict(_sorted(owned[value])))
    if rest := sum(without.values()):
        yield Owned(None, rest, dict(_sorted({name: number for name, number in without.items() if number})))


def _typos(keys: Mapping[str, int], values: Mapping[str, Mapping[str, int]]) -> Iterator[Typo]:
    for word, meant in _misspelt(keys):
        yield Typo(word, None, keys[word], meant, keys[meant])
    for key, borne in values.items():
        for word, meant in _misspelt(borne):
            yield Typo(key, word, borne[word], meant, borne[meant])


def _misspelt(topics: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield words that look like a far more common one, with that one."""
    by_number = [word for word, _ in _sorted(topics)]
    for word in by_number[:0:-1][:_MAX_RARE]:
        common = [each for each in by_number[:_MAX_COMMON] if topics[each] >= TIMES_RARER * topics[word]]
        meant = next((each for each in near_words(word, common) if _is_likely(word, each)), None)
        if meant is not None:
            yield word, meant


def _is_likely(word: str, meant: str) -> bool:
    """Return whether `word` is likely to be a misspelling of `meant`. `eu-1` and `eu-2` are just two words.

    >>> [_is_likely(*each) for each in (("taem", "team"), ("Pay", "pay"), ("east", "west"), ("eu-1", "eu-2"))]
    [True, True, False, False]
    """
    one, other = word.casefold(), meant.casefold()
    if one != other and _DIGITS.sub("", one) == _DIGITS.sub("", other):
        return False
    return sorted(one) == sorted(other) or SequenceMatcher(None, one, other).ratio() >= LIKENESS


def _owner_key(topics: Mapping[str, int]) -> str:
    owners = {key: topics[key] for key in OWNER_KEYS if key in topics}
    return next((key for key, _ in _sorted(owners or topics)), "")


def _sorted(numbers: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(numbers.items(), key=lambda pair: (-pair[1], pair[0]))
