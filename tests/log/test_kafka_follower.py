"""The thread that follows a topic, without a broker."""

from __future__ import annotations

import asyncio

from tests.log.following import PATIENCE_SECONDS
from topicfold.errors import OperatorNeeded, TopicfoldError
from topicfold.log.kafka_arrivals import KafkaArrivals
from topicfold.log.kafka_follower import KafkaFollower


class BrokenConsumer:
    """Fails as no error of Kafka's."""

    def assign(self, partitions: object) -> None:
        pass

    def poll(self, _: float) -> None:
        raise MemoryError("no room")

    def close(self) -> None:
        pass


async def test_whatever_ends_the_thread_is_a_fault_of_all_partitions() -> None:
    faults = asyncio.Queue[tuple[TopicfoldError, int | None]]()
    settings = {"bootstrap.servers": "127.0.0.1:1", "group.id": "none"}
    arrivals = KafkaArrivals({0: 0}, lambda _: None, lambda *_: None)
    follower = KafkaFollower(settings, "topic", arrivals, lambda *fault: faults.put_nowait(fault))
    follower._consumer.close()
    follower._consumer = BrokenConsumer()  # type: ignore[assignment]
    follower.start({0: 0})
    error, partition = await asyncio.wait_for(faults.get(), PATIENCE_SECONDS)
    follower.stop()
    assert isinstance(error, OperatorNeeded)
    assert "no room" in error.reason
    assert partition is None
