"""What `LabelConsumer` has from Kafka's consumer as it is. What chooses topics is not among it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, TopicPartition
    from confluent_kafka.admin import AdminClient


class PassedOn(ABC):
    """Methods of `confluent_kafka.Consumer` with its signatures; its documentation holds."""

    @property
    @abstractmethod
    def _kafka(self) -> AbstractContextManager[Consumer]:
        """The consumer, which is not closed before the context ends."""

    @property
    @abstractmethod
    def _cluster(self) -> AdminClient:
        """A client of its own, as callbacks ask about the cluster, too.

        librdkafka's Python aborts the process if a callback asks that of the consumer and another one follows it in the
        same poll.
        """

    def commit(
        self,
        message: Message | None = None,
        offsets: list[TopicPartition] | None = None,
        asynchronous: bool = True,
    ) -> list[TopicPartition] | None:
        """Commit the offsets of a message, of these partitions, or of all that was returned."""
        with self._kafka as kafka:
            commit: Callable[..., list[TopicPartition] | None] = kafka.commit
            return commit(message=message, offsets=offsets, asynchronous=asynchronous)

    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Return the offsets behind the last returned records."""
        with self._kafka as kafka:
            return kafka.position(partitions)

    def committed(self, partitions: list[TopicPartition], timeout: float = -1) -> list[TopicPartition]:
        """Return the group's committed offsets."""
        with self._kafka as kafka:
            return kafka.committed(partitions, timeout)

    def assignment(self) -> list[TopicPartition]:
        """Return the partitions that are this member's of the group."""
        with self._kafka as kafka:
            return kafka.assignment()

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:
        """Return the metadata of the cluster, or of one topic."""
        return self._cluster.list_topics(topic, timeout)

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float = -1, cached: bool = False
    ) -> tuple[int, int]:
        """Return the first offset of a partition and that behind its last; with `cached`, as far as they were heard."""
        with self._kafka as kafka:
            return kafka.get_watermark_offsets(partition, timeout, cached)

    def offsets_for_times(self, partitions: list[TopicPartition], timeout: float = -1) -> list[TopicPartition]:
        """Return the first offsets that are not before these times."""
        with self._kafka as kafka:
            return kafka.offsets_for_times(partitions, timeout)

    def consumer_group_metadata(self) -> Any:
        """Return what a transactional producer needs to commit for the group."""
        with self._kafka as kafka:
            return kafka.consumer_group_metadata()

    def memberid(self) -> str:
        """Return the id of this member of the group."""
        with self._kafka as kafka:
            return kafka.memberid()

    def cluster_id(self, timeout: float = -1) -> str:
        """Return the id of the Kafka cluster."""
        return self._cluster.cluster_id(timeout)
