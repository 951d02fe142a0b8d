"""Labels of a namespace as PIP-451 lists them: each key in use with its values, both sorted.

They are as of one cut, and made in slices: a namespace may have as many values as topics, or more.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import AsyncIterator
from contextlib import closing

from pyroaring import BitMap

from topicfold.runtime.cut import Cuts
from topicfold.runtime.slices import CHUNK, Slice
from topicfold.state.topic_table import TopicTable

_RUN = 1024
"""So many pairs are sorted at once, about."""

Pair = tuple[str, str]


async def listed_labels(cuts: Cuts, namespace: str, table: TopicTable, among: BitMap | None) -> dict[str, list[str]]:
    """Return the keys with their values that the topics of a table bear now, before this first waits.

    With `among` only those of these topics count; never those of topics whose end is decided.

    Cost: 15 ns a pair at once, and 1 µs a pair in slices; 1 µs a topic, too, where some do not count.

    Raises:
        Overloaded: more has changed meanwhile than a cut outlasts.
    """
    if among is None and not table.ending:
        pairs = table.index.borne()
    else:
        pairs = await _borne(cuts, namespace, table, table.live if among is None else among)
    labels: dict[str, list[str]] = {}
    async for some in _in_order(pairs):
        for key, value in some:
            labels.setdefault(key, []).append(value)
    return labels


async def _borne(cuts: Cuts, namespace: str, table: TopicTable, numbers: BitMap) -> list[Pair]:
    """Return every pair that some of these topics bear now, each once, in no order."""
    work = Slice()
    pairs: set[Pair] = set()
    # The set may be an index's own, and no iterator outlives a change of it: topics are missed, or the process dies.
    with closing(cuts.open(namespace, table, BitMap(numbers))) as cut:
        for some in cut.chunks(CHUNK):
            for _, row in cut.rows(some):
                pairs.update(row.labels)
            await work.rest()
    return list(pairs)


async def _in_order(pairs: list[Pair]) -> AsyncIterator[list[Pair]]:
    """Yield `pairs` in order, some at a time: each is put among its likes, between some that chance has picked."""
    work = Slice()
    bounds = sorted(random.sample(pairs, len(pairs) // _RUN))
    likes: list[list[Pair]] = [[] for _ in range(len(bounds) + 1)]
    for start in range(0, len(pairs), CHUNK):
        for pair in pairs[start : start + CHUNK]:
            likes[bisect_right(bounds, pair)].append(pair)
        await work.rest()
    for some in likes:
        yield sorted(some)
        await work.rest()
