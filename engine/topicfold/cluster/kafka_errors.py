"""What Kafka's errors about topics mean in our words."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException

from topicfold.errors import AlreadyExists, ClusterRefused, ClusterUnavailable, TopicfoldError, TopicNotFound

_REFUSED: Mapping[int, str] = {
    KafkaError.INVALID_CONFIG: "it does not take the setting",
    KafkaError.INVALID_PARTITIONS: "it does not take the number of partitions",
    KafkaError.INVALID_REPLICATION_FACTOR: "it does not take the number of replicas",
    KafkaError.INVALID_REPLICA_ASSIGNMENT: "it does not take the number of replicas",
    KafkaError.INVALID_REQUEST: "it does not take the request",
    KafkaError.POLICY_VIOLATION: "its policy is against it",
    KafkaError.TOPIC_EXCEPTION: "it does not take the name",
}
_DENIED = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError._AUTHENTICATION,
        KafkaError.TOPIC_DELETION_DISABLED,
    }
)
_UNREACHABLE_HINT = "Check the bootstrap servers, and the security settings that the cluster asks for."
_DENIED_HINT = "Allow its principal Create, Describe, DescribeConfigs, Alter, AlterConfigs and Delete on topics."


def translated(exception: KafkaException, bootstrap: str, topic: str) -> TopicfoldError:
    """Return our own error for Kafka's about `topic`; what is not known to be final is `ClusterUnavailable`.

    `is_denied` among its values tells a no of Kafka's from silence.
    """
    error: KafkaError = exception.args[0]
    code, text = error.code(), error.str()
    if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
        return TopicNotFound(f"Kafka has no topic {topic}", name=topic)
    if code == KafkaError.TOPIC_ALREADY_EXISTS:
        return AlreadyExists(f"Kafka has a topic {topic} already", name=topic)
    if code in _REFUSED:
        return ClusterRefused(f"Kafka refuses topic {topic}: {_REFUSED[code]}: {text}", kafka_topic=topic)
    if code in _DENIED:
        about = f" for topic {topic}" if topic else ""
        return ClusterUnavailable(
            f"Kafka at {bootstrap} does not allow it{about}: {text}",
            hint=_DENIED_HINT,
            bootstrap=bootstrap,
            is_denied=True,
        )
    return ClusterUnavailable(
        f"no answer from Kafka at {bootstrap}: {text}", hint=_UNREACHABLE_HINT, bootstrap=bootstrap
    )


def text_of(error: Exception) -> str:
    """Return librdkafka's own sentence where there is one."""
    cause = error.args[0] if error.args else error
    return str(cause.str()) if hasattr(cause, "str") else str(cause)
