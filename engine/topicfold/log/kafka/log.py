"""The log on a Kafka topic: explicit partitions and offsets, no consumer group, no transactions.

One thread follows (`follower`), one asks for end offsets, and one does everything else that waits for Kafka. The
loop itself hands appends to librdkafka (`appender`) and polls for their outcomes; a thread takes over if that
takes long (`producers`). `arrivals` merges what was acknowledged with what is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, TypeVar

from topicfold.errors import BadSetting, LogUnavailable
from topicfold.log.kafka.appender import KafkaAppender, require_producer
from topicfold.log.kafka.arrivals import KafkaArrivals
from topicfold.log.kafka.ends import KafkaEnds
from topicfold.log.kafka.follower import KafkaFollower
from topicfold.log.kafka.reader import OFFSETS_SECONDS, KafkaReader
from topicfold.log.kafka.same_topic import SameTopic
from topicfold.log.kafka.settings import CONSUMER, PRODUCER, client_settings
from topicfold.log.kafka.topic import AnotherTopic, LogTopic, LogTopics
from topicfold.log.port import Deliver, Entry, Failed, Fault, LogDenied, SettingProblem
from topicfold.model.kafka.names import is_kafka_name

T = TypeVar("T")


class KafkaLog:
    """A log on a Kafka topic; keeps the promises of `topicfold.log.port.Log`.

    It is unavailable if it is closed or Kafka does not answer in time. For offsets that is one second, or five until
    Kafka has answered for the first time.
    """

    @classmethod
    async def open(
        cls,
        bootstrap: str,
        topic: str,
        partitions: int = 8,
        kafka_settings: Mapping[str, Any] | None = None,
    ) -> KafkaLog:
        """Open the log on `topic`. A missing topic is created with `partitions`; an existing one keeps its number.

        `kafka_settings` are passed to librdkafka, for security and the like. They may not name what Topicfold pins.

        Raises:
            BadSetting: a setting is pinned or unknown to librdkafka, or Kafka allows no topic of that name.
            LogUnavailable: Kafka did not answer.
        """
        settings = client_settings(bootstrap, kafka_settings or {})
        if not is_kafka_name(topic):
            raise BadSetting(
                f"topic {topic!r}: Kafka does not allow such a name",
                hint="Use 1 to 249 of the characters A-Z a-z 0-9 . _ -",
            )
        topics = LogTopics(settings, bootstrap)
        with ExitStack() as undoing:
            # Else its threads go on while the interpreter ends, which may crash.
            undoing.callback(topics.close)
            require_producer({**settings, **PRODUCER})
            try:
                found = await asyncio.to_thread(topics.open, topic, partitions)
            except LogDenied:
                raise
            except LogUnavailable as error:
                raise LogUnavailable(
                    f"Kafka at {bootstrap}: {error.reason}",
                    hint="Is the broker running, and are its address and the security settings right?",
                ) from error
            log = cls(settings, topics, found)
            undoing.pop_all()
            return log

    def __init__(self, settings: Mapping[str, Any], topics: LogTopics, topic: LogTopic) -> None:
        self._topics = topics
        self._topic = topic
        self._loop = asyncio.get_running_loop()
        self._consumer_settings = {**settings, **CONSUMER}
        self._pages_thread = ThreadPoolExecutor(1, "topicfold-kafka-pages")
        self._pages = KafkaReader(self._consumer_settings, topic.name, topic.partitions)
        self._offsets = KafkaReader(self._consumer_settings, topic.name, topic.partitions)
        self._ends = KafkaEnds(self._offsets)
        self._offsets_thread = ThreadPoolExecutor(1, "topicfold-kafka-offsets")
        self._same_topic = SameTopic(lambda: topics.another(topic))
        self._arrivals: KafkaArrivals | None = None
        self._follower: KafkaFollower | None = None
        self._closing: asyncio.Future[None] | None = None
        self._producer_settings = {**settings, **PRODUCER}
        self._appender: KafkaAppender | None = None

    @property
    def partitions(self) -> int:
        """The number of partitions that the topic had when it was opened."""
        return self._topic.partitions

    def append(self, partition: int, value: bytes, failed: Failed) -> None:
        """Hand `value` over to be sent, at the latest when this turn of the loop ends; it is given up after 10 s.

        Raises:
            Overloaded: too many appends are waiting for Kafka.
            TooLarge: above `MAX_EVENT_BYTES`, or above the topic's limit.
        """
        self._require_open()
        self._appending().append(partition, value, failed)

    async def place(self) -> Hashable:
        """Return Kafka's own id of the topic."""
        self._require_open()
        return self._topic.id

    async def read(self, partition: int, offset: int, limit: int) -> list[Entry]:
        """Return up to `limit` records of `partition` from `offset` on."""
        return await self._ask(self._pages_thread, self._pages.page, partition, offset, limit)

    async def start_offsets(self) -> Mapping[int, int]:
        """Return per partition the first offset that still exists."""
        return await self._ask(self._offsets_thread, self._offsets.start_offsets)

    async def end_offsets(self) -> Mapping[int, int]:
        """Return per partition the next offset to be written, or where an open transaction begins."""
        return await self._ask(
            self._offsets_thread, self._offsets.end_offsets, self._offsets.partitions, OFFSETS_SECONDS
        )

    async def known_start_offsets(self) -> Mapping[int, int]:
        """Return the first offsets of the partitions whose leaders answer."""
        return await self._ask(self._offsets_thread, self._ends.known_starts)

    async def known_end_offsets(self) -> Mapping[int, int]:
        """Return the ends of the partitions whose leaders answer. A dead leader costs a second the first time."""
        if self._arrivals:
            self._arrivals.hurry()
        try:
            return await self._ask(self._offsets_thread, self._ends.known)
        except LogUnavailable:
            self._same_topic.doubt()
            raise

    async def delete_before(self, partition: int, offset: int) -> None:
        """Delete the records of `partition` below `offset`; Kafka frees their space later.

        Raises:
            LogGap: the log ends before `offset`.
            LogUnavailable: closed, Kafka did not answer in time, or does not allow it.
        """
        await self._ask(self._pages_thread, self._topics.delete_before, self._topic, partition, offset)

    def follow(self, positions: Mapping[int, int], deliver: Deliver, fault: Fault) -> None:
        """Start delivering from `positions`; a missing record is a fault of its partition only.

        A record of this node's that was delivered when Kafka acknowledged it is not missing if it is trimmed before it
        is read. If Kafka cannot be reached, this waits, without a fault. What is read after it could not be, or after
        this process was halted, is delivered only once the topic is known to be the same.
        """
        self._require_open()
        # Whoever follows will append too, and a new producer takes half a second to a second for its first message.
        self._appending()
        arrivals = KafkaArrivals(positions, deliver)
        self._follower = KafkaFollower(self._consumer_settings, self._topic.name, self._same_topic, arrivals, fault)
        self._arrivals = arrivals
        self._follower.start(positions)

    async def check_settings(self) -> Sequence[SettingProblem]:
        """Return what is wrong with the topic now; that includes being deleted or recreated.

        A topic that was recreated is followed no further: Kafka's client would read on in it, at the same offset.
        """
        problems = await self._ask(self._pages_thread, self._topics.problems, self._topic)
        if self._follower:
            for problem in problems:
                if isinstance(problem, AnotherTopic):
                    self._follower.give_up(problem.fault)
        return problems

    async def close(self) -> None:
        """Give waiting appends one second, then fail them; deliver nothing more; end threads and clients.

        This is completed even if the caller is cancelled.
        """
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if self._appender:
            await self._appender.close()
        await self._loop.run_in_executor(self._pages_thread, self._close_clients)
        self._pages_thread.shutdown()

    def _appending(self) -> KafkaAppender:
        """Return the appender, created on first use.

        A log that is only read has no producer: without the right to write, Kafka would refuse it twice a second, and
        log a line each time.
        """
        if self._appender is None:
            self._appender = KafkaAppender(
                self._producer_settings, self._topic.name, self._topic.max_message_bytes, self._written
            )
        return self._appender

    def _written(self, entries: Sequence[Entry]) -> None:
        """Take records that Kafka has acknowledged, with their offsets."""
        if self._arrivals:
            self._arrivals.told(entries)

    def _close_clients(self) -> None:
        if self._follower:
            self._follower.stop()
        self._offsets_thread.submit(self._offsets.close)
        self._offsets_thread.shutdown()
        self._pages.close()
        self._topics.close()
        # It refers to this object, so its client would live on until Python collects both.
        self._appender = None

    async def _ask(self, thread: ThreadPoolExecutor, question: Callable[..., T], *arguments: Any) -> T:
        self._require_open()
        return await self._loop.run_in_executor(thread, question, *arguments)

    def _require_open(self) -> None:
        if self._closing is not None:
            raise LogUnavailable("the log is closed")
