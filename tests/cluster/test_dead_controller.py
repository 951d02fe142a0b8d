"""A cluster of two brokers, one of which dies: the one that clients take for the controller."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.brokers.joining import JoiningProcess
from topicfold.client.consuming.kafka_consumer import KafkaLook
from topicfold.cluster.kafka import KafkaCluster
from topicfold.errors import ClusterUnavailable, LogUnavailable
from topicfold.log.kafka.settings import client_settings
from topicfold.log.kafka.topic import LogTopics

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
SECONDS = 60.0
QUESTIONS = 6

T = TypeVar("T", KafkaCluster, LogTopics, KafkaLook)


async def test_clients_hear_of_another_controller_when_theirs_has_died(two_brokers: tuple[str, JoiningProcess]) -> None:
    bootstrap, second = two_brokers
    cluster = until_its_controller_is_the_second(lambda: KafkaCluster(bootstrap))
    topics = until_its_controller_is_the_second(lambda: LogTopics(client_settings(bootstrap, {}), bootstrap))
    look = until_its_controller_is_the_second(lambda: KafkaLook({"bootstrap.servers": bootstrap}))
    log = topics.open("log", 1)
    second.kill()
    end = time.monotonic() + SECONDS
    while not (found := await asyncio.to_thread(look, ["log"])):
        assert time.monotonic() < end
    assert found == {"log": log.id}
    while not await answers(lambda: topics.problems(log)):
        assert time.monotonic() < end
    await cluster.reach()
    assert await cluster.topic("log") is not None


@pytest.mark.parametrize("is_halted", [False, True])
async def test_who_only_changes_topics_hears_of_another_controller_too(
    two_brokers: tuple[str, JoiningProcess], is_halted: bool
) -> None:
    bootstrap, second = two_brokers
    cluster = until_its_controller_is_the_second(lambda: KafkaCluster(bootstrap))
    topics = until_its_controller_is_the_second(lambda: LogTopics(client_settings(bootstrap, {}), bootstrap))
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("orders", 1, replica_assignment=[[1]])])["orders"].result()
    (second.pause if is_halted else second.kill)()
    try:
        assert await is_answered(lambda: cluster.alter("orders", {"retention.ms": "5"}))
        assert await is_answered(lambda: asyncio.to_thread(topics.open, "log", 1))
    finally:
        second.resume() if is_halted else second.restart()


async def is_answered(question: Callable[[], Awaitable[object]]) -> bool:
    """Return whether Kafka answers one of a few questions in time."""
    for _ in range(QUESTIONS):
        with suppress(ClusterUnavailable, LogUnavailable):
            await question()
            return True
        await asyncio.sleep(1)
    return False


def until_its_controller_is_the_second(make: Callable[[], T]) -> T:
    """Return a client that was told so: each is told of one broker or the other."""
    for _ in range(100):
        client = make()
        (admin,) = (each for each in vars(client).values() if isinstance(each, AdminClient))
        if admin.describe_cluster(request_timeout=10).result().controller.id == 2:
            return client
    raise AssertionError("no client was told of the second broker")


async def answers(question: Callable[[], object]) -> bool:
    """Return whether Kafka answers."""
    try:
        await asyncio.to_thread(question)
    except LogUnavailable:
        return False
    return True
