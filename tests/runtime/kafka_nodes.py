"""Nodes that are told of a cluster in memory, which stops answering, or dies under them, when told to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.memory_cluster import MemoryCluster
from tests.memory_log import MemoryStore
from tests.runtime.nodes import Node, running
from topicfold.model.names import parse_topic
from topicfold.model.records import Pending, TopicRecord
from topicfold.runtime.kafka.records import record_of
from topicfold.runtime.kafka.topics import KafkaTopics
from topicfold.runtime.kafka.writing import KafkaWriting

LOG_TOPIC = "the-log"


class Crash(BaseException):
    """The node's process ended here."""


class WilfulCluster(MemoryCluster):
    """A cluster that goes away, or takes the node with it, before or after it did what was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_away_at: set[str] = set()
        self.crashes_before: set[str] = set()
        self.crashes_after: set[str] = set()

    async def create(self, name: str, partitions: int, settings: Mapping[str, str] | None = None) -> None:
        self._before("create")
        await super().create(name, partitions, settings)
        self._after("create")

    async def grow(self, name: str, partitions: int) -> None:
        self._before("grow")
        await super().grow(name, partitions)
        self._after("grow")

    async def delete(self, name: str) -> None:
        self._before("delete")
        await super().delete(name)
        self._after("delete")

    def partitions(self) -> dict[str, int]:
        """Return the number of partitions of each topic."""
        return {name: topic.partitions for name, topic in self._topics.items()}

    def heal(self) -> None:
        """Answer again, and do no more harm."""
        self.is_reachable = True
        for harm in (self.goes_away_at, self.crashes_before, self.crashes_after):
            harm.clear()

    def _before(self, step: str) -> None:
        if step in self.goes_away_at:
            self.is_reachable = False
        if step in self.crashes_before:
            raise Crash

    def _after(self, step: str) -> None:
        if step in self.crashes_after:
            raise Crash


@dataclass
class KafkaNode(Node):
    """A node, and the cluster it is told of."""

    writing: KafkaWriting
    cluster: WilfulCluster

    async def create(self, name: str, partitions: int = 0, **fields: str) -> None:
        """Make a topic."""
        await self.writing.create_topic(parse_topic(name), TopicRecord(partitions, **fields), self.asked())

    def record(self, name: str) -> TopicRecord | None:
        """Return a topic's record."""
        return record_of(self.engine, parse_topic(name))

    def pending(self, name: str) -> Pending | None:
        """Return what a live topic waits for."""
        record = self.record(name)
        assert record is not None
        return record.pending


@asynccontextmanager
async def attached(store: MemoryStore, cluster: WilfulCluster, first_id: int = 0) -> AsyncIterator[KafkaNode]:
    """Run a ready node over `store` that is told of `cluster`. Ids count up from `first_id`."""
    async with running(store, first_id) as node:
        writing = KafkaWriting(node.engine, KafkaTopics(cluster, {LOG_TOPIC}))
        yield KafkaNode(node.engine, node.log, writing, node.reading, cluster)


async def id_of(node: KafkaNode, kafka_topic: str) -> str:
    """Return Kafka's own id of a topic that is there."""
    found = await node.cluster.topic(kafka_topic)
    assert found is not None
    return found.id
