"""What is asked about the log's topic while the cluster is not itself, without a broker."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AclOperation

from tests.brokers.fenced import fenced_broker
from topicfold.errors import LogGap, LogUnavailable, TopicfoldError, WrongLog
from topicfold.log.kafka.settings import client_settings
from topicfold.log.kafka.topic import LogTopic, LogTopics

TOPIC = LogTopic("log", "its id", 2, 1_000_000)


def answer(found: Any) -> Future[Any]:
    """Return what Kafka says, be it an error."""
    future: Future[Any] = Future()
    if isinstance(found, int):
        future.set_exception(KafkaException(KafkaError(found)))
    else:
        future.set_result(found)
    return future


class Admin:
    """Answers of the log's topic with what each partition is like, and its configuration, or the code of an error."""

    def __init__(
        self,
        partitions: Sequence[SimpleNamespace] | int,
        configuration: dict[str, Any] | int,
        rights: Sequence[AclOperation] | None = None,
    ) -> None:
        described = (
            partitions
            if isinstance(partitions, int)
            else SimpleNamespace(topic_id="its id", partitions=partitions, authorized_operations=rights)
        )
        self._described, self._configuration = described, configuration

    def list_topics(self, name: str, timeout: float) -> SimpleNamespace:
        return SimpleNamespace(brokers={1: "one", 2: "another", 3: "a third"})

    def describe_topics(self, names: object, **_: object) -> dict[str, Future[Any]]:
        return {"log": answer(self._described)}

    def describe_configs(self, resources: Sequence[object], request_timeout: float) -> dict[object, Future[Any]]:
        return {each: answer(self._configuration) for each in resources}

    def poll(self, seconds: float) -> None:
        """Nothing is wrong with connections."""

    def create_topics(self, *_: object, **__: object) -> None:
        pytest.fail("nobody said that there is none")


def asking(admin: Admin) -> LogTopics:
    topics = LogTopics({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, "127.0.0.1:1")
    topics._admin = admin  # type: ignore[assignment]
    return topics


def of_replicas(*counts: int) -> list[SimpleNamespace]:
    brokers = [SimpleNamespace(id=id_) for id_ in (1, 2, 3)]
    return [SimpleNamespace(id=id_, replicas=brokers[:count], isr=brokers[:count]) for id_, count in enumerate(counts)]


def test_a_topic_that_kafka_does_not_describe_in_time_is_not_taken_for_one_that_is_not_there() -> None:
    topics = asking(Admin(KafkaError._TIMED_OUT, {}))
    with pytest.raises(LogUnavailable):
        topics.open("log", 2)
    with pytest.raises(LogUnavailable):
        topics.problems(TOPIC)


def test_what_was_wrong_with_connections_is_not_said_of_a_later_question() -> None:
    topics = asking(Admin(KafkaError._TIMED_OUT, {}))
    topics._connections.note(KafkaError(KafkaError._AUTHENTICATION, "b1: invalid credentials"))
    with pytest.raises(LogUnavailable, match="no answer"):
        topics.problems(TOPIC)


def test_a_topic_that_kafka_does_not_describe_in_time_is_not_taken_for_the_one_that_was_opened() -> None:
    with pytest.raises(LogUnavailable):
        asking(Admin(KafkaError._TIMED_OUT, {})).another(TOPIC)
    answering = asking(Admin(of_replicas(1, 1), {}))
    assert answering.another(TOPIC) is None
    assert isinstance(answering.another(replace(TOPIC, id="of the former")), WrongLog)


def test_a_topic_has_as_many_copies_as_the_partition_that_has_the_fewest() -> None:
    [problem] = asking(Admin(of_replicas(1, 3), {})).problems(TOPIC)
    assert (problem.setting, problem.found, problem.is_advice) == ("replication.factor", "1", False)
    assert asking(Admin(of_replicas(3, 3), {})).problems(TOPIC) == []


def test_replicas_that_are_not_in_sync_are_not_counted_as_if_they_were() -> None:
    partitions = of_replicas(3, 3)
    partitions[1].isr = partitions[1].isr[:1]
    least = {"min.insync.replicas": SimpleNamespace(name="min.insync.replicas", value="2")}
    [problem] = asking(Admin(partitions, least)).problems(TOPIC)
    assert (problem.denies_writes, problem.found) == (True, "1 (partition 1)")


def test_settings_that_may_not_be_read_are_a_problem_and_those_that_are_not_told_in_time_are_none_yet() -> None:
    [problem] = asking(Admin(of_replicas(3, 3), KafkaError.TOPIC_AUTHORIZATION_FAILED)).problems(TOPIC)
    assert (problem.setting, problem.wanted, problem.refuses_writes) == (
        "right to DescribeConfigs", "allowed", False
    )  # fmt: skip
    with pytest.raises(LogUnavailable):
        asking(Admin(of_replicas(3, 3), KafkaError._TIMED_OUT)).problems(TOPIC)


def test_a_topic_whose_settings_another_broker_does_not_know_yet_is_not_taken_for_one_that_is_gone() -> None:
    with pytest.raises(LogUnavailable):
        asking(Admin(of_replicas(3, 3), KafkaError.UNKNOWN_TOPIC_OR_PART)).problems(TOPIC)


def test_a_topic_that_was_just_made_is_there_once_each_of_its_partitions_has_a_leader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    admin = Admin([], {"max.message.bytes": SimpleNamespace(name="max.message.bytes", value="1000")})
    leaders: list[Sequence[int | None] | None] = [None, None, [1, None], [1, 2]]

    def told_next(*_: object, **__: object) -> dict[str, Future[Any]]:
        told = leaders.pop(0)
        if told is None:
            return {"log": answer(KafkaError.UNKNOWN_TOPIC_OR_PART)}
        partitions = [SimpleNamespace(leader=each) for each in told]
        return {"log": answer(SimpleNamespace(topic_id="its id", partitions=partitions))}

    monkeypatch.setattr(admin, "describe_topics", told_next)
    monkeypatch.setattr(admin, "create_topics", lambda *_, **__: {"log": answer(None)})
    opened = asking(admin).open("log", 2)
    assert opened == LogTopic("log", "its id", 2, 1_000)
    assert leaders == []


@pytest.mark.parametrize(
    ("rights", "lacking"),
    [
        (None, []),
        ([AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE], []),
        ([AclOperation.WRITE], [("right to Read", False)]),
        ([AclOperation.READ, AclOperation.DESCRIBE], [("right to Write", True)]),
    ],
)
def test_rights_that_a_node_lacks_are_problems_where_kafka_tells_of_them(
    rights: list[AclOperation] | None, lacking: list[tuple[str, bool]]
) -> None:
    for configuration in ({}, KafkaError.TOPIC_AUTHORIZATION_FAILED):
        problems = asking(Admin(of_replicas(3, 3), configuration, rights)).problems(TOPIC)
        found = [(each.setting, each.denies_writes) for each in problems if "Configs" not in each.setting]
        assert found == lacking
        assert not any(each.refuses_writes for each in problems)


@pytest.mark.parametrize(
    ("code", "error", "hint"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, LogUnavailable, "--operation Delete --topic log"),
        (KafkaError.OFFSET_OUT_OF_RANGE, LogGap, "lost records"),
        (KafkaError._TIMED_OUT, LogUnavailable, ""),
    ],
)
def test_what_keeps_records_from_being_deleted_says_what_to_do(
    code: int, error: type[TopicfoldError], hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = Admin([], {})
    monkeypatch.setattr(admin, "delete_records", lambda below, **_: dict.fromkeys(below, answer(code)), raising=False)
    with pytest.raises(error) as caught:
        asking(admin).delete_before(TOPIC, 1, 7)
    assert hint in caught.value.hint


def test_a_cluster_none_of_whose_brokers_is_in_service_is_one_that_cannot_be_reached() -> None:
    """Kafka's client, asked to describe such a cluster, ends the whole process."""
    with fenced_broker() as broker:
        topics = LogTopics({"bootstrap.servers": broker.bootstrap, "log_level": 0}, broker.bootstrap)
        # The client is connected to the controller then, and this one makes no topics.
        with pytest.raises(LogUnavailable, match="not supported"):
            topics.open("log", 8)
        broker.answers = 1
        with pytest.raises(LogUnavailable, match="none of its brokers is in service"):
            topics.open("log", 8)


def test_whoever_asks_about_topics_keeps_no_lines_of_an_outage(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    topics = LogTopics(client_settings("127.0.0.1:1", {"debug": "broker"}), "127.0.0.1:1")
    with pytest.raises(LogUnavailable, match=r"Connection refused$"):
        topics.open("log", 1)
    topics._admin.poll(0)
    assert caplog.messages == []
    assert capfd.readouterr().err == ""
