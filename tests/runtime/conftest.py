"""One node over one log in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.kafka_nodes import KafkaNode, WilfulCluster, attached
from tests.runtime.nodes import ORDERS, Node, running
from topicfold.model.records import TopicRecord


@pytest.fixture
def store() -> MemoryStore:
    """A log of one partition."""
    return MemoryStore(partitions=1)


@pytest.fixture
async def node(store: MemoryStore) -> AsyncIterator[Node]:
    """A ready node over `store`."""
    async with running(store) as made:
        yield made


@pytest.fixture
async def orders(node: Node) -> Node:
    """The same node, with the topic `orders`."""
    await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
    return node


@pytest.fixture
async def kafka_node(store: MemoryStore) -> AsyncIterator[KafkaNode]:
    """A ready node over `store` that is told of a cluster in memory."""
    async with attached(store, WilfulCluster()) as node:
        yield node
