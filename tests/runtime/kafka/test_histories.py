"""Many nodes that make, grow and end the same topics while Kafka goes away and nodes die: in the end all agrees."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from random import Random

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.kafka_nodes import Crash, KafkaNode, WilfulCluster, attached
from topicfold.errors import FixRequest, OutcomeUnknown, Reread, Wait
from topicfold.model.kafka.adoption import KafkaTopic
from topicfold.model.names import parse_topic
from topicfold.model.records import TopicRecord
from topicfold.runtime.kafka import writing as kafka_writing
from topicfold.runtime.kafka.upkeep import Upkeep, UpkeepOptions
from topicfold.runtime.topic_counts import count_topics

NAMES = ("a", "b", "c")
NODES = 3
REQUESTS = 60


class Weather(WilfulCluster):
    """A cluster whose every answer takes a few turns of the loop, goes away now and then, and takes nodes with it."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random
        self.is_bad = True

    async def topic(self, name: str) -> KafkaTopic | None:
        await self._pass_time()
        found = await super().topic(name)
        await self._pass_time()
        return found

    async def create(self, name: str, partitions: int, settings: Mapping[str, str] | None = None) -> None:
        await self._pass_time()
        await super().create(name, partitions, settings)
        await self._pass_time()

    async def grow(self, name: str, partitions: int) -> None:
        await self._pass_time()
        await super().grow(name, partitions)
        await self._pass_time()

    async def delete(self, name: str) -> None:
        await self._pass_time()
        await super().delete(name)
        await self._pass_time()

    async def _pass_time(self) -> None:
        for _ in range(self._random.randrange(4)):
            await asyncio.sleep(0)
        if self.is_bad:
            self.is_reachable = self._random.random() > 0.05
            if self._random.random() < 0.03:
                raise Crash


async def request(node: KafkaNode, random: Random) -> None:
    """Ask for something; whatever comes of it is fine here."""
    name = parse_topic(random.choice(NAMES))
    asked = node.asked(0.2, key=str(random.random()), method="M", actor="a")
    try:
        match random.randrange(4):
            case 0 | 1:
                await node.writing.create_topic(name, TopicRecord(random.randrange(1, 4)), asked)
            case 2:
                await node.writing.grow_partitions(name, random.randrange(2, 8), asked)
            case _:
                await node.writing.delete_topic(name, asked)
    except (FixRequest, Reread, Wait, OutcomeUnknown, Crash):
        pass


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_writing, "PAUSE_SECONDS", 0.0005)


@pytest.mark.parametrize("seed", range(40))
async def test_records_and_kafka_topics_agree_once_everything_is_repaired(seed: int) -> None:
    random, store = Random(seed), MemoryStore(partitions=1)
    cluster = Weather(random)
    async with AsyncExitStack() as stack:
        nodes = [
            await stack.enter_async_context(attached(store, cluster, 1_000_000 * number))
            for number in range(1, NODES + 1)
        ]
        for _ in range(REQUESTS // 6):
            await asyncio.gather(*(request(random.choice(nodes), random) for _ in range(6)))
        cluster.is_bad, cluster.is_reachable = False, True
        upkeep = Upkeep(nodes[0].engine, cluster, UpkeepOptions())
        for _ in range(3):
            await upkeep.run_once()
        recorded = {name: record.partitions for name in NAMES if (record := nodes[0].record(name))}
        in_kafka = cluster.partitions()
        assert recorded.keys() == in_kafka.keys()
        # Kafka grows topics by name: a late growth may have met a topic that was made anew.
        assert all(recorded[name] <= in_kafka[name] for name in recorded)
        assert (await count_topics(nodes[0].engine.states.values())).waiting == 0
