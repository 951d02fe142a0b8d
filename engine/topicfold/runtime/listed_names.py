"""Names of topics as Pulsar lists them: in full, sorted, a partitioned topic as its partitions.

All are of one cut, and made in slices: a namespace may have a million.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import merge
from itertools import islice, repeat

from pyroaring import BitMap

from topicfold.model.names import is_transaction_topic, local_of_key
from topicfold.model.query import TopicQuery
from topicfold.model.selector import Equals, Selector
from topicfold.runtime.found import Found
from topicfold.runtime.slices import CHUNK, Slice
from topicfold.state.topic_table import TopicTable


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
    plain: list[str] = []
    parts: list[str] = []
    for section, numbers in Found(sections, found.order_of).all_after(None):
        keys, counts, internal = section.table.keys, partitions[section.table], _internal(section.table)
        start = section.place
        while chunk := list(islice(numbers, CHUNK)):
            for number in chunk:
                count = counts.get(number, 0)
                if number in internal or (only_partitioned and not count):
                    continue
                name = start + local_of_key(keys[number])
                if count and not only_partitioned:
                    parts += [f"{name}-partition-{index}" for index in range(count)]
                else:
                    plain.append(name)
            await work.rest()
    if not parts:
        return plain
    names: list[str] = []
    merged = merge(plain, sorted(parts))
    while some := list(islice(merged, CHUNK)):
        names += some
        await work.rest()
    return names


def _internal(table: TopicTable) -> BitMap:
    return BitMap([number for number in table.system if is_transaction_topic(local_of_key(table.keys[number]))])
