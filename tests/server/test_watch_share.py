"""A share of those who watch does not read: the others get everything meanwhile, and little is kept for that share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from socket import SO_SNDBUF, SOL_SOCKET

import pytest

from tests.memory_log import MemoryStore
from tests.server.rest import ORDERS, RestNode, listening, rest_node
from tests.server.watching import SECONDS, Opened, opened
from topicfold.runtime.watching.pump import MAX_SENT_BYTES

READERS, SILENT, CHANGES = 18, 2, 1_500
FULL = 64 * 1024
"""Bytes at which a connection takes no more."""
QUERIES = ("labelSelector=k", "match=orders", "")
"""What is watched; those who do not read share each with some who do."""


@pytest.fixture
async def rest(store: MemoryStore) -> AsyncIterator[RestNode]:
    """A node with the topic `orders`."""
    async with rest_node(store) as made:
        await made.done("PUT", ORDERS)
        yield made


def held(rest: RestNode) -> list[int]:
    """Return how many bytes wait in the server for each client, fewest first."""
    return sorted(each._sink._transport.get_write_buffer_size() for each in rest.node.engine.watches.watchers)  # type: ignore[attr-defined]


async def values(stream: Opened) -> list[str]:
    """Return the values that a stream tells of, as many as there are changes."""
    async with asyncio.timeout(4 * SECONDS):
        told = [await stream.frame(4 * SECONDS) for _ in range(1 + CHANGES)]
    return [frame.members["topic"]["labels"]["k"] for frame in told[1:]]


async def test_others_receive_everything_while_a_share_does_not_read(rest: RestNode) -> None:
    expected = [f"{number:0100}" for number in range(CHANGES)]
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(listening(rest))
        queries = [f"initial=false&{QUERIES[number % len(QUERIES)]}" for number in range(SILENT + READERS)]
        streams = [await stack.enter_async_context(opened(port, query)) for query in queries]
        silent, readers = streams[:SILENT], streams[SILENT:]
        for each in rest.node.engine.watches.watchers:
            # The kernel takes little, so that the server has to keep the rest or to leave it in the log.
            each._sink._transport.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_SNDBUF, 4096)  # type: ignore[attr-defined]
        for stream in silent:
            stream._reader._transport.pause_reading()  # type: ignore[attr-defined]
        reading = asyncio.gather(*map(values, readers))
        for value in expected:
            await rest.node.label(k=value)
        assert await reading == [expected] * READERS
        waiting = held(rest)
        assert waiting[:READERS] == [0] * READERS
        assert waiting[READERS] > FULL
        assert waiting[-1] < FULL + 2 * MAX_SENT_BYTES
        assert not any(group.pending for group in rest.node.engine.watches.groups)
        for stream in silent:
            stream._reader._transport.resume_reading()  # type: ignore[attr-defined]
        assert await asyncio.gather(*map(values, silent)) == [expected] * SILENT
