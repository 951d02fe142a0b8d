"""Consumers as they are opened, and which topics a real cluster has."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.brokers.process import KafkaProcess
from topicfold.client.consuming.kafka_consumer import (
    KafkaLook,
    chooses_protocol,
    is_about_missing_topic,
    is_membership_lost,
    is_protocol_refused,
    open_consumer,
)
from topicfold.errors import BadSetting

NOWHERE: dict[str, Any] = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}
GROUP = NOWHERE | {"group.id": "billing"}
REFUSED = "ConsumerGroupHeartbeat fatal error: Broker: API version not supported"


@pytest.mark.parametrize(
    ("own", "chooses"),
    [
        ({}, True),
        ({"group.protocol": "classic"}, False),
        ({"group.protocol": "consumer"}, False),
        ({"partition.assignment.strategy": "range"}, False),
        ({"session.timeout.ms": 6000}, False),
        ({"group.instance.id": "one"}, False),
    ],
)
@pytest.mark.parametrize("newer", [True, False])
def test_settings_that_choose_a_protocol_are_kept_and_never_contradicted(
    own: dict[str, Any], chooses: bool, newer: bool
) -> None:
    assert chooses_protocol(own) is chooses
    open_consumer(GROUP | own, newer=newer).close()


def test_what_the_caller_sets_counts_but_for_who_stores_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.client.consuming.kafka_consumer.Consumer", lambda conf: conf)
    own = {"auto.offset.reset": "latest", "fetch.wait.max.ms": 7, "topic.metadata.refresh.interval.ms": 9}
    opened: Any = open_consumer(GROUP | own | {"enable.auto.offset.store": True}, newer=True)
    assert {name: opened[name] for name in own} == own
    assert opened["enable.auto.offset.store"] is False
    classic: Any = open_consumer(GROUP | {"partition.assignment.strategy": "range"}, newer=True)
    assert classic["partition.assignment.strategy"] == "range"


@pytest.mark.parametrize("conf", [NOWHERE, GROUP | {"no.such.setting": 1}, GROUP | {"session.timeout.ms": "x"}])
def test_settings_that_cannot_be_are_refused_in_librdkafkas_words(conf: dict[str, Any]) -> None:
    with pytest.raises(BadSetting, match="Kafka's client does not accept these settings"):
        open_consumer(conf, newer=True)


@pytest.mark.parametrize(
    ("code", "text", "is_refusal"),
    [
        (KafkaError._FATAL, REFUSED, True),
        (KafkaError._FATAL, "ConsumerGroupHeartbeat fatal error: Broker: The group id does not exist", True),
        (KafkaError._FATAL, "Static consumer fenced by other consumer with same group.instance.id", False),
        (KafkaError._ALL_BROKERS_DOWN, REFUSED, False),
    ],
)
def test_only_a_fatal_refusal_of_the_protocol_is_one(code: int, text: str, is_refusal: bool) -> None:
    assert is_protocol_refused(KafkaError(code, text)) is is_refusal


@pytest.mark.parametrize(
    ("code", "text", "is_lost"),
    [
        (KafkaError._FATAL, "ConsumerGroupHeartbeat fatal error: Broker: Invalid request", True),
        (KafkaError._FATAL, REFUSED, True),
        (KafkaError._FATAL, f"ConsumerGroupHeartbeat: {KafkaError(KafkaError.UNRELEASED_INSTANCE_ID).str()}", False),
        (KafkaError._FATAL, "Broker: Unsupported message format", False),
        (KafkaError._TRANSPORT, "ConsumerGroupHeartbeat: connection refused", False),
    ],
)
def test_a_lost_membership_may_be_taken_up_again_unless_another_took_it(code: int, text: str, is_lost: bool) -> None:
    assert is_membership_lost(KafkaError(code, text)) is is_lost


def test_a_missing_topic_is_told_from_other_errors() -> None:
    assert is_about_missing_topic(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    assert not is_about_missing_topic(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))


def test_a_look_lets_no_topic_be_made_whatever_the_consumer_lets(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[dict[str, Any]] = []
    monkeypatch.setattr("topicfold.client.consuming.kafka_consumer.AdminClient", opened.append)
    KafkaLook(GROUP | {"allow.auto.create.topics": True})
    assert opened[0]["allow.auto.create.topics"] is False


def test_a_cluster_that_does_not_answer_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.client.consuming.kafka_consumer._ANSWER_SECONDS", 0.2)
    assert KafkaLook(GROUP)(["orders"]) == {}


def test_what_a_group_reads_is_not_learnt_where_no_new_client_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise KafkaException(KafkaError(KafkaError.SASL_AUTHENTICATION_FAILED, "OAuth token not set"))

    look = KafkaLook(GROUP)
    monkeypatch.setattr(look, "_probe", SimpleNamespace(poll=lambda _: None, committed=lambda *_: []))
    monkeypatch.setattr("topicfold.client.consuming.kafka_consumer.AdminClient", fail)
    assert look.elsewhere("billing", "me") is None


@pytest.mark.parametrize(
    ("state", "found"),
    [
        (ConsumerGroupState.STABLE, {"theirs"}),
        (ConsumerGroupState.PREPARING_REBALANCING, None),
        (ConsumerGroupState.COMPLETING_REBALANCING, None),
    ],
)
def test_what_a_group_reads_is_not_learnt_while_its_members_gather(
    monkeypatch: pytest.MonkeyPatch, state: ConsumerGroupState, found: set[str] | None
) -> None:
    look, described = KafkaLook(GROUP), Future[Any]()
    members = [
        SimpleNamespace(member_id=who, assignment=SimpleNamespace(topic_partitions=[TopicPartition(topic, 0)]))
        for who, topic in (("me", "mine"), ("other", "theirs"))
    ]
    described.set_result(SimpleNamespace(state=state, members=members))
    admin = SimpleNamespace(describe_consumer_groups=lambda *_, **__: {"billing": described})
    monkeypatch.setattr(look, "_probe", SimpleNamespace(poll=lambda _: None, committed=lambda *_: []))
    monkeypatch.setattr("topicfold.client.consuming.kafka_consumer.AdminClient", lambda _: admin)
    assert look.elsewhere("billing", "me") == found


def test_a_topic_of_which_nothing_is_answered_is_not_taken_for_one_that_is_not_there() -> None:
    look = KafkaLook(GROUP)

    def answer(code: int) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(KafkaException(KafkaError(code)))
        return future

    codes = {
        "silent": KafkaError._TIMED_OUT,
        "gone": KafkaError.UNKNOWN_TOPIC_OR_PART,
        "hidden": KafkaError.TOPIC_AUTHORIZATION_FAILED,
    }
    look.admin = SimpleNamespace(  # type: ignore[assignment]
        poll=lambda _: None,
        list_topics=lambda *_: None,
        describe_topics=lambda *_, **__: {name: answer(code) for name, code in codes.items()},
    )
    assert look(codes) == {"gone": None, "hidden": None}


@pytest.mark.kafka
def test_a_look_finds_topics_with_ids_of_their_own_and_makes_none(
    kafka_bootstrap: str, fresh_topic: Callable[[], str]
) -> None:
    name, other = fresh_topic(), fresh_topic()
    admin = AdminClient({"bootstrap.servers": kafka_bootstrap, "log_level": 0})
    look = KafkaLook({"bootstrap.servers": kafka_bootstrap, "group.id": "billing", "on_commit": print})
    ids = []
    for _ in range(2):
        admin.create_topics([NewTopic(name, 1)])[name].result(20)
        while not (seen := look([name, other]))[name]:
            pass
        assert seen[other] is None
        ids.append(seen[name])
        admin.delete_topics([name])[name].result(20)
        while look([name])[name]:
            pass
    assert ids[0] != ids[1]


def test_who_looks_for_topics_prints_nothing_though_the_consumer_is_debugged(capfd: pytest.CaptureFixture[str]) -> None:
    KafkaLook(GROUP | {"debug": "all"})
    assert capfd.readouterr() == ("", "")


_ASKING = """
import sys
from topicfold.client.consuming import kafka_consumer

kafka_consumer._ANSWER_SECONDS = 0.3
looks = [kafka_consumer.KafkaLook({"bootstrap.servers": sys.argv[1], "log_level": 0}) for _ in range(6)]
for _ in sys.stdin:
    print([each.elsewhere("billing", "me") for each in looks], flush=True)
"""


@pytest.mark.kafka
def test_questions_about_a_group_that_met_a_broker_that_was_away_are_survived(own_broker: KafkaProcess) -> None:
    with asking(own_broker) as ask:
        while None in ask():
            pass
        own_broker.stop()
        assert set(map(str, ask() + ask())) == {"None"}
        own_broker.restart()
        while None in ask():
            pass


@contextmanager
def asking(broker: KafkaProcess) -> Iterator[Callable[[], list[set[str] | None]]]:
    """Have six clients ask, in a process of its own: librdkafka may abort it."""
    words = [sys.executable, "-c", _ASKING, broker.bootstrap]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def ask() -> list[set[str] | None]:
            assert process.stdin
            assert process.stdout
            print(file=process.stdin, flush=True)
            line = process.stdout.readline()
            assert line, f"ended with {process.wait()}"
            return [None if each == "None" else set() for each in line.strip("[]\n").split(", ")]

        try:
            yield ask
        finally:
            process.kill()
