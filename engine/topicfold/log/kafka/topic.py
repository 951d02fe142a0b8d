"""The topic that holds a log: finds or creates it, and checks it. Blocking; called in a thread.

The settings of an existing topic are never changed: a wrong one is reported with the command that repairs it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._topic import TopicDescription
from confluent_kafka.cimpl import NewTopic

from topicfold.errors import LogGap, LogUnavailable, WrongLog
from topicfold.kafka_client import KafkaRight, error_in, open_kafka_client, release_id
from topicfold.kafka_connections import KafkaConnections
from topicfold.log.kafka.errors import restoring, unanswered
from topicfold.log.kafka.settings import (
    SAFE_MESSAGE_BYTES,
    denied,
    new_topic,
    too_few_in_sync,
    topic_problems,
    without_lines,
)
from topicfold.log.port import SettingProblem
from topicfold.text.counting import counted

_ANSWER_SECONDS = 5.0
_SOON_SECONDS = 1.0
"""For a question that is asked again, by a thread that is to end soon where it is told to."""
_CREATE_SECONDS = 15.0
_PAUSE_SECONDS = 0.02
_NEEDED = {"Read": AclOperation.READ, "Write": AclOperation.WRITE}
"""The rights that a node needs, apart from those to describe the topic, without which Kafka does not tell them."""


@dataclass(frozen=True, slots=True)
class LogTopic:
    """A topic as it was when the log was opened. `id` is Kafka's own: another id means another topic."""

    name: str
    id: str
    partitions: int
    max_message_bytes: int


class AnotherTopic(SettingProblem):
    """The problem that a topic has the name of the log's which is not the one that was opened."""

    @property
    def fault(self) -> WrongLog:
        """The error for whoever follows the log: what the topic holds continues nothing that was read before."""
        return WrongLog(f"the log's topic was deleted and created again: it is {self.found}", hint=self.repair)


class LogTopics:
    """Asks a cluster about topics."""

    def __init__(self, settings: Mapping[str, Any], bootstrap: str) -> None:
        """Create a client; nothing is sent.

        Raises:
            BadSetting: Kafka's client does not accept the settings.
        """
        # A halted broker keeps its connections: without this, a request to it would take a minute to be given up.
        self._connections = KafkaConnections(settings)
        own: dict[str, Any] = {"socket.timeout.ms": int(1000 * _ANSWER_SECONDS), "error_cb": self._connections.note}
        self._admin = open_kafka_client(AdminClient, {**own, **without_lines(settings)})
        self._bootstrap = bootstrap

    def close(self) -> None:
        """Release the client, which errors raised here may still refer to. Nothing can be asked afterwards."""
        del self._admin

    def open(self, name: str, partitions: int) -> LogTopic:
        """Return the topic called `name`; if there is none, create it with `partitions`.

        Raises:
            LogUnavailable: Kafka did not answer, or denies it.
        """
        try:
            described = self._describe(name) or self._create(name, partitions)
            try:
                limit = int(self._configuration(name)["max.message.bytes"])
            except KafkaException:
                limit = SAFE_MESSAGE_BYTES
        except KafkaException as error:
            raise self._unanswered(error_in(error), "Describe", name) from error
        return LogTopic(name, str(described.topic_id), len(described.partitions), limit)

    def problems(self, topic: LogTopic) -> list[SettingProblem]:
        """Return what is wrong with `topic` now.

        Raises:
            LogUnavailable: Kafka did not answer.
        """
        self._forget_connections()
        try:
            return self._problems(topic)
        except KafkaException as error:
            raise self._unanswered(error_in(error), "Describe", topic.name) from error

    def another(self, topic: LogTopic) -> WrongLog | None:
        """Return why the topic of that name is not `topic`; None if it is, or if there is none now.

        Raises:
            LogUnavailable: Kafka did not answer.
        """
        try:
            found = self._describe(topic.name, _SOON_SECONDS)
        except KafkaException as error:
            raise unanswered(error_in(error), self._right("Describe", topic.name)) from error
        problem = None if found is None else _replaced(topic, found)
        return None if problem is None else problem.fault

    def delete_before(self, topic: LogTopic, partition: int, offset: int) -> None:
        """Delete the records of a partition below `offset`; return once its leader has done so.

        Raises:
            LogGap: the partition ends before `offset`.
            LogUnavailable: Kafka did not answer, or does not allow it.
        """
        below = TopicPartition(topic.name, partition, offset)
        try:
            self._admin.delete_records([below], request_timeout=_ANSWER_SECONDS)[below].result()
        except KafkaException as exception:
            error = error_in(exception)
            if error.code() == KafkaError.OFFSET_OUT_OF_RANGE:
                raise LogGap(
                    f"partition {partition} ends before {offset}",
                    hint="The log has lost records. Restore it.",
                    partition=partition,
                    expected=offset,
                    found=None,
                ) from exception
            raise self._unanswered(error, "Delete", topic.name) from exception

    def _problems(self, topic: LogTopic) -> list[SettingProblem]:
        # librdkafka 2.16 asks the controller that it knows; if that one died, only this lets it learn of another.
        brokers = self._brokers(topic.name)
        described = self._describe(topic.name)
        if described is None:
            return [_missing(topic)]
        if replaced := _replaced(topic, described):
            return [replaced]
        if len(described.partitions) != topic.partitions:
            return [_grown(topic, len(described.partitions))]
        allowed = described.authorized_operations
        lacking = [
            denied(self._right(word, topic.name)) for word, right in _NEEDED.items() if allowed and right not in allowed
        ]
        try:
            configuration = self._configuration(topic.name)
        except KafkaException as error:
            code = error_in(error).code()
            if code == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                return [*lacking, denied(self._right("DescribeConfigs", topic.name))]
            # It was deleted between the two requests; or the second went to a broker that does not know it yet.
            if code == KafkaError.UNKNOWN_TOPIC_OR_PART and self._describe(topic.name) is None:
                return [_missing(topic)]
            raise
        replicas = {partition.id: [each.id for each in partition.replicas] for partition in described.partitions}
        in_sync = {partition.id: len(partition.isr) for partition in described.partitions}
        problems = topic_problems(self._bootstrap, topic.name, configuration, replicas, brokers)
        return lacking + problems + too_few_in_sync(configuration, in_sync, min(map(len, replicas.values())))

    def _forget_connections(self) -> None:
        """Forget what was wrong with the connections before now."""
        self._admin.poll(0)
        self._connections.forget()

    def _unanswered(self, error: KafkaError, operation: str, topic: str) -> LogUnavailable:
        self._admin.poll(0)
        return unanswered(self._connections.cause_of(error), self._right(operation, topic))

    def _right(self, operation: str, topic: str) -> KafkaRight:
        return KafkaRight(operation, topic, self._bootstrap)

    def _describe(self, name: str, seconds: float = _ANSWER_SECONDS) -> TopicDescription | None:
        """Return the topic's description, or None if Kafka says that there is no such topic."""
        try:
            futures = self._admin.describe_topics(
                TopicCollection([name]), include_authorized_operations=True, request_timeout=seconds
            )
            return release_id(futures[name].result())
        except KafkaException as error:
            if error_in(error).code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            raise

    def _brokers(self, name: str) -> Collection[int]:
        """Return the ids of the brokers that are in service, from an answer about the topic called `name`.

        Asking for the cluster's description instead would make librdkafka 2.16 abort the whole process if no broker is
        in service: a broker that shuts down, or was halted for longer than its session, answers that for a moment.

        Raises:
            LogUnavailable: none is in service.
            KafkaException: Kafka did not answer.
        """
        brokers = self._admin.list_topics(name, _ANSWER_SECONDS).brokers
        if not brokers:
            raise LogUnavailable("the log cannot be reached: Kafka answers, but none of its brokers is in service")
        return brokers.keys()

    def _create(self, name: str, partitions: int) -> TopicDescription:
        """Create the topic, unless somebody else just did; return it once every partition has a leader."""
        replicas, configuration = new_topic(len(self._brokers(name)))
        wanted = NewTopic(name, partitions, replicas, config=configuration)
        try:
            self._admin.create_topics([wanted], request_timeout=_CREATE_SECONDS)[name].result()
        except KafkaException as error:
            if error_in(error).code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise self._unanswered(error_in(error), "Create", name) from error
        deadline = time.monotonic() + _CREATE_SECONDS
        while time.monotonic() < deadline:
            described = self._describe(name)
            if described and all(partition.leader for partition in described.partitions):
                return described
            time.sleep(_PAUSE_SECONDS)
        raise LogUnavailable(f"topic {name} was created, but has partitions without a leader")

    def _configuration(self, name: str) -> dict[str, str]:
        resource = ConfigResource(ConfigResource.Type.TOPIC, name)
        future = self._admin.describe_configs([resource], request_timeout=_ANSWER_SECONDS)[resource]
        return {entry.name: entry.value for entry in future.result().values()}


def _missing(topic: LogTopic) -> SettingProblem:
    return SettingProblem("topic", "no topic", _told(topic.id, topic.partitions), refuses_writes=True,
                          repair=restoring(f"the topic {topic.name}"))  # fmt: skip


def _replaced(topic: LogTopic, found: TopicDescription) -> AnotherTopic | None:
    """Return that `found`, which has the name of `topic`, is another one; None if it is the same."""
    if str(found.topic_id) == topic.id:
        return None
    told = _told(str(found.topic_id), len(found.partitions))
    return AnotherTopic("topic", told, _told(topic.id, topic.partitions), refuses_writes=True,
                        repair=restoring(f"the topic {topic.name}"))  # fmt: skip


def _told(topic_id: str, partitions: int) -> str:
    return f"topic {topic_id} with {counted(partitions, 'partition')}"


def _grown(topic: LogTopic, partitions: int) -> SettingProblem:
    return SettingProblem(
        "topic",
        f"one with {counted(partitions, 'partition')}",
        f"one with {counted(topic.partitions, 'partition')}",
        refuses_writes=True,
        repair="Kafka cannot remove partitions: stop all nodes, copy the first "
        f"{topic.partitions} of {topic.name} to a topic of another name with 'topicfold copy', and start them with "
        "--kafka-topic and that name.",
    )
