"""Names of topics as Pulsar lists them: full, sorted, and a partitioned topic as its partitions.

They are as of one cut, and made in slices: a namespace may have a million.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from itertools import repeat

from topicfold.model.finding.query import TopicQuery
from topicfold.model.finding.selector import Equals, Selector
from topicfold.model.names import local_of_key
from topicfold.model.system_topics import is_transaction_topic
from topicfold.runtime.finding.found import Found
from topicfold.runtime.slices import CHUNK, Slice


def listing_query(labels: Mapping[str, str], *, with_system_topics: bool) -> TopicQuery:
    """Return the query for the topics that bear all of `labels`."""
    equal = tuple([Equals(key, value) for key, value in labels.items()])
    return TopicQuery(Selector(equal), with_system_topics=with_system_topics)


def count_names(found: Found) -> int:
    """Return how many names may be listed of what was found, at most."""
    return found.count + sum(
        sum(map(partitions.get, each.numbers, repeat(0)))
        for each in found.sections
        if (partitions := each.table.partitions)
    )


async def listed_names(found: Found, domain: str | None, *, only_partitioned: bool = False) -> list[str]:
    """Return the names of the topics that were just found, as of the cut in which they were.

    With `only_partitioned` just the partitioned ones are listed, by their own names. `domain` None lists both domains.
    Topics of the inside of transactions never are.
    """
    sections = [each for each in found.sections if domain in (None, each.domain)]
    partitions = {each.table: each.table.partitions.copy() for each in sections}
    work = Slice()
    names: list[str] = []
    for section, numbers in Found(sections, found.order_of).all_after(None):
        place, keys, system = section.place, section.table.keys, section.table.system
        counts = partitions[section.table]
        waiting: list[str] = []
        room = CHUNK
        for passed, number in enumerate(numbers, 1):
            local = local_of_key(keys[number])
            name = place + local
            if number not in system or not is_transaction_topic(local):
                waiting += _as_listed(name, counts.get(number, 0), only_partitioned=only_partitioned)
            if len(waiting) >= room or not passed % CHUNK:
                # Whatever is still to come stands behind this name, but may stand before some of its partitions.
                waiting = sorted(waiting)
                end = bisect_right(waiting, name)
                names += waiting[:end]
                waiting = waiting[end:]
                room = len(waiting) + CHUNK
                await work.rest()
        names += sorted(waiting)
    return names


def _as_listed(name: str, partitions: int, *, only_partitioned: bool) -> list[str]:
    """Return how a topic with so many partitions is listed, 0 for a plain one."""
    if only_partitioned:
        return [name] if partitions else []
    return [f"{name}-partition-{index}" for index in range(partitions)] or [name]
