"""A cluster of two brokers, one of which dies: the log is where the other one leads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.brokers.joining import JoiningProcess
from tests.log.following import Following, never
from topicfold.errors import LogUnavailable, TopicfoldError
from topicfold.log.kafka import KafkaLog
from topicfold.log.kafka.settings import new_topic
from topicfold.runtime.engine import Engine

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
SECONDS = 60
PATIENT = {"socket.timeout.ms": "300000"}
"""So long a client may take a broker that was halted for a slow one."""


async def test_a_log_whose_leaders_died_answers_as_soon_as_others_have_taken_over(
    two_brokers: tuple[str, JoiningProcess],
) -> None:
    bootstrap, second = two_brokers
    log = await KafkaLog.open(bootstrap, "log", partitions=4)
    try:
        following = Following(log)
        failures: list[TopicfoldError] = []
        for partition in range(4):
            log.append(partition, b"before", failures.append)
        await following.seen(4)
        topics = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=10).topics
        assert 2 in {each.leader for each in topics["log"].partitions.values()}
        second.kill()
        assert await answer_of(log.end_offsets) == dict.fromkeys(range(4), 1)
        for partition in range(4):
            assert [entry.value for entry in await log.read(partition, 0, 10)] == [b"before"]
            log.append(partition, b"after", failures.append)
        await following.seen(8)
        assert failures == following.faults == []
    finally:
        await log.close()


async def test_a_dead_leader_hides_the_ends_of_its_own_partitions_only(
    two_brokers: tuple[str, JoiningProcess],
) -> None:
    bootstrap, second = two_brokers
    admin = AdminClient({"bootstrap.servers": bootstrap})
    led_by = [[1], [2], [1], [2]]
    admin.create_topics([NewTopic("log", len(led_by), replica_assignment=led_by)])["log"].result()
    log = await KafkaLog.open(bootstrap, "log")
    try:
        assert await answer_of(log.known_end_offsets) == dict.fromkeys(range(4), 0)
        second.kill()
        assert await answer_of(log.known_end_offsets) == {0: 0, 2: 0}
        second.restart()
        async with asyncio.timeout(SECONDS):
            while len(await answer_of(log.known_end_offsets)) < 4:  # noqa: ASYNC110 -- nobody is told
                await asyncio.sleep(0.1)
    finally:
        await log.close()


async def test_a_node_that_starts_where_leaders_are_dead_waits_for_their_partitions_only(
    two_brokers: tuple[str, JoiningProcess],
) -> None:
    bootstrap, second = two_brokers
    admin = AdminClient({"bootstrap.servers": bootstrap})
    wanted = NewTopic("log", 3, replica_assignment=[[1], [2], [1]], config=new_topic(1)[1])
    admin.create_topics([wanted])["log"].result()
    engine = await Engine.start(await KafkaLog.open(bootstrap, "log"))
    await engine.readiness.wait(engine.states, SECONDS)
    await engine.stop()
    second.kill()
    engine = await started(bootstrap)
    try:
        await engine.readiness.wait([0, 2], SECONDS)
        assert not engine.readiness.is_ready(1)
        second.restart()
        await engine.readiness.wait([1], SECONDS)
    finally:
        await engine.stop()


async def started(bootstrap: str) -> Engine:
    """Return a node on the log, once the cluster has noticed who died."""
    async with asyncio.timeout(SECONDS):
        while True:
            with suppress(LogUnavailable):
                log = await KafkaLog.open(bootstrap, "log")
                try:
                    return await Engine.start(log)
                except LogUnavailable:
                    await log.close()
                    raise


async def test_what_a_halted_leader_led_is_followed_at_the_next_one_though_connections_stay(
    two_brokers: tuple[str, JoiningProcess],
) -> None:
    bootstrap, second = two_brokers
    logs = [await KafkaLog.open(bootstrap, "log", 4, kafka_settings=PATIENT) for _ in range(2)]
    try:
        follower, writer = logs
        following = Following(follower)
        for partition in range(4):
            writer.append(partition, b"before", never)
        await following.seen(4)
        second.pause()
        for partition in range(4):
            append_until_taken(writer, partition, b"after")
        while not all(b"after" in following.values(partition) for partition in range(4)):
            await following.seen(len(following.entries) + 1)
        assert following.faults == []
    finally:
        second.resume()
        for log in logs:
            await log.close()


def append_until_taken(log: KafkaLog, partition: int, value: bytes) -> None:
    """Append `value`, again and again where the log gives up on it until it is closed."""
    with suppress(LogUnavailable):
        log.append(partition, value, lambda _: append_until_taken(log, partition, value))


async def answer_of(question: Callable[[], Awaitable[Mapping[int, int]]]) -> Mapping[int, int]:
    """Return what the log answers once it does."""
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                return await question()
            except LogUnavailable:
                await asyncio.sleep(0.1)
