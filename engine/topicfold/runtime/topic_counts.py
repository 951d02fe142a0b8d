"""Counts the topics of partitions. A partition may have a hundred thousand namespaces to add up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from topicfold.runtime.slices import CHUNK, Slice
from topicfold.state.fold import PartitionState


class TopicCounts(NamedTuple):
    """Topics of some partitions: those that live; of them those that cannot be read, and those whose end is decided.

    `waiting` are those that wait for a step in Kafka.
    """

    live: int
    undecodable: int
    ending: int
    waiting: int


async def count_topics(states: Iterable[PartitionState]) -> TopicCounts:
    """Return how many topics `states` have, in slices: each namespace counts as it is when it is come to.

    Cost: O(namespaces).
    """
    work = Slice()
    live = undecodable = ending = waiting = 0
    for state in states:
        for passed, table in enumerate([*state.topics.values()], 1):
            live += len(table)
            undecodable += len(table.undecodable)
            ending += len(table.ending)
            waiting += len(table.pending)
            if not passed % CHUNK:
                await work.rest()
    return TopicCounts(live, undecodable, ending, waiting)
