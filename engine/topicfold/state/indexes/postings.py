"""Postings: a set of topic numbers, small or large.

Up to `SMALL_LIMIT` members it is a sorted array, above that a roaring bitmap. It switches back at half the limit, so a
set whose size moves around the limit does not keep switching.

Source: PIP-451's key → value → topics; roaring bitmaps, Lemire et al. 2016.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice

from pyroaring import BitMap

SMALL_LIMIT = 128


class Postings:
    """A mutable set of uint32.

    >>> p = Postings(); p.add(7); p.add(3); list(p)
    [3, 7]
    """

    __slots__ = ("_members",)

    def __init__(self) -> None:
        self._members: array[int] | BitMap = array("I")

    @classmethod
    def of(cls, members: array[int]) -> Postings:
        """Return the set of `members`, which must be unsigned and strictly rising; the set takes over the array.

        Cost: 5 ns a member, or hardly anything if the members are consecutive.
        """
        postings = cls.__new__(cls)
        postings._members = members
        if (length := len(members)) > SMALL_LIMIT:
            first, end = members[0], members[-1] + 1
            postings._members = BitMap(range(first, end) if end - first == length else members)
        return postings

    @classmethod
    def around(cls, members: BitMap) -> Postings:
        """Return the set of `members`; the set takes over the bitmap."""
        postings = cls.__new__(cls)
        postings._members = members
        return postings

    def add(self, number: int) -> None:
        """Add `number`. Cost: O(log n) and a move of at most `SMALL_LIMIT` numbers."""
        members = self._members
        if isinstance(members, BitMap):
            members.add(number)
            return
        index = bisect_left(members, number)
        if index < len(members) and members[index] == number:
            return
        members.insert(index, number)
        if len(members) > SMALL_LIMIT:
            self._members = BitMap(members)

    def discard(self, number: int) -> None:
        """Remove `number` if it is there. Cost: as `add`."""
        members = self._members
        if isinstance(members, BitMap):
            members.discard(number)
            if len(members) < SMALL_LIMIT // 2:
                self._members = array("I", members)
            return
        index = bisect_left(members, number)
        if index < len(members) and members[index] == number:
            del members[index]

    def bitmap(self) -> BitMap:
        """Return the members as a bitmap that must not be changed. Cost: O(1) when large."""
        members = self._members
        return members if isinstance(members, BitMap) else BitMap(members)

    def part(self, start: int, most: int) -> list[int]:
        """Return at most `most` members from `start`, in order. Cost: O(log n + most)."""
        members = self._members
        if isinstance(members, BitMap):
            return list(islice(members.iter_equal_or_larger(start), most))
        index = bisect_left(members, start)
        return list(members[index : index + most])

    @staticmethod
    def union(sets: Sequence[Postings]) -> BitMap:
        """Return the union of `sets`, at least one, as a bitmap that must not be changed."""
        if len(sets) == 1:
            return sets[0].bitmap()
        small = array("I")
        large: list[BitMap] = []
        for each in sets:
            members = each._members
            if isinstance(members, BitMap):
                large.append(members)
            else:
                small.extend(members)
        return BitMap.union(BitMap(small), *large)

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[int]:
        return iter(self._members)

    def __contains__(self, number: int) -> bool:
        members = self._members
        if isinstance(members, BitMap):
            return number in members
        index = bisect_left(members, number)
        return index < len(members) and members[index] == number
