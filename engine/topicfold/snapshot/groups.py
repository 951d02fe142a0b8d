"""Groups: numbers of topics brought together by what they have in common, millions at once."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from topicfold.snapshot.topic_rows import Numbers

Codes = Numbers | npt.NDArray[np.int32]

_DENSE = 2
"""Up to so many possible codes for each that there is, a table of all of them is faster than hashing."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Numbers of topics, rising in each group; `codes`, which rise, says what each group is, `ends` where it ends."""

    codes: Numbers
    ends: Numbers
    members: memoryview

    def between(self, low: int, high: int) -> Iterator[tuple[int, array[int]]]:
        """Yield the groups with codes from `low` on and below `high`."""
        first, last = np.searchsorted(self.codes, (low, high)).tolist()
        start = int(self.ends[first - 1]) if first else 0
        for code, end in zip(self.codes[first:last].tolist(), self.ends[first:last].tolist(), strict=True):
            numbers = array("I")
            numbers.frombytes(self.members[start * 4 : end * 4])
            yield code, numbers
            start = end


def ranked(codes: Codes) -> tuple[Codes, Numbers]:
    """Return for each code its place among all different ones, and these, rising."""
    if codes.max(initial=0) < _DENSE * len(codes):
        is_there = np.zeros(int(codes.max(initial=0)) + 1, dtype=bool)
        is_there[codes] = True
        table = np.cumsum(is_there) - 1
        return (table if codes.dtype == np.int64 else table.astype(np.int32))[codes], np.flatnonzero(is_there)
    encoded = pa.array(codes).dictionary_encode()
    different = encoded.dictionary.to_numpy()
    order = np.argsort(different)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[encoded.indices.to_numpy()], different[order]


def grouped(ranks: Codes, codes: Numbers, numbers: npt.NDArray[np.uint32]) -> Groups:
    """Return `numbers` by their ranks among `codes`."""
    # As one number each, sorted in place, in a tenth of the time that it takes to find an order.
    both = ranks.astype(np.uint64)
    both <<= np.uint64(32)
    both |= numbers
    both.sort()
    ends = np.cumsum(np.bincount(ranks, minlength=len(codes)))
    return Groups(codes, ends, memoryview(both.astype(np.uint32).tobytes()))
