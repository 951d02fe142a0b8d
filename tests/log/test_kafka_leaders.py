"""A cluster of two brokers, one of which dies: the log is where the other one leads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from tests.brokers.joining import JoiningProcess
from tests.brokers.process import KafkaProcess
from tests.client.waiting import eventually
from tests.log.following import Following
from tests.prerequisites import needed
from topicfold.errors import LogUnavailable, TopicfoldError
from topicfold.log.kafka import KafkaLog

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.fixture
def two_brokers(tmp_path: Path) -> Iterator[tuple[str, JoiningProcess]]:
    """Where both listen, and the one that is no controller."""
    first = KafkaProcess(tmp_path / "first")
    second = JoiningProcess(tmp_path / "second", first)
    with needed():
        first.start()
        second.start()
    bootstrap = f"{first.bootstrap},{second.bootstrap}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    eventually(lambda: len(admin.list_topics(timeout=10).brokers) == 2)
    yield bootstrap, second
    second.kill()
    first.kill()


async def test_a_log_whose_leaders_died_answers_as_soon_as_others_have_taken_over(
    two_brokers: tuple[str, JoiningProcess],
) -> None:
    bootstrap, second = two_brokers
    log = await KafkaLog.open(bootstrap, "log", partitions=4)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = admin.list_topics(timeout=10).topics
    leaders = {each.leader for each in topics["log"].partitions.values()}
    assert 2 in leaders
    following = Following(log)
    failures: list[TopicfoldError] = []
    for partition in range(4):
        log.append(partition, b"before", failures.append)
    await following.seen(4)
    assert await log.end_offsets() == dict.fromkeys(range(4), 1)
    second.kill()
    async with asyncio.timeout(30):
        while True:
            try:
                assert await log.end_offsets() == dict.fromkeys(range(4), 1)
                break
            except LogUnavailable:
                await asyncio.sleep(0.1)
    for partition in range(4):
        assert [entry.value for entry in await log.read(partition, 0, 10)] == [b"before"]
        log.append(partition, b"after", failures.append)
    await following.seen(8)
    assert failures == following.faults == []
    assert "number of replicas in sync" not in {each.setting for each in await log.check_settings()}
    wanting_two = [ConfigEntry("min.insync.replicas", "2", incremental_operation=AlterConfigOpType.SET)]
    resource = ConfigResource(ConfigResource.Type.TOPIC, "log", incremental_configs=wanting_two)
    admin.incremental_alter_configs([resource])[resource].result()
    found = {each.setting: each.found for each in await log.check_settings()}
    assert found["number of replicas in sync"] == "1 (partition 0, 1, 2, 3)"
    await log.close()
