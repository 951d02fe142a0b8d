"""Nodes on one log hold equal digests at equal positions, whatever they did and however often they start again."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from random import Random

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.nodes import Node, running
from topicfold.errors import TopicfoldError
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, TopicRecord

RINGS = {"client_ring": 7, "server_ring": 5}


async def one_request(node: Node, random: Random) -> None:
    """Do something, on few names; whether it is refused does not matter."""
    name = parse_topic(f"public/{random.choice('ab')}/{random.choice('xyz')}")
    asked = node.asked(key=random.choice([None, None, str(random.randrange(20))]), method=random.choice(["a", "b"]))
    writing = node.writing
    try:
        match random.randrange(8):
            case 0:
                await writing.create_namespace(name.namespace, NamespaceRecord(), asked)
            case 1:
                await writing.delete_namespace(name.namespace, asked, force=random.random() < 0.3)
            case 2 | 3 | 4:
                await writing.create_topic(name, TopicRecord(), asked)
            case 5:
                await writing.delete_topic(name, asked)
            case _:
                await writing.set_labels(name, {random.choice("kl"): random.choice("vw")}, asked)
    except TopicfoldError:
        pass


async def requests(node: Node, seed: int, number: int) -> None:
    """Do `number` things one after the other."""
    random = Random(seed)
    for _ in range(number):
        await one_request(node, random)


@pytest.mark.parametrize("seed", range(5))
async def test_two_nodes_that_both_write_hold_equal_digests(seed: int) -> None:
    store = MemoryStore(partitions=3)
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(running(store, 10**6 * (n + 1), **RINGS)) for n in range(2)]
        await asyncio.gather(*(requests(node, seed * 10 + n, 100) for n, node in enumerate([*nodes, *nodes])))
        for node in nodes:
            await node.caught_up()
        assert nodes[0].digests() == nodes[1].digests()


async def test_a_node_that_starts_late_or_again_holds_the_digests_of_the_others() -> None:
    store = MemoryStore(partitions=3)
    async with running(store, **RINGS) as node:
        for seed in range(5):
            await requests(node, seed, 60)
            async with running(store, 10**9 * (seed + 1), **RINGS) as started:
                assert started.digests() == node.digests()


async def test_a_node_that_stops_in_the_middle_of_writes_comes_back_to_the_same_digests() -> None:
    store = MemoryStore(partitions=3)
    async with running(store, **RINGS) as witness:
        for seed in range(5):
            async with running(store, 10**9 * (seed + 1), **RINGS) as node:
                writes = [asyncio.create_task(requests(node, seed * 10 + n, 50)) for n in range(4)]
                await requests(witness, seed, 20)
            await asyncio.gather(*writes)
            await witness.caught_up()
            async with running(store, 10**10 * (seed + 1), **RINGS) as again:
                await witness.caught_up()
                assert again.digests() == witness.digests()
