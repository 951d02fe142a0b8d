"""What topics a Kafka cluster has. Reads metadata only; nothing here can change a cluster.

Kafka's client library is imported when it is needed, so that the rest works without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from topicfold.client.errors import ClusterUnreachable, ExtraMissing
from topicfold.errors import BadSetting

# librdkafka would print connection failures on stderr, beside what we say about them.
_QUIET = {"log_level": 0}


@dataclass(frozen=True, slots=True)
class KafkaTopic:
    """A topic as Kafka's metadata has it; `problem` says why its partitions are not known, or is empty."""

    name: str
    partitions: int
    problem: str = ""


def list_kafka_topics(bootstrap: str, settings: Mapping[str, str], timeout_seconds: float) -> tuple[KafkaTopic, ...]:
    """Return all topics of the cluster at `bootstrap`, sorted by name, internal ones too.

    `settings` go to librdkafka as they are.

    Raises:
        ExtraMissing: confluent-kafka is not installed.
        BadSetting: librdkafka does not take `settings`.
        ClusterUnreachable: no metadata within the time.
    """
    try:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient
    except ImportError as error:
        raise ExtraMissing("reading a Kafka cluster", "kafka") from error
    try:
        admin = AdminClient({**_QUIET, "bootstrap.servers": bootstrap, **settings})
    except (KafkaException, TypeError, ValueError) as error:
        raise BadSetting(f"Kafka's client does not take these settings: {_text(error)}") from error
    try:
        metadata = admin.list_topics(timeout=timeout_seconds)
    except KafkaException as error:
        raise ClusterUnreachable(
            f"no metadata from Kafka at {bootstrap} within {timeout_seconds:g} s: {_text(error)}", bootstrap=bootstrap
        ) from error
    return tuple(_kafka_topic(name, topic) for name, topic in sorted(metadata.topics.items()))


def _kafka_topic(name: str, topic: Any) -> KafkaTopic:
    return KafkaTopic(name, len(topic.partitions), str(topic.error.str()) if topic.error else "")


def _text(error: Exception) -> str:
    """Return librdkafka's own sentence where there is one."""
    cause = error.args[0] if error.args else error
    return str(cause.str()) if hasattr(cause, "str") else str(cause)
