"""The log on a Kafka topic: explicit partitions and offsets, no consumer group, no transactions.

One thread follows (`kafka_follower`), one asks for end offsets, one does all else that waits for Kafka. The loop
itself hands appends to librdkafka and reaps the few that failed; successes wake nobody.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from topicfold.errors import BadSetting, LogUnavailable, Overloaded, TooLarge
from topicfold.log.codec import MAX_EVENT_BYTES
from topicfold.log.kafka_errors import error_in, translated
from topicfold.log.kafka_follower import KafkaFollower
from topicfold.log.kafka_reader import KafkaReader
from topicfold.log.kafka_settings import CONSUMER, PRODUCER, client_settings
from topicfold.log.kafka_topic import KafkaTopic, KafkaTopics
from topicfold.log.port import Deliver, Entry, Failed, Fault, SettingProblem

_REAP_SECONDS = 0.02
_FLUSH_SECONDS = 1.0

T = TypeVar("T")


class KafkaLog:
    """A log on a Kafka topic; keeps the promises of `topicfold.log.port.Log`."""

    @classmethod
    async def open(
        cls,
        bootstrap: str,
        topic: str = "__change_events",
        partitions: int = 8,
        kafka_settings: Mapping[str, Any] | None = None,
    ) -> KafkaLog:
        """Open the log on `topic`, made with `partitions` where there is none; an existing one keeps its number.

        `kafka_settings` go to librdkafka: security and the like. What Topicfold pins may not be among them.

        Raises:
            BadSetting: a setting is pinned, or librdkafka does not know it.
            LogUnavailable: Kafka did not answer.
        """
        settings = client_settings(bootstrap, kafka_settings or {})
        try:
            topics = KafkaTopics(settings, bootstrap)
            found = await asyncio.to_thread(topics.open, topic, partitions)
            return cls(settings, topics, found)
        except KafkaException as error:
            raise BadSetting(f"Kafka's client refuses its settings: {error_in(error).str()}") from error

    def __init__(self, settings: Mapping[str, Any], topics: KafkaTopics, topic: KafkaTopic) -> None:
        self._topics = topics
        self._topic = topic
        self._loop = asyncio.get_running_loop()
        self._producer_settings = {**settings, **PRODUCER, "message.max.bytes": topic.max_message_bytes}
        self._consumer_settings = {**settings, **CONSUMER}
        self._producer = Producer(self._producer_settings)
        self._is_reaping = False
        self._pages_thread = ThreadPoolExecutor(1, "topicfold-kafka-pages")
        self._pages = KafkaReader(self._consumer_settings, topic.name, topic.partitions)
        self._offsets = KafkaReader(self._consumer_settings, topic.name, topic.partitions)
        self._offsets_thread = ThreadPoolExecutor(1, "topicfold-kafka-offsets")
        self._follower: KafkaFollower | None = None
        self._is_closed = False

    @property
    def partitions(self) -> int:
        """The number of partitions that the topic had when it was opened."""
        return self._topic.partitions

    def append(self, partition: int, value: bytes, failed: Failed) -> None:
        """Hand `value` to librdkafka, which sends it at once and gives up after 10 s.

        The random key makes sure that nothing supersedes anything, should somebody compact the topic.

        Raises:
            LogUnavailable: closed, or librdkafka takes nothing.
            Overloaded: librdkafka's queue is full.
            TooLarge: above `MAX_EVENT_BYTES`, or above the topic's limit.
        """
        self._require_open()
        if len(value) > MAX_EVENT_BYTES:
            raise TooLarge(f"an event of {len(value)} bytes is above {MAX_EVENT_BYTES}", limit=MAX_EVENT_BYTES)
        try:
            self._producer.produce(
                self._topic.name, value, os.urandom(16), partition, on_delivery=partial(_delivered, failed)
            )
        except BufferError as error:
            raise Overloaded("too many appends wait for Kafka") from error
        except KafkaException as error:
            if error_in(error).fatal():
                self._renew_producer()
            raise translated(error_in(error)) from error
        if not self._is_reaping:
            self._is_reaping = True
            self._loop.call_later(_REAP_SECONDS, self._reap)

    async def read(self, partition: int, offset: int, limit: int) -> list[Entry]:
        """Return up to `limit` records of `partition` from `offset` on.

        Raises:
            LogUnavailable: closed, or Kafka did not answer in time.
        """
        return await self._ask(self._pages_thread, self._pages.page, partition, offset, limit)

    async def start_offsets(self) -> Mapping[int, int]:
        """Return per partition the first offset that still exists.

        Raises:
            LogUnavailable: closed, or Kafka did not answer within a second.
        """
        return await self._ask(self._offsets_thread, self._offsets.start_offsets)

    async def end_offsets(self) -> Mapping[int, int]:
        """Return per partition the next offset to be written, transactions that are still open left out.

        Raises:
            LogUnavailable: closed, or Kafka did not answer within a second.
        """
        return await self._ask(self._offsets_thread, self._offsets.end_offsets)

    def follow(self, positions: Mapping[int, int], deliver: Deliver, fault: Fault) -> None:
        """Start delivering from `positions` on; a missing record is a fault of its partition only.

        An unreachable Kafka is waited for, without a fault.

        Raises:
            LogUnavailable: the log is closed.
        """
        self._require_open()
        self._follower = KafkaFollower(self._consumer_settings, self._topic.name, deliver, fault)
        self._follower.start(positions)

    async def check_settings(self) -> Sequence[SettingProblem]:
        """Return what is wrong with the topic now, one deleted or made anew included.

        Raises:
            LogUnavailable: closed, or Kafka did not answer in time.
        """
        return await self._ask(self._pages_thread, self._topics.problems, self._topic)

    async def close(self) -> None:
        """Give waiting appends one second, then fail them; deliver nothing more; end the threads."""
        if self._is_closed:
            return
        self._is_closed = True
        deadline = self._loop.time() + _FLUSH_SECONDS
        while len(self._producer) and self._loop.time() < deadline:
            self._producer.poll(0)
            await asyncio.sleep(_REAP_SECONDS)
        self._producer.purge()
        self._producer.poll(0)
        await self._loop.run_in_executor(self._pages_thread, self._close_clients)
        self._pages_thread.shutdown()

    def _close_clients(self) -> None:
        if self._follower:
            self._follower.stop()
        self._offsets_thread.submit(self._offsets.close)
        self._offsets_thread.shutdown()
        self._pages.close()

    def _reap(self) -> None:
        """Let librdkafka report failed appends, and forget the others, as long as there are any."""
        self._producer.poll(0)
        self._is_reaping = len(self._producer) > 0 and not self._is_closed
        if self._is_reaping:
            self._loop.call_later(_REAP_SECONDS, self._reap)

    def _renew_producer(self) -> None:
        """Fail what waits in a producer that takes nothing any more, and start another."""
        broken, self._producer = self._producer, Producer(self._producer_settings)
        broken.purge()
        broken.poll(0)

    async def _ask(self, thread: ThreadPoolExecutor, question: Callable[..., T], *arguments: Any) -> T:
        self._require_open()
        return await self._loop.run_in_executor(thread, question, *arguments)

    def _require_open(self) -> None:
        if self._is_closed:
            raise LogUnavailable("the log is closed")


def _delivered(failed: Failed, error: KafkaError | None, message: Message) -> None:
    if error is not None:
        failed(translated(error))
