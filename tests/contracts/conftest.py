"""One log per test, and as many handles on it as the test opens, over every adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.memory_log import MemoryLog, MemoryStore
from topicfold.log.kafka import KafkaLog
from topicfold.log.port import Log
from topicfold.log.sqlite import SqliteLog

OpenLog = Callable[[], Awaitable[Log]]


@pytest.fixture(params=["memory", "sqlite", pytest.param("kafka", marks=pytest.mark.kafka)])
def adapter_and_server(request: pytest.FixtureRequest) -> tuple[str, str]:
    """The adapter's name, and where its server is."""
    return request.param, request.getfixturevalue("kafka_bootstrap") if request.param == "kafka" else ""


@pytest.fixture
async def open_log(
    adapter_and_server: tuple[str, str], tmp_path: Path, fresh_topic: Callable[[], str]
) -> AsyncIterator[OpenLog]:
    """Opens another handle on the test's log, which has 3 partitions; all are closed after the test."""
    handles: list[Log] = []
    store, topic = MemoryStore(partitions=3), fresh_topic()
    adapter, server = adapter_and_server

    async def open_another() -> Log:
        match adapter:
            case "memory":
                handles.append(MemoryLog(store))
            case "sqlite":
                handles.append(await SqliteLog.open(tmp_path / "log.db", partitions=3))
            case _:
                handles.append(await KafkaLog.open(server, topic, partitions=3))
        return handles[-1]

    yield open_another
    for handle in handles:
        await handle.close()
