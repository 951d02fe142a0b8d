"""A node, a cluster in memory and an enforcer between them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import pytest

from tests.builders import topic_put
from tests.memory_log import MemoryStore
from tests.runtime.kafka_nodes import LOG_TOPIC, KafkaNode, WilfulCluster, attached
from topicfold.enforcement import enforcer as enforcing
from topicfold.enforcement.enforcer import Enforcer
from topicfold.enforcement.reports import Report
from topicfold.log.codec import encode_event
from topicfold.model.names import parse_topic
from topicfold.model.policy.changes import change_namespace, change_topic, remove_value, set_value
from topicfold.model.records import TopicRecord

RETENTION = "retentionPolicies"
TEN_MINUTES = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 20}
TEN_MINUTES_IN_KAFKA = {"retention.ms": "600000", "retention.bytes": "20971520"}
HOUR = {"retentionTimeInMinutes": 60, "retentionSizeInMB": -1}
ORDERS = "persistent://public/default/orders"


@dataclass
class Site:
    """What tests of enforcement work with; `reports` has all that was told."""

    node: KafkaNode
    reports: list[Report] = field(default_factory=list)

    @property
    def cluster(self) -> WilfulCluster:
        return self.node.cluster

    def enforcer(self, **options: Any) -> Enforcer:
        return Enforcer(self.node.engine, self.cluster, self.reports.append, protected={LOG_TOPIC}, **options)

    async def once(self, **options: Any) -> list[str]:
        """Run a fresh enforcer once, as after a restart; return the lines it told."""
        return await self.again(self.enforcer(**options))

    async def again(self, enforcer: Enforcer) -> list[str]:
        self.reports.clear()
        await enforcer.catch_up()
        await enforcer.run_once(enforcer.names())
        return [report.line for report in self.reports]

    async def make(self, name: str, **fields: Any) -> None:
        await self.node.writing.create_topic(parse_topic(name), TopicRecord(**fields), self.node.asked())

    async def set(self, name: str, policy: str, value: Any, *, is_global: bool = False) -> None:
        value = MappingProxyType(value) if isinstance(value, Mapping) else value
        updater = change_topic(name, set_value(policy, value), is_global=is_global)
        await self.node.writing.change_topic(parse_topic(name), updater, self.node.asked())

    async def remove(self, name: str, policy: str) -> None:
        updater = change_topic(name, remove_value(policy))
        await self.node.writing.change_topic(parse_topic(name), updater, self.node.asked())

    async def set_namespace(self, policy: str, value: Any, namespace: str = "public/default") -> None:
        value = MappingProxyType(value) if isinstance(value, Mapping) else value
        updater = change_namespace(namespace, set_value(policy, value))
        await self.node.writing.change_namespace(namespace, updater, self.node.asked())

    async def remove_namespace(self, policy: str, namespace: str = "public/default") -> None:
        updater = change_namespace(namespace, remove_value(policy))
        await self.node.writing.change_namespace(namespace, updater, self.node.asked())

    async def own(self, kafka_topic: str) -> dict[str, str]:
        """Return the settings that a Kafka topic overrides."""
        found = (await self.cluster.configurations([kafka_topic]))[kafka_topic]
        assert isinstance(found, Mapping)
        return {key: setting.value for key, setting in found.items() if setting.is_own}

    async def reaches(self, kafka_topic: str, wanted: dict[str, str]) -> None:
        """Return once the topic overrides just this."""
        for _ in range(1_000):
            if await self.own(kafka_topic) == wanted:
                return
            await asyncio.sleep(0.005)
        raise AssertionError(f"{kafka_topic} overrides {await self.own(kafka_topic)}, not {wanted}")

    def refuse(self, kafka_topic: str, error: Exception) -> Callable[[], None]:
        """Have every change of one topic's settings fail with `error`; return what ends that."""
        alter = self.cluster.alter

        async def alter_others(name: str, settings: dict[str, str | None]) -> None:
            if name == kafka_topic:
                raise error
            await alter(name, settings)

        def allow() -> None:
            self.cluster.alter = alter

        self.cluster.alter = alter_others
        return allow

    def with_defaults(self, **defaults: Any) -> None:
        """Let the node's settings say what holds below all else."""
        options = self.node.engine.options
        self.node.engine.options = replace(options, limits=replace(options.limits, defaults=defaults))


def append_unreadable(site: Site, **fields: Any) -> None:
    """Append, as a node of another version would, a version of `orders` that cannot be read.

    Its payload is damaged, or else what `fields` say of the event is why.
    """
    state = site.node.engine.states[site.node.engine.partition("public/default")]
    life, base = state.namespaces["public/default"].incarnation, state.topics["public/default"].get("orders").version
    site.node.log.store.append(
        state.partition, encode_event(topic_put(7, life, base, **(fields or {"payload": b"\xff"})))
    )


@asynccontextmanager
async def following(enforcer: Enforcer) -> AsyncIterator[None]:
    """Let an enforcer follow the log meanwhile."""
    task = asyncio.create_task(enforcer.follow())
    yield
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let enforcers wait for next to nothing."""
    monkeypatch.setattr(enforcing, "COALESCE_SECONDS", 0.001)
    monkeypatch.setattr(enforcing, "RETRY_SECONDS", 0.01)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with attached(MemoryStore(partitions=2), WilfulCluster()) as node:
        yield Site(node)
