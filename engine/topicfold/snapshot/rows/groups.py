"""Groups: numbers of topics, grouped by a common property, millions at once."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from topicfold.snapshot.rows.topic_rows import Numbers

Codes = Numbers | npt.NDArray[np.int32]

_SIZE = array("I").itemsize
_ROUND_BITS = 16
_MOST_PARTS = 8
_DENSE = 2
"""If there are up to this many possible codes per code given, a table of all of them is faster than hashing."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Numbers of topics, rising in each group. `codes` are the groups' codes, rising; `ends` is where each one ends."""

    codes: Numbers
    ends: Numbers
    members: npt.NDArray[np.uint32]

    def between(self, low: int, high: int) -> tuple[Numbers, list[array[int]]]:
        """Return the groups with codes from `low`, inclusive, to `high`, exclusive: their codes and their members."""
        first, last = np.searchsorted(self.codes, (low, high)).tolist()
        start = int(self.ends[first - 1]) if first else 0
        end = int(self.ends[last - 1]) if last else 0
        content = self.members[start:end].tobytes()
        bounds = [0, *((self.ends[first:last] - start) * _SIZE).tolist()]
        return self.codes[first:last], [array("I", content[at:to]) for at, to in pairwise(bounds)]


def ranked(codes: Codes) -> tuple[Codes, Numbers]:
    """Return for each code its rank among the distinct ones, and the distinct codes, rising."""
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
    """Return `numbers` grouped by their ranks among `codes`. Numbers of one rank must rise: they keep their order."""
    ends = np.append(0, np.cumsum(np.bincount(ranks, minlength=len(codes))))
    members = np.empty(len(numbers), np.uint32)
    for first, last in pairwise(_parts(ends)):
        is_in = (ranks >= first) & (ranks < last)
        order = _order(ranks[is_in] - first, last - first)
        members[ends[first] : ends[last]] = numbers[is_in][order]
    return Groups(codes, ends[1:], members)


def _parts(ends: Numbers) -> list[int]:
    """Return the ranks where parts with about the same number of members begin, followed by the number of ranks.

    Sorting many ranks in parts takes one round and little memory for each part: half the time of sorting all at once.
    """
    ranks = len(ends) - 1
    parts = min(-(-ranks // (1 << _ROUND_BITS - 1)), _MOST_PARTS)
    bounds = np.searchsorted(ends, int(ends[-1]) * np.arange(1, parts) // parts)
    return [0, *np.unique(bounds[(bounds > 0) & (bounds < ranks)]).tolist(), ranks]


def _order(ranks: Codes, count: int) -> Numbers:
    """Return the places of `ranks`, all below `count`, in rising and stable order.

    numpy sorts 16-bit numbers in linear time: two such rounds take 0.7 of the time of sorting pairs of rank and number
    as integers, and one round 0.4.
    """
    order = np.argsort(ranks.astype(np.uint16), kind="stable")
    for shift in range(_ROUND_BITS, (count - 1).bit_length(), _ROUND_BITS):
        order = order[np.argsort((ranks >> shift).astype(np.uint16)[order], kind="stable")]
    return order
