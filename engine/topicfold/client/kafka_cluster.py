"""What topics a Kafka cluster has, for a caller without a loop. Nothing here can change a cluster.

Kafka's client library is imported when it is needed, so that the rest works without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from topicfold.client.extras import import_failure
from topicfold.model.kafka.adoption import KafkaTopic


def list_kafka_topics(bootstrap: str, settings: Mapping[str, str], timeout_seconds: float) -> tuple[KafkaTopic, ...]:
    """Return all topics of the cluster at `bootstrap`, sorted by name, internal ones too.

    `settings` go to librdkafka as they are.

    Raises:
        ExtraMissing, ExtraBroken: confluent-kafka is not installed, or cannot be imported.
        BadSetting: librdkafka does not take `settings`.
        ClusterUnavailable: no answer within the time.
    """
    try:
        from topicfold.cluster.kafka import KafkaCluster
    except ImportError as error:
        raise import_failure(error, "reading a Kafka cluster", "kafka") from error
    cluster = KafkaCluster(bootstrap, settings, timeout_seconds)
    return tuple(asyncio.run(cluster.topics()).values())
