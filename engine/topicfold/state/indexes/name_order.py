"""Names in order: a namespace's topic numbers sorted by key, so that a page of a large set need not be sorted.

Numbers are in blocks of a few hundred. Blocks are in order; a block is only sorted when a part of it is needed. Keys
are only ever added, so readers bring the order up to date, a few keys at a time, and without readers it costs nothing.

    >>> from pyroaring import BitMap
    >>> order = NameOrder(["pay", "billing", "orders"])
    >>> order.catch_up(10)
    >>> order.after("", BitMap([0, 1, 2])), order.after("billing", BitMap([0, 1]))
    ([1, 2, 0], [0])

Source: `sortedcontainers` (blocks behind a list of their last entries), with numbers instead of names.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from pyroaring import BitMap

BLOCK = 512


class NameOrder:
    """The numbers of `keys`, a list that only grows and has no key twice. Memory: about 5 bytes a key."""

    __slots__ = ("_blocks", "_is_sorted", "_keys", "_known", "_lasts")

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        self._known = 0
        self._blocks: list[array[int]] = []
        self._lasts: list[str] = []
        self._is_sorted: list[bool] = []

    @property
    def missing(self) -> int:
        """How many keys have not been put in order yet."""
        return len(self._keys) - self._known

    def catch_up(self, most: int) -> None:
        """Put up to `most` more keys in order. Cost: 1 to 2 µs a key; less if they come in order."""
        until = min(len(self._keys), self._known + most)
        for number in range(self._known, until):
            self._add(number)
        self._known = until

    def after(self, key: str, among: BitMap) -> list[int]:
        """Return the next numbers of `among` with keys above `key`, in the order of their keys, from one block.

        Only keys that were put in order are found. If the list is empty, there are no more of them.

        Cost: 50 ns for each key that is skipped or returned.
        """
        first = bisect_right(self._lasts, key)
        for index in range(first, len(self._blocks)):
            block = self._block(index) if index == first else self._blocks[index]
            start = bisect_right(block, key, key=self._keys.__getitem__) if index == first else 0
            if found := [number for number in (block[start:] if start else block) if number in among]:
                return found if self._is_sorted[index] else [each for each in self._block(index) if each in among]
        return []

    def _add(self, number: int) -> None:
        key = self._keys[number]
        blocks, lasts = self._blocks, self._lasts
        if not lasts or key > lasts[-1]:
            if not blocks or len(blocks[-1]) >= BLOCK:
                blocks.append(array("I"))
                lasts.append(key)
                self._is_sorted.append(True)
            blocks[-1].append(number)
            lasts[-1] = key
            return
        index = bisect_left(lasts, key)
        blocks[index].append(number)
        self._is_sorted[index] = False
        if len(blocks[index]) > 2 * BLOCK:
            block = self._block(index)
            blocks.insert(index, block[:BLOCK])
            lasts.insert(index, self._keys[block[BLOCK - 1]])
            self._is_sorted.insert(index, True)
            del block[:BLOCK]

    def _block(self, index: int) -> array[int]:
        """Return a block, sorted."""
        if not self._is_sorted[index]:
            self._blocks[index] = array("I", sorted(self._blocks[index], key=self._keys.__getitem__))
            self._is_sorted[index] = True
        return self._blocks[index]
