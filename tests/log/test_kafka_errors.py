"""What Kafka's errors mean: which end a log for good, and which pass."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from topicfold.errors import LogGap, LogUnavailable, OperatorNeeded, TooLarge, WrongLog
from topicfold.log.kafka_errors import translated, unanswered

GAPS = (KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION, KafkaError.OFFSET_OUT_OF_RANGE)
GONE = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.UNKNOWN_TOPIC_ID,
    KafkaError.INCONSISTENT_TOPIC_ID,
)
PASSING = (KafkaError._TRANSPORT, KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.NOT_ENOUGH_REPLICAS)


@pytest.mark.parametrize("code", GAPS)
def test_records_that_kafka_has_no_more_are_a_gap(code: int) -> None:
    assert isinstance(translated(KafkaError(code)), LogGap)


@pytest.mark.parametrize("code", GONE)
def test_a_topic_that_kafka_does_not_know_is_not_this_log(code: int) -> None:
    assert isinstance(translated(KafkaError(code)), WrongLog)


@pytest.mark.parametrize("code", PASSING)
def test_whatever_else_kafka_says_may_pass(code: int) -> None:
    assert isinstance(translated(KafkaError(code)), LogUnavailable)


def test_what_kafka_does_not_allow_comes_with_what_to_allow() -> None:
    error = translated(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    assert isinstance(error, LogUnavailable)
    assert "DescribeConfigs" in error.hint


def test_an_event_that_kafka_does_not_take_is_too_large() -> None:
    assert isinstance(translated(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)), TooLarge)


@pytest.mark.parametrize("code", [*GAPS, *GONE, *PASSING])
def test_a_question_that_was_not_answered_ends_nothing(code: int) -> None:
    error = unanswered(KafkaError(code))
    assert isinstance(error, LogUnavailable)
    assert not isinstance(error, OperatorNeeded)
