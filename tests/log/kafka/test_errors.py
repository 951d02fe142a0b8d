"""What Kafka's errors mean: which end a log for good, and which pass."""

from __future__ import annotations

import re

import pytest
from confluent_kafka import KafkaError

from topicfold.errors import LogGap, LogUnavailable, OperatorNeeded, TooLarge, WrongLog
from topicfold.kafka_client import KafkaRight
from topicfold.log.kafka.errors import translated, unanswered
from topicfold.log.port import LogDenied

GAPS = (KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION, KafkaError.OFFSET_OUT_OF_RANGE)
GONE = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.UNKNOWN_TOPIC_ID,
    KafkaError.INCONSISTENT_TOPIC_ID,
)
DESCRIBE, WRITE = (KafkaRight(operation, "log", "kafka:9092") for operation in ("Describe", "Write"))
PASSING = (KafkaError._TRANSPORT, KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.NOT_ENOUGH_REPLICAS)


@pytest.mark.parametrize("code", GAPS)
def test_records_that_kafka_has_no_more_are_a_gap(code: int) -> None:
    assert isinstance(translated(KafkaError(code), DESCRIBE), LogGap)


def test_of_records_that_brokers_lost_no_snapshot_is_promised_to_help() -> None:
    error = translated(KafkaError(KafkaError._LOG_TRUNCATION), DESCRIBE)
    assert error.reason.startswith("Kafka lost records that this node has folded, and continued without them: ")
    assert "snapshot" not in error.hint
    assert "before you restart it" in error.hint


@pytest.mark.parametrize("code", GONE)
def test_a_topic_that_kafka_does_not_know_is_not_this_log(code: int) -> None:
    error = translated(KafkaError(code), DESCRIBE)
    assert isinstance(error, WrongLog)
    assert "save what this node knows before it stops" in error.hint


@pytest.mark.parametrize("code", PASSING)
def test_whatever_else_kafka_says_may_pass(code: int) -> None:
    assert isinstance(translated(KafkaError(code), DESCRIBE), LogUnavailable)


def test_what_kafka_does_not_allow_comes_with_the_command_that_allows_it() -> None:
    error = unanswered(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), DESCRIBE)
    assert isinstance(error, LogDenied)
    assert error.reason.startswith("Kafka denies us Describe on topic log: ")
    command = "kafka-acls.sh --bootstrap-server kafka:9092 --add --allow-principal User:NAME"
    assert error.hint == f"{command} --operation Describe --topic log"


def test_who_may_not_write_is_told_of_what_older_brokers_want_for_it_where_that_is_what_they_miss() -> None:
    newer, older = (
        translated(KafkaError(code), WRITE)
        for code in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
    )
    others = translated(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED), DESCRIBE)
    assert "IdempotentWrite" not in newer.hint + others.hint
    assert older.hint == f"{newer.hint}; before Kafka 2.8 also --operation IdempotentWrite --cluster"


def test_who_is_not_let_in_is_told_of_no_right() -> None:
    error = translated(KafkaError(KafkaError.SASL_AUTHENTICATION_FAILED), WRITE)
    assert not isinstance(error, LogDenied)
    assert "security settings" in error.hint


@pytest.mark.parametrize("code", [KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE])
def test_an_event_that_kafka_does_not_take_is_too_large(code: int) -> None:
    assert isinstance(translated(KafkaError(code), DESCRIBE), TooLarge)


@pytest.mark.parametrize("code", [*GAPS, *GONE, *PASSING])
def test_a_question_that_was_not_answered_ends_nothing(code: int) -> None:
    error = unanswered(KafkaError(code), DESCRIBE)
    assert isinstance(error, LogUnavailable)
    assert not isinstance(error, OperatorNeeded)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (KafkaError._UNKNOWN_PARTITION, r"^the log cannot be reached: no answer$"),
        (KafkaError._TRANSPORT, r"^the log cannot be reached: no answer: .*transport failure"),
        (KafkaError._AUTHENTICATION, r"^Kafka denies access: "),
        (KafkaError._LOG_TRUNCATION, r"^Kafka lost records that this node has folded"),
        (KafkaError.OFFSET_OUT_OF_RANGE, r"^Kafka no longer has the records to continue with: "),
        (KafkaError.NOT_LEADER_FOR_PARTITION, r"^Kafka: .*leader"),
    ],
)
def test_a_question_that_was_not_answered_says_what_is_known_of_why_and_nothing_of_the_topic(
    code: int, reason: str
) -> None:
    assert re.search(reason, unanswered(KafkaError(code), DESCRIBE).reason)
