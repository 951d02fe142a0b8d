"""Translates Kafka's errors into our own."""

from __future__ import annotations

from confluent_kafka import KafkaError

from topicfold.errors import LogGap, LogUnavailable, TooLarge, TopicfoldError, WrongLog
from topicfold.kafka_client import DENIED, NOT_LET_IN, KafkaRight
from topicfold.log.codec import MAX_EVENT_BYTES
from topicfold.log.port import LogDenied

LOST = {KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION, KafkaError.OFFSET_OUT_OF_RANGE}
"""Codes for an offset that has no record any more."""
_GONE = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.UNKNOWN_TOPIC_ID,
    KafkaError.INCONSISTENT_TOPIC_ID,
}
_PASSING = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
}
_TOO_LARGE = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE}


LEADERS_HINT = "Check that the brokers with its replicas are running and let this node in."


def restoring(what: str) -> str:
    """Return the hint for a topic that was deleted or replaced while a node that follows it is running."""
    return (
        f"Restore {what} from a copy: a new one of that name is another log. If there is no copy, save what "
        "this node knows before it stops, because a node that starts then begins an empty log (docs/recovery.md)."
    )


def translated(error: KafkaError, right: KafkaRight) -> TopicfoldError:
    """Return our own error for one of Kafka's; an error that is not known to be final becomes `LogUnavailable`.

    `right` is what the request needed.
    """
    code, text = error.code(), error.str()
    if code == KafkaError._LOG_TRUNCATION:
        return LogGap(
            f"Kafka lost records that this node has folded, and continued without them: {text}",
            hint="Save what this node knows before you restart it: it then continues without them (docs/recovery.md).",
        )
    if code in LOST:
        return LogGap(f"Kafka no longer has the records to continue with: {text}", hint="Start from a newer snapshot.")
    if code in _GONE:
        return WrongLog(f"the log's topic is gone: {text}", hint=restoring("it"))
    if code in DENIED:
        is_old_way = code == KafkaError.CLUSTER_AUTHORIZATION_FAILED and right.operation == "Write"
        return LogDenied(
            f"Kafka denies us {right.operation} on {right.resource}: {text}",
            hint=right.command
            + ("; before Kafka 2.8 also --operation IdempotentWrite --cluster" if is_old_way else ""),
        )
    if code in NOT_LET_IN:
        return LogUnavailable(f"Kafka denies access: {text}", hint="Check the security settings given for Kafka.")
    if code in _TOO_LARGE:
        return TooLarge(f"Kafka refuses the event as too large: {text}", limit=MAX_EVENT_BYTES)
    return LogUnavailable(f"Kafka: {text}")


def unanswered(error: KafkaError, right: KafkaRight, *, others_answer: bool = False) -> LogUnavailable:
    """Return the error for a request that Kafka did not answer, whatever the cause; `right` is what it needs.

    With `others_answer` it was for the brokers that lead the log's partitions, and some broker has just answered.

    librdkafka's own errors (codes below zero) say nothing about the topic: it calls a dead broker's partitions
    "unknown", which is not passed on.
    """
    if error.code() < 0 and error.code() not in LOST | NOT_LET_IN:
        cause = "" if error.code() in _GONE else f": {error.str()}"
        if others_answer:
            reason = f"Kafka answers, but not the brokers that lead its partitions{cause}"
            return LogUnavailable(f"the log cannot be reached: {reason}", hint=LEADERS_HINT)
        return LogUnavailable(f"the log cannot be reached: no answer{cause}")
    fault = translated(error, right)
    return fault if isinstance(fault, LogUnavailable) else LogUnavailable(fault.reason, hint=fault.hint)


def is_passing(error: KafkaError) -> bool:
    """Return whether the same request may succeed in a moment, as when a topic has just been created or moved."""
    return error.code() in _PASSING


def is_denied(error: KafkaError) -> bool:
    """Return whether Kafka denies this, which ends as soon as somebody allows it."""
    return error.code() in DENIED | NOT_LET_IN


def is_fatal(error: KafkaError) -> bool:
    """Return whether the client with this error is broken for good; `produce` reports that by a code, not a flag."""
    return error.fatal() or error.code() == KafkaError._FATAL
