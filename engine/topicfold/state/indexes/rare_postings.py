"""Postings with few members, many in one array: for segments that hardly any other name has.

An entry has 64 bits, with the fingerprint above the number. Entries are sorted, in chunks that are split when they
grow, so an entry takes 9 bytes, none moves far when another is added, and nothing is ever rebuilt. A fingerprint is no
proof: different segments may share one, each with its own entries, so readers must check the topics that they find.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

FINGERPRINT_BITS = 32
_CHUNK = 512
_NUMBER = (1 << FINGERPRINT_BITS) - 1


class RarePostings:
    """Multisets of uint32, each filed under a fingerprint of 32 bits. All entries of a fingerprint are in one chunk.

    >>> rare = RarePostings()
    >>> rare.add(5, 70), rare.add(5, 3), rare.add(6, 1)
    (1, 2, 1)
    >>> rare.numbers(5)
    [3, 70]
    """

    __slots__ = ("_chunks", "_firsts")

    def __init__(self) -> None:
        self._chunks: list[array[int]] = [array("Q")]
        self._firsts: list[int] = []
        """The first fingerprint of the second chunk, of the third, …"""

    @classmethod
    def of(cls, entries: array[int]) -> RarePostings:
        """Return the multisets with these sorted `entries`, each a fingerprint above a number. Cost: O(entries)."""
        rare = cls()
        rare._chunks = []
        start = 0
        while start < len(entries):
            end = start + _CHUNK
            if end < len(entries):
                end = bisect_left(entries, ((entries[end - 1] >> FINGERPRINT_BITS) + 1) << FINGERPRINT_BITS, end)
            rare._chunks.append(entries[start:end])
            start = end
        rare._firsts = [chunk[0] >> FINGERPRINT_BITS for chunk in rare._chunks[1:]]
        rare._chunks = rare._chunks or [array("Q")]
        return rare

    def add(self, fingerprint: int, number: int) -> int:
        """File `number`, even if it is there already; return how many entries `fingerprint` has now. Cost: O(log n)."""
        place = bisect_right(self._firsts, fingerprint)
        chunk = self._chunks[place]
        first = fingerprint << FINGERPRINT_BITS
        start = end = bisect_left(chunk, first)
        if start < len(chunk) and chunk[start] >> FINGERPRINT_BITS == fingerprint:
            end = bisect_left(chunk, first + (1 << FINGERPRINT_BITS), start)
        chunk.insert(bisect_left(chunk, first | number, start, end), first | number)
        if len(chunk) > _CHUNK:
            self._split(place)
        return end - start + 1

    def discard(self, fingerprint: int, number: int) -> None:
        """Remove one entry of `number`, if there is any. Cost: O(log n)."""
        place = bisect_right(self._firsts, fingerprint)
        chunk = self._chunks[place]
        entry = fingerprint << FINGERPRINT_BITS | number
        index = bisect_left(chunk, entry)
        if index < len(chunk) and chunk[index] == entry:
            del chunk[index]
            if not chunk and self._firsts:
                del self._chunks[place], self._firsts[max(place - 1, 0)]

    def numbers(self, fingerprint: int) -> list[int]:
        """Return the numbers filed under `fingerprint`, in order. Cost: O(log n + members)."""
        chunk = self._chunks[bisect_right(self._firsts, fingerprint)]
        first = fingerprint << FINGERPRINT_BITS
        start = bisect_left(chunk, first)
        end = bisect_left(chunk, first + (1 << FINGERPRINT_BITS), start)
        return [entry & _NUMBER for entry in chunk[start:end]]

    def part(self, fingerprint: int) -> list[tuple[int, int]]:
        """Return (fingerprint, number) of the next entries from `fingerprint`, in order, up to the end of a chunk.

        It has all entries of every fingerprint in it, and is empty at the end. Cost: O(chunk).
        """
        first = fingerprint << FINGERPRINT_BITS
        for place in range(bisect_right(self._firsts, fingerprint), len(self._chunks)):
            chunk = self._chunks[place]
            if found := chunk[bisect_left(chunk, first) :]:
                return [(entry >> FINGERPRINT_BITS, entry & _NUMBER) for entry in found]
        return []

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield (fingerprint, number) of all entries, in order."""
        for chunk in self._chunks:
            for entry in chunk:
                yield entry >> FINGERPRINT_BITS, entry & _NUMBER

    def _split(self, place: int) -> None:
        """Split a chunk near its middle, between two fingerprints; leave it as it is if it has only one."""
        chunk = self._chunks[place]
        middle = chunk[len(chunk) // 2] >> FINGERPRINT_BITS
        cut = bisect_left(chunk, middle << FINGERPRINT_BITS) or bisect_left(chunk, (middle + 1) << FINGERPRINT_BITS)
        if cut < len(chunk):
            self._chunks.insert(place + 1, chunk[cut:])
            self._firsts.insert(place, chunk[cut] >> FINGERPRINT_BITS)
            del chunk[cut:]
