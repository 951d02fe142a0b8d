"""Groups: numbers of topics brought together by what they have in common, millions at once."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from topicfold.snapshot.topic_rows import Numbers

Codes = Numbers | npt.NDArray[np.int32]

_SIZE = array("I").itemsize
_DENSE = 2
"""Up to so many possible codes for each that there is, a table of all of them is faster than hashing."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Numbers of topics, rising in each group; `codes`, which rise, says what each group is, `ends` where it ends."""

    codes: Numbers
    ends: Numbers
    members: npt.NDArray[np.uint32]

    def between(self, low: int, high: int) -> tuple[Numbers, list[array[int]]]:
        """Return the groups with codes from `low` on and below `high`: their codes, and the members of each."""
        first, last = np.searchsorted(self.codes, (low, high)).tolist()
        start = int(self.ends[first - 1]) if first else 0
        end = int(self.ends[last - 1]) if last else 0
        content = self.members[start:end].tobytes()
        bounds = [0, *((self.ends[first:last] - start) * _SIZE).tolist()]
        return self.codes[first:last], [array("I", content[at:to]) for at, to in pairwise(bounds)]


def ranked(codes: Codes) -> tuple[Codes, Numbers]:
    """Return for each code its place among all different ones, and these, rising."""
    if codes.max(initial=0) < _DENSE * len(codes):
        is_there = np.zeros(int(codes.max(initial=0)) + 1, dtype=bool)
        is_there[codes] = True
        table: npt.NDArray[np.int32] = np.cumsum(is_there, dtype=np.int32)
        return (table - 1)[codes], np.flatnonzero(is_there)
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
    ends = np.searchsorted(both, np.arange(1, len(codes) + 1, dtype=np.uint64) << np.uint64(32))
    return Groups(codes, ends, both.astype(np.uint32))
