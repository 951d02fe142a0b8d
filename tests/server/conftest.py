"""Nodes behind REST: one, or three on one log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from tests.memory_log import MemoryStore
from tests.server.rest import LABELS, ORDERS, RestNode, listening, rest_node


@pytest.fixture
def store() -> MemoryStore:
    """A log of eight partitions."""
    return MemoryStore(partitions=8)


@pytest.fixture
async def rest(store: MemoryStore) -> AsyncIterator[RestNode]:
    """One node."""
    async with rest_node(store) as made:
        yield made


@pytest.fixture
async def nodes(store: MemoryStore) -> AsyncIterator[list[RestNode]]:
    """Three nodes on one log."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(rest_node(store, number * 10**9)) for number in (1, 2, 3)]


@pytest.fixture
async def orders(rest: RestNode) -> RestNode:
    """One node, with the topic `orders` labelled team=pay and tier=gold."""
    await rest.done("PUT", ORDERS)
    await rest.done("POST", LABELS, {"labels": {"team": "pay", "tier": "gold"}})
    return rest


@pytest.fixture
async def port(orders: RestNode) -> AsyncIterator[int]:
    """The port of a real server of `orders`."""
    async with listening(orders) as number:
        yield number
