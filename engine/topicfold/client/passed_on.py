"""What `LabelConsumer` has from Kafka's consumer as it is. What chooses topics is not among it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, TopicPartition


class PassedOn(ABC):
    """Methods of `confluent_kafka.Consumer` with its signatures; its documentation holds."""

    @property
    @abstractmethod
    def _kafka(self) -> Consumer: ...

    def commit(self, *args: Any, **kwargs: Any) -> list[TopicPartition] | None:
        """Commit the offsets of a message, of these partitions, or of all that was returned."""
        committed: list[TopicPartition] | None = self._kafka.commit(*args, **kwargs)
        return committed

    def store_offsets(self, message: Message | None = None, offsets: list[TopicPartition] | None = None) -> None:
        """Store offsets to be committed, where `enable.auto.offset.store` is false."""
        self._kafka.store_offsets(**({"message": message} if offsets is None else {"offsets": offsets}))

    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Return the offsets behind the last returned records."""
        return self._kafka.position(partitions)

    def committed(self, partitions: list[TopicPartition], timeout: float = -1) -> list[TopicPartition]:
        """Return the group's committed offsets."""
        return self._kafka.committed(partitions, timeout)

    def assignment(self) -> list[TopicPartition]:
        """Return the partitions that are this member's of the group."""
        return self._kafka.assignment()

    def seek(self, partition: TopicPartition) -> None:
        """Go on from another offset."""
        self._kafka.seek(partition)

    def list_topics(self, *args: Any, **kwargs: Any) -> Any:
        """Return the metadata of the cluster, or of one topic."""
        return self._kafka.list_topics(*args, **kwargs)

    def get_watermark_offsets(self, *args: Any, **kwargs: Any) -> tuple[int, int]:
        """Return the first offset of a partition and that behind its last."""
        return self._kafka.get_watermark_offsets(*args, **kwargs)

    def offsets_for_times(self, partitions: list[TopicPartition], timeout: float = -1) -> list[TopicPartition]:
        """Return the first offsets that are not before these times."""
        return self._kafka.offsets_for_times(partitions, timeout)

    def consumer_group_metadata(self) -> Any:
        """Return what a transactional producer needs to commit for the group."""
        return self._kafka.consumer_group_metadata()

    def memberid(self) -> str:
        """Return the id of this member of the group."""
        return self._kafka.memberid()

    def cluster_id(self, timeout: float = -1) -> str:
        """Return the id of the Kafka cluster."""
        return self._kafka.cluster_id(timeout)

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Log in with these from the next connection on."""
        self._kafka.set_sasl_credentials(username, password)
