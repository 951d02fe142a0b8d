"""A log on Kafka, for tests that do not bring one of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
from confluent_kafka.admin import AdminClient

from topicfold.log.kafka import KafkaLog


@pytest.fixture
def topic(fresh_topic: Callable[[], str]) -> str:
    return fresh_topic()


@pytest.fixture
async def log(kafka_bootstrap: str, topic: str) -> AsyncIterator[KafkaLog]:
    log = await KafkaLog.open(kafka_bootstrap, topic, partitions=3)
    yield log
    await log.close()


@pytest.fixture
def admin(kafka_bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": kafka_bootstrap})
