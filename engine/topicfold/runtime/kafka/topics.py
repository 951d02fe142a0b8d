"""The Kafka topics that topic records stand for: asks whether Kafka would accept a change, and makes it.

Every step may be repeated, by several nodes at once, without harm. Kafka's internal topics, those of Schema Registry
and the log's own are never touched.

Known limit: Kafka changes topics by name. If a topic is deleted and created again in the few milliseconds between the
check and the change, the new one is deleted or grown in place of the old one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection

import structlog

from topicfold.cluster.port import Cluster
from topicfold.errors import AlreadyExists, ClusterRefused, ClusterUnavailable, InvalidName, TopicNotFound
from topicfold.model.events import Verdict
from topicfold.model.kafka.adoption import KafkaTopic, is_left_out, stands_for
from topicfold.model.kafka.names import NAMING_IT, is_kafka_name
from topicfold.model.names import TopicName, argument
from topicfold.model.records import TopicRecord
from topicfold.model.updates import Refuse
from topicfold.text.counting import counted

_log = structlog.get_logger(__name__)

_TRIES = 3
"""Looks at a topic that others change at the same time."""


class KafkaTopics:
    """The topics of a cluster, as topic records see them. Knows only the records that it is given."""

    def __init__(self, cluster: Cluster, protected: Collection[str] = ()) -> None:
        """Take the names of further Kafka topics that must not be touched, such as the log's."""
        self._cluster = cluster
        self._protected = frozenset(protected)

    def intended(self, name: TopicName, record: TopicRecord) -> str | None:
        """Return the Kafka topic to create with the topic `name`; None if it has none.

        Raises:
            InvalidName: Kafka allows no such name, or keeps it for itself, or it is the log's.
        """
        kafka_topic = stands_for(str(name), record.kafka_name)
        if kafka_topic is None:
            return None
        if not is_kafka_name(kafka_topic):
            raise InvalidName(
                f"topic {name}: Kafka does not allow a topic named {kafka_topic!r}",
                name=str(name),
                hint=f"Use 1 to 249 of the characters A-Z a-z 0-9 . _ -, or {NAMING_IT}",
            )
        if self.is_protected(kafka_topic):
            raise InvalidName(
                f"topic {name}: the Kafka topic {kafka_topic} is not Topicfold's to create",
                name=str(name),
                hint="Names that begin with '__', '_schemas' and the log's own are reserved.",
            )
        return kafka_topic

    def standing(self, name: TopicName, record: TopicRecord) -> str | None:
        """Return the Kafka topic that is created and deleted with the topic `name`; None if it has none."""
        kafka_topic = stands_for(str(name), record.kafka_name)
        return None if kafka_topic is None or self.is_protected(kafka_topic) else kafka_topic

    def is_protected(self, kafka_topic: str) -> bool:
        """Return whether the Kafka topic of that name must never be touched."""
        return is_left_out(kafka_topic) or kafka_topic in self._protected

    async def look(self, kafka_topic: str) -> KafkaTopic | None:
        """Return the Kafka topic of that name; None if there is none.

        Raises:
            ClusterUnavailable: no answer.
        """
        return await self._cluster.topic(kafka_topic)

    async def before_creation(
        self, name: TopicName, record: TopicRecord, kafka_topic: str
    ) -> Refuse | KafkaTopic | None:
        """Return what is against making this Kafka topic for `name`, or the one that is there with as many partitions.

        Raises:
            ClusterUnavailable: no answer, or not allowed; nothing may be written then.
        """
        partitions = max(record.partitions, 1)
        try:
            await self._cluster.check_creation(kafka_topic, partitions)
        except ClusterRefused as error:
            return Refuse(Verdict.CLUSTER_REFUSED, error.reason)
        except AlreadyExists:
            found = await self._cluster.topic(kafka_topic)
            if found is None or found.partitions == partitions:
                return found
            has = f"the Kafka topic {kafka_topic} exists with {counted(found.partitions, 'partition')}"
            other = f"{has}, not {partitions}: create the topic with as many, or under another name"
            return Refuse(Verdict.ALREADY_EXISTS, other, "" if record.kafka_name else _taking_over(name, found))
        return None

    async def refusal_of_growth(self, kafka_topic: str, found: KafkaTopic | None, partitions: int) -> Refuse | None:
        """Return why the Kafka topic, which is now as `found`, cannot get this many partitions.

        Raises:
            ClusterUnavailable: no answer, or not allowed.
        """
        try:
            if found is None:
                await self._cluster.check_creation(kafka_topic, partitions)
            elif found.partitions > partitions:
                has = f"the Kafka topic {kafka_topic} has {counted(found.partitions, 'partition')} already"
                return Refuse(Verdict.FEWER_PARTITIONS, f"{has}; their number cannot be reduced")
            elif found.partitions < partitions:
                await self._cluster.check_growth(kafka_topic, partitions)
        except ClusterRefused as error:
            return Refuse(Verdict.CLUSTER_REFUSED, error.reason)
        except (AlreadyExists, TopicNotFound) as error:
            raise self._contended(kafka_topic) from error
        return None

    async def make(self, kafka_topic: str, partitions: int) -> KafkaTopic | None:
        """Ensure that the Kafka topic exists with at least this many partitions; return it if it is new.

        Raises:
            ClusterUnavailable, ClusterRefused: there is none, or with fewer partitions.
        """
        refused: ClusterRefused | None = None
        for _ in range(_TRIES):
            found = await self._cluster.topic(kafka_topic)
            try:
                if found is None:
                    await self._cluster.create(kafka_topic, partitions)
                    _log.info("kafka_topic_made", kafka_topic=kafka_topic, partitions=partitions)
                    return await self._cluster.topic(kafka_topic)
                if found.partitions < partitions:
                    await self._cluster.grow(kafka_topic, partitions)
                    _log.info("kafka_topic_grown", kafka_topic=kafka_topic, partitions=partitions)
                return None
            except ClusterRefused as error:
                refused = error
            except (AlreadyExists, TopicNotFound):
                refused = None
        raise refused or self._contended(kafka_topic)

    async def end(self, kafka_topic: str, kafka_id: str) -> None:
        """Ensure that the Kafka topic with this id is deleted; another one of the same name stays.

        Raises:
            ClusterUnavailable: it may be there still.
        """
        found = await self._cluster.topic(kafka_topic)
        if found is None or found.id != kafka_id:
            return
        with contextlib.suppress(TopicNotFound):
            await self._cluster.delete(kafka_topic)
        _log.info("kafka_topic_deleted", kafka_topic=kafka_topic, partitions=found.partitions)

    def _contended(self, kafka_topic: str) -> ClusterUnavailable:
        reason = f"the Kafka topic {kafka_topic} is being changed by others"
        return ClusterUnavailable(reason, bootstrap=self._cluster.bootstrap, is_late=True)


def _taking_over(name: TopicName, found: KafkaTopic) -> str:
    """Return the command that creates the topic `name` as its Kafka topic is, with all its messages."""
    made = "create" if found.partitions == 1 else f"create-partitioned-topic --partitions {found.partitions}"
    return f"topicfold topics {made} {argument(str(name))} takes it over, with its messages"
