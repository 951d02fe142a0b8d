"""What Kafka's errors about topics mean in our words."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import KafkaError

from topicfold.errors import AlreadyExists, ClusterRefused, ClusterUnavailable, TopicfoldError, TopicNotFound
from topicfold.kafka_client import DENIED, NOT_LET_IN, KafkaRight

_REFUSED: Mapping[int, str] = {
    KafkaError.INVALID_CONFIG: "it does not accept the setting",
    KafkaError.INVALID_PARTITIONS: "it does not accept the number of partitions",
    KafkaError.INVALID_REPLICA_ASSIGNMENT: "it does not accept the number of replicas",
    KafkaError.INVALID_REQUEST: "it does not accept the request",
    KafkaError.POLICY_VIOLATION: "its policy forbids it",
    KafkaError.TOPIC_EXCEPTION: "it does not accept the name",
}
_UNREACHABLE_HINT = (
    "Check the bootstrap servers, that no broker of the cluster hangs, and the security settings that it requires."
)


def translated(error: KafkaError, bootstrap: str, topic: str, right: str) -> TopicfoldError:
    """Return our own error for Kafka's about `topic`; what is not known to be final is `ClusterUnavailable`.

    `right` is the operation, in Kafka's word, that a principal must be allowed. `is_denied` among the error's values
    tells a no of Kafka's about this topic from silence, and from a no to whatever is asked. Of a name that Kafka does
    not allow it has no topic: that is refused only where one is to be made.
    """
    code, text = error.code(), error.str()
    if code == KafkaError.UNKNOWN_TOPIC_OR_PART or (code == KafkaError.TOPIC_EXCEPTION and right != "Create"):
        return TopicNotFound(f"Kafka has no topic {topic}", name=topic)
    if code == KafkaError.TOPIC_ALREADY_EXISTS:
        return AlreadyExists(f"Kafka has a topic {topic} already", name=topic)
    if code in _REFUSED:
        return ClusterRefused(f"Kafka refuses topic {topic}: {_REFUSED[code]}: {text}", kafka_topic=topic)
    if code in DENIED:
        lacking = KafkaRight(right, topic, bootstrap)
        return _denied(f"Kafka at {bootstrap} denies us {right} on {lacking.resource}", lacking.command, bootstrap)
    if code == KafkaError.TOPIC_DELETION_DISABLED:
        hint = "Set delete.topic.enable=true on its brokers."
        return _denied(
            f"Kafka at {bootstrap} has topic deletion disabled, so {topic} cannot be deleted", hint, bootstrap
        )
    if code == KafkaError.INVALID_REPLICATION_FACTOR:  # We ask for the brokers' own default.
        hint = "Start the brokers that are down, or lower default.replication.factor to as many as there are."
        reason = f"Kafka at {bootstrap} has too few brokers in service for topic {topic}: {text}"
        return _denied(reason, hint, bootstrap)
    if code in NOT_LET_IN:
        return ClusterUnavailable(
            f"Kafka at {bootstrap} denies access: {text}", hint=_UNREACHABLE_HINT, bootstrap=bootstrap
        )
    return ClusterUnavailable(
        f"no answer from Kafka at {bootstrap}: {text}", hint=_UNREACHABLE_HINT, bootstrap=bootstrap
    )


def _denied(reason: str, hint: str, bootstrap: str) -> ClusterUnavailable:
    return ClusterUnavailable(reason, hint=hint, bootstrap=bootstrap, is_denied=True)
