"""What is wrong with a client's connections, told in the place of words that say nothing."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError

from topicfold.kafka_connections import KafkaConnections

_WHEN = "(after 3ms in state AUTH_REQ, 1 identical error(s) suppressed)"
REFUSED = KafkaError(KafkaError._AUTHENTICATION, f"b1: invalid credentials {_WHEN}")


@pytest.fixture
def refused() -> KafkaConnections:
    """Connections that a broker has refused."""
    connections = KafkaConnections({})
    connections.note(REFUSED)
    return connections


@pytest.mark.parametrize("code", [KafkaError._TIMED_OUT, KafkaError._MSG_TIMED_OUT, KafkaError._TRANSPORT])
def test_who_only_waited_in_vain_is_told_why_without_what_differs_each_time(
    refused: KafkaConnections, code: int
) -> None:
    cause = refused.cause_of(KafkaError(code))
    assert (cause.code(), cause.str()) == (KafkaError._AUTHENTICATION, "b1: invalid credentials")


def test_that_no_broker_is_up_or_a_topic_unknown_is_no_word_of_connections(refused: KafkaConnections) -> None:
    for code in (KafkaError._ALL_BROKERS_DOWN, KafkaError.UNKNOWN_TOPIC_OR_PART):
        refused.note(KafkaError(code))
    assert refused.cause_of(KafkaError(KafkaError._ALL_BROKERS_DOWN)).code() == KafkaError._AUTHENTICATION


@pytest.mark.parametrize(("settings", "protocol"), [({}, "PLAINTEXT"), ({"security.protocol": "SASL_SSL"}, "SASL_SSL")])
def test_where_connections_are_of_no_use_a_broker_may_hang_or_speak_otherwise_until_there_is_more_to_say(
    settings: dict[str, str], protocol: str
) -> None:
    connections = KafkaConnections(settings)
    connections.note(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    told = connections.cause_of(KafkaError(KafkaError._TIMED_OUT)).str()
    assert told.startswith("what listens there closes connections or does not answer: it may hang, ")
    assert f"expect another security.protocol than {protocol}," in told
    connections.note(REFUSED)
    assert connections.cause_of(KafkaError(KafkaError._TIMED_OUT)).str() == "b1: invalid credentials"


def test_an_answer_in_another_language_is_not_taken_for_one_that_is_too_large() -> None:
    connections = KafkaConnections({})
    size = "Receive failed: Invalid response size 1213486160 (0..100000000): increase receive.message.max.bytes"
    connections.note(KafkaError(KafkaError._BAD_MSG, f"b1: {size} (after 0ms in state APIVERSION_QUERY)"))
    told = connections.cause_of(KafkaError(KafkaError._TIMED_OUT)).str()
    assert told.startswith("b1: Receive failed: it does not answer as Kafka does: ")
    assert "increase" not in told


def test_a_certificate_that_is_not_trusted_may_have_expired_or_another_name() -> None:
    connections = KafkaConnections({"bootstrap.servers": "b1:9093"})
    said = (
        "ssl://b1:9093/1: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker "
        "certificate could not be verified, verify that ssl.ca.location is correctly configured or root CA "
        "certificates are installed (install ca-certificates package) (after 2ms in state SSL_HANDSHAKE)"
    )
    connections.note(KafkaError(KafkaError._SSL, said))
    assert connections.cause_of(KafkaError(KafkaError._TIMED_OUT)).str() == (
        "ssl://b1:9093/1: SSL handshake failed: certificate verify failed: it may have expired, lack the name that is "
        "asked, or be signed by no authority in ssl.ca.location"
    )


@pytest.mark.parametrize(
    ("broker", "is_given"), [("b1:9092/bootstrap", False), ("b1:9092/1", False), ("ssl://kafka:9093/2", True)]
)
def test_of_an_address_that_nobody_here_has_written_it_is_said_where_it_is_from(broker: str, is_given: bool) -> None:
    connections = KafkaConnections({"bootstrap.servers": "b1:9092"})
    connections.note(
        KafkaError(KafkaError._RESOLVE, f"{broker}: Failed to resolve: unknown (after 1ms in state CONNECT)")
    )
    told = connections.cause_of(KafkaError(KafkaError._TIMED_OUT)).str()
    where = "; the cluster gives this address, in its advertised.listeners"
    assert told == f"{broker}: Failed to resolve: unknown" + (where if is_given else "")


def test_what_says_something_itself_stays_as_it_is(refused: KafkaConnections) -> None:
    denied = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    assert refused.cause_of(denied) is denied


def test_who_waited_in_vain_above_a_quota_is_told_so_until_it_is_kept_to() -> None:
    connections = KafkaConnections({})
    connections.note_throttle(SimpleNamespace(broker_name="b1", throttle_time=12.34))
    connections.forget()
    silent = KafkaError(KafkaError._MSG_TIMED_OUT)
    assert connections.cause_of(silent).str() == "b1 lets us wait for 12.3 s: we are above a quota of the cluster's"
    connections.note_throttle(SimpleNamespace(broker_name="b1", throttle_time=0.0))
    assert connections.cause_of(silent) is silent


def test_an_old_trouble_is_no_cause_of_a_new_one(refused: KafkaConnections) -> None:
    refused.forget()
    silent = KafkaError(KafkaError._TIMED_OUT)
    assert refused.cause_of(silent) is silent
