"""PIP-428's promise: updates in a row are all there, without a sleep, on one node and on several."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from tests.memory_log import MemoryStore
from tests.runtime.nodes import ORDERS, running
from topicfold.model.records import TopicRecord


async def test_three_updates_in_a_row_are_all_present_ten_thousand_times() -> None:
    async with running(MemoryStore(partitions=1)) as node:
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        for number in range(10_000):
            value = str(number)
            await node.label(retention=value)
            await node.label(backlog=value)
            await node.label(dispatch=value)
            assert node.labels() == {"retention": value, "backlog": value, "dispatch": value}


async def test_three_updates_at_once_are_all_present_a_thousand_times() -> None:
    async with running(MemoryStore(partitions=1)) as node:
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        for value in map(str, range(1_000)):
            await asyncio.gather(*(node.label(**{key: value}) for key in ("retention", "backlog", "dispatch")))
            assert node.labels() == {"retention": value, "backlog": value, "dispatch": value}


async def test_three_updates_each_on_the_next_node_are_all_present() -> None:
    store = MemoryStore(partitions=1)
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(running(store, 10**6 * (n + 1))) for n in range(3)]
        await nodes[0].writing.create_topic(ORDERS, TopicRecord(), nodes[0].asked())
        for number in range(300):
            for node, key in zip(nodes, ("retention", "backlog", "dispatch"), strict=True):
                await node.label(**{key: str(number)})
            await nodes[0].caught_up()
            assert set(nodes[0].labels().values()) == {str(number)}


async def test_a_thousand_updates_of_one_topic_from_eight_clients_on_three_nodes_lose_none() -> None:
    store = MemoryStore(partitions=1)
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(running(store, 10**6 * (n + 1))) for n in range(3)]
        await nodes[0].writing.create_topic(ORDERS, TopicRecord(properties={}), nodes[0].asked())

        async def client(number: int) -> list[str]:
            node = nodes[number % 3]
            writes = (node.writing.set_labels(ORDERS, {f"c{number}": str(n)}, node.asked(30)) for n in range(125))
            return [(await write).etag for write in writes]

        etags = [etag for each in await asyncio.gather(*(client(number) for number in range(8))) for etag in each]
        await nodes[0].caught_up()
        assert len(set(etags)) == len(etags) == 1_000
        assert nodes[0].labels() == {f"c{number}": "124" for number in range(8)}
