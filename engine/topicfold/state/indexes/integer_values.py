"""The topics with an integer as the value of one label key, by the integer's binary digits: for `key>n` and `key<n`.

For each digit there is the set of topics whose integer has a one there. A comparison goes through the digits, so it
costs the same however many values there are. Topics with other values are not here.

Source: bit-sliced indexes, O'Neil and Quass 1997.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyroaring import BitMap

from topicfold.model.finding.selector import integer_of
from topicfold.state.indexes.postings import Postings

_OFFSET = 2**63
"""Added to every integer, so that the least one becomes 0 and all compare like their digits."""
_HIGHEST = 63
_TOPICS_A_PAIR = 4


class IntegerValues:
    """Topics by the integer that their label `key` has.

    It is filled by a `walk` over the pairs (key, value) of an index with numbers below `until`. The walk may be spread
    over time: changes meanwhile must be reported here for those pairs only that it `covers`.

    >>> values = IntegerValues("size", until=0)
    >>> for number, value in enumerate(("5", "lead", "-12", "05")): values.add(value, number)
    >>> list(values.above(4)), list(values.below(5))
    ([0, 3], [2])
    """

    __slots__ = ("_key", "_ones", "_topics", "_until", "_walked")

    def __init__(self, key: str, until: int) -> None:
        self._key = key
        self._until = until
        self._walked = 0
        self._topics = BitMap()
        self._ones: dict[int, BitMap] = {}

    def walk(self, pairs: Sequence[tuple[str, str]], postings: Sequence[Postings], most: int) -> bool:
        """Take in up to `most` more pairs, but stop early after about `_TOPICS_A_PAIR` topics per pair on average.

        Returns whether no pair is left. Cost: microseconds for each pair of this key, and less for each of its topics.
        """
        end = min(self._walked + most, self._until)
        room = most * _TOPICS_A_PAIR
        found: dict[int | None, list[Postings]] = {}
        while self._walked < end and room > 0:
            (key, value), bearing = pairs[self._walked], postings[self._walked]
            self._walked += 1
            integer = integer_of(value) if key == self._key else None
            if integer is not None:
                room -= len(bearing)
                for digit in (None, *_ones_of(integer)):
                    found.setdefault(digit, []).append(bearing)
        for digit, those in found.items():
            into = self._topics if digit is None else self._ones.setdefault(digit, BitMap())
            into.update(Postings.union(those))
        return self._walked == self._until

    def covers(self, pair: int) -> bool:
        """Return whether changes of the pair's topics must be reported here; other pairs are still to be walked."""
        return pair < self._walked or pair >= self._until

    def add(self, value: str, number: int) -> None:
        """Add a topic with this `value`; it must not be here yet. Cost: O(digits)."""
        integer = integer_of(value)
        if integer is not None:
            self._topics.add(number)
            for digit in _ones_of(integer):
                self._ones.setdefault(digit, BitMap()).add(number)

    def discard(self, value: str, number: int) -> None:
        """Remove a topic with this `value`. Cost: as `add`."""
        integer = integer_of(value)
        if integer is not None:
            self._topics.discard(number)
            for digit in _ones_of(integer):
                self._ones[digit].discard(number)

    def above(self, bound: int) -> BitMap:
        """Return the topics whose integer is greater than `bound`. Cost: at most 128 set operations."""
        equal, found = self._topics, BitMap()
        for digit in range(_HIGHEST, -1, -1):
            ones = self._ones.get(digit, _NONE)
            if bound + _OFFSET >> digit & 1:
                equal = equal & ones
            elif ones:
                found |= equal & ones
                equal = equal - ones
            if not equal:
                break
        return found

    def below(self, bound: int) -> BitMap:
        """Return the topics whose integer is less than `bound`. Cost: as `above`."""
        equal, found = self._topics, BitMap()
        for digit in range(_HIGHEST, -1, -1):
            ones = self._ones.get(digit, _NONE)
            if bound + _OFFSET >> digit & 1:
                found |= equal - ones
                equal = equal & ones
            elif ones:
                equal = equal - ones
            if not equal:
                break
        return found


_NONE = BitMap()


def _ones_of(integer: int) -> Sequence[int]:
    """Return the places of the ones among an integer's digits, the lowest first."""
    rest, digits = integer + _OFFSET, []
    while rest:
        lowest = rest & -rest
        digits.append(lowest.bit_length() - 1)
        rest ^= lowest
    return digits
