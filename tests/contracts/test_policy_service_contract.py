"""PIP-428's promises hold over every log: what was updated can be read at once, here and by who listens elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.contracts.conftest import OpenLog
from topicfold.model.names import parse_topic
from topicfold.model.policy.limits import Limits
from topicfold.model.records import TopicRecord
from topicfold.runtime.asking import Asked
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.runtime.policy_news import News
from topicfold.runtime.policy_service import TopicPoliciesService
from topicfold.runtime.writing.writing import Writing

TTL, SIZE, CLUSTERS = "messageTTLInSeconds", "maxMessageSize", "replicationClusters"


@pytest.fixture
async def engines(open_log: OpenLog) -> AsyncIterator[list[Engine]]:
    """Two engines on one log."""
    known = frozenset(f"c{round_}" for round_ in range(10))
    options = EngineOptions(limits=Limits(clusters=known))
    made = [await Engine.start(await open_log(), options) for _ in range(2)]
    for engine in made:
        await engine.readiness.wait(engine.states, 20)
    yield made
    for engine in made:
        await engine.stop()


async def make(engine: Engine, topic: str, partitions: int = 0) -> None:
    """Make a topic."""
    asked = Asked(asyncio.get_running_loop().time() + 20)
    await Writing(engine).create_topic(parse_topic(topic), TopicRecord(partitions), asked)


@pytest.mark.parametrize("partitions", [0, 4])
async def test_updates_at_once_of_many_topics_are_all_read_back(engines: list[Engine], partitions: int) -> None:
    service = TopicPoliciesService(engines[0])
    topics = [f"topic{number}" for number in range(10)]
    for topic in topics:
        await make(engines[0], topic, partitions)
    for round_ in range(10):
        wanted = {TTL: round_, SIZE: round_ + 1, CLUSTERS: ["standalone", f"c{round_}"]}
        await asyncio.gather(*(
            service.update(topic, lambda old, name=name, value=value: old.update({name: value}))
            for topic in topics for name, value in wanted.items()
        ))  # fmt: skip
        for topic in topics:
            assert await service.get(topic) == {**wanted, CLUSTERS: ("standalone", f"c{round_}")}


async def test_two_nodes_that_count_at_once_lose_nothing_and_a_listener_ends_with_the_sum(
    engines: list[Engine],
) -> None:
    await make(engines[0], "orders")
    services = [TopicPoliciesService(engine) for engine in engines]
    heard: list[int] = []
    done = asyncio.Event()

    def listen(news: News) -> None:
        heard.append((news.policies or {}).get(SIZE, 0))
        if heard[-1] == 40:
            done.set()

    services[1].register_listener("orders", listen)
    await asyncio.gather(*(
        service.update("orders", lambda old: {SIZE: old.get(SIZE, 0) + 1}) for service in services for _ in range(20)
    ))  # fmt: skip
    async with asyncio.timeout(20):
        await done.wait()
    assert heard == sorted(set(heard))
    for service in services:
        await service.stop()
