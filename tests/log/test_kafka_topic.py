"""What is asked about the log's topic while the cluster is not itself, without a broker."""

from __future__ import annotations

import pytest

from tests.brokers.fenced import fenced_broker
from topicfold.errors import LogUnavailable
from topicfold.log.kafka_topic import KafkaTopics


def test_a_cluster_none_of_whose_brokers_is_in_service_is_one_that_cannot_be_reached() -> None:
    """Kafka's client, asked to describe such a cluster, ends the whole process."""
    with fenced_broker() as broker:
        topics = KafkaTopics({"bootstrap.servers": broker.bootstrap, "log_level": 0}, broker.bootstrap)
        # The client is connected to the controller then, and this one makes no topics.
        with pytest.raises(LogUnavailable, match="not supported"):
            topics.open("log", 8)
        broker.answers = 1
        with pytest.raises(LogUnavailable, match="none of its brokers is in service"):
            topics.open("log", 8)
