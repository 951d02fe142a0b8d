"""One hot topic: 32 clients on each of one and three nodes set labels of the same topic as fast as they can.

Each client sets a label of its own to a counter. At the end the record has to hold the last acknowledged value of
each, and the log as many accepted operations as were acknowledged: nothing lost, nothing twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from tests.benchmarks.bare import bare_loop, round_trips_per_second
from tests.benchmarks.nodes import Node, create_topics, kafka_node, last_value_bytes, topic_name
from tests.benchmarks.report import Goal, Row, percentile, row
from tests.benchmarks.site import Site
from tests.benchmarks.workers import Worker
from topicfold.log.codec import decode_event
from topicfold.log.payload import decode_indexed
from topicfold.model.events import AggregateKind
from topicfold.model.names import DEFAULT_NAMESPACE
from topicfold.state.fold import PartitionState

CLIENTS = 32
_PAGE = 1_000
_BARE_MESSAGES = 10_000


@dataclass(frozen=True, slots=True)
class Hammered:
    """What one node's clients got acknowledged: the number, their seconds, and each client's last value."""

    acknowledged: int
    seconds: list[float]
    last: Mapping[str, str]


def run(site: Site) -> Iterator[Row]:
    """Measure updates a second, the nodes' shares and p99, beside a bare loop with as many messages outstanding."""
    with Worker(bare_loop, site.broker.bootstrap) as bare:
        for nodes in (1, 3):
            site.say(f"hot_topic: {nodes} node(s) × {CLIENTS} clients for {site.sizes.hot_seconds:.0f} s")
            hammered, value_bytes, operations = _hammer(site, nodes)
            acknowledged = sum(each.acknowledged for each in hammered)
            rate = acknowledged / site.sizes.hot_seconds
            outstanding = CLIENTS * nodes
            count = min(_BARE_MESSAGES, acknowledged)
            theirs = bare.run(round_trips_per_second, count, value_bytes, outstanding)
            of = f"hot_topic: {nodes} × {CLIENTS} clients"
            beside = f"bare, {outstanding} outstanding, {value_bytes:,} B"
            yield row(f"{of}, updates", "/s", [rate], beside, [theirs], Goal("ours", "≥", 1_500))
            p99 = percentile([taken for each in hammered for taken in each.seconds], 99) * 1e3
            bare_mean = outstanding / theirs * 1e3
            yield row(f"{of}, p99", "ms", [p99], "bare, mean", [bare_mean], Goal("ours", "≤", 100))
            yield row(f"{of}, accepted", "updates", [operations], "acknowledged", [acknowledged], Goal("ratio", "=", 1))
            if nodes > 1:
                shares = [each.acknowledged for each in hammered]
                goal = Goal("ratio", "≥", 0.8)
                yield row(f"{of}, least", "updates", [min(shares)], "the node with most", [max(shares)], goal)


def _hammer(site: Site, nodes: int) -> tuple[list[Hammered], int, int]:
    """Return what each node's clients got, the size of an event, and the operations that the log accepted.

    Fails where an acknowledged update is lost.
    """
    topic = site.fresh_topic()
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(kafka_node, site.broker.bootstrap, topic)) for _ in range(nodes)]
        workers[0].run(create_topics, 1)
        begin = time.monotonic() + 0.5
        answers = [
            worker.begin(hammer, f"n{number}", begin, begin + site.sizes.hot_seconds)
            for number, worker in enumerate(workers)
        ]
        hammered = [answer() for answer in answers]
        labels, operations = workers[0].run(judged)
        value_bytes = workers[0].run(last_value_bytes)
    for each in hammered:
        lost = {key: value for key, value in each.last.items() if labels.get(key) != value}
        assert not lost, f"acknowledged and not in the record: {lost}"
    return hammered, value_bytes, operations


async def hammer(node: Node, prefix: str, begin: float, end: float) -> Hammered:
    """Run this node's clients between two moments of the system's monotonic clock."""
    name, seconds, last = topic_name(0), list[float](), dict[str, str]()

    async def client(key: str) -> None:
        number = 0
        while (start := time.monotonic()) < end:
            number += 1
            await node.writing.set_labels(name, {key: str(number)}, node.asked())
            seconds.append(time.monotonic() - start)
            last[key] = str(number)

    await asyncio.sleep(begin - time.monotonic())
    await asyncio.gather(*(client(f"{prefix}-c{number}") for number in range(CLIENTS)))
    return Hammered(len(seconds), seconds, last)


async def judged(node: Node) -> tuple[dict[str, str], int]:
    """Return the topic's labels and how many operations of clients the log accepted, by a fold of the log alone."""
    partition = node.engine.partition(DEFAULT_NAMESPACE)
    state = PartitionState(partition, node.engine.identity.partitions, decode=decode_indexed)
    operations = 0
    while page := await node.engine.log.read(partition, state.position, _PAGE):
        for entry in page:
            change = state.apply(entry.offset, decode_event(entry.value))
            if change.event is not None and change.event.aggregate_kind == AggregateKind.TOPIC:
                operations += len(change.settled)
    table = state.topics[DEFAULT_NAMESPACE]
    return table.labels(table.numbers[topic_name(0).key]), operations - 1
