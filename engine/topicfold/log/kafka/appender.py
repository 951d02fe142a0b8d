"""Appends to the log's topic. While earlier appends are in flight, new ones are batched per turn of the loop.

Waking threads costs librdkafka some 100 µs for a single message, and hardly more for a batch: with 8 concurrent
writers, batches halve the processor time per append (measured: 217 → 114 µs). If nothing is in flight, an append is
sent at once, as a lone writer would gain nothing by waiting.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from topicfold.clock import random_id
from topicfold.errors import LogUnavailable, Overloaded, TooLarge, TopicfoldError
from topicfold.kafka_client import KafkaRight, error_in, open_kafka_client
from topicfold.kafka_connections import KafkaConnections
from topicfold.log.codec import MAX_EVENT_BYTES
from topicfold.log.kafka.errors import is_fatal, translated, unanswered
from topicfold.log.kafka.producers import KafkaProducers
from topicfold.log.kafka.settings import SAFE_MESSAGE_BYTES, without_lines
from topicfold.log.port import Entry, Failed

_MAX_WAITING = 10_000
_PURGED = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
"""What the client reports for appends that a broken producer still had; it does not say why the producer broke."""
_LEAST_LIMIT = 1_000
"""The lowest limit for a message that librdkafka accepts. A topic's own limit may be lower."""


class _Append(NamedTuple):
    value: bytes
    failed: Failed


class _Outcome(NamedTuple):
    append: _Append
    error: KafkaError | None
    partition: int
    offset: int | None


def require_producer(settings: Mapping[str, Any]) -> None:
    """Check that a producer can be created with `settings`, without connecting to Kafka.

    Raises:
        BadSetting: Kafka's client does not accept the settings.
    """
    alone = {name: value for name, value in without_lines(settings).items() if name != "bootstrap.servers"}
    open_kafka_client(Producer, alone)


class KafkaAppender:
    """Appends to one topic, on one loop."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        topic: str,
        max_bytes: int,
        written: Callable[[Sequence[Entry]], None],
    ) -> None:
        """Create a producer; `max_bytes` is the topic's own limit for a record.

        `written` is called on the loop with the records that Kafka acknowledged, and their offsets.

        Raises:
            BadSetting: Kafka's client does not accept the settings.
        """
        self._connections = KafkaConnections(settings)
        limit = min(max(_LEAST_LIMIT, max_bytes), SAFE_MESSAGE_BYTES)
        hearing = {"error_cb": self._connections.note, "throttle_cb": self._connections.note_throttle}
        self._producers = KafkaProducers({**settings, "message.max.bytes": limit, **hearing}, self._polled)
        self._topic = topic
        self._right = KafkaRight("Write", topic, settings["bootstrap.servers"])
        self._max_bytes = min(max_bytes, MAX_EVENT_BYTES)
        self._written = written
        self._loop = asyncio.get_running_loop()
        self._turn: defaultdict[int, list[_Append]] = defaultdict(list)
        self._outcomes: deque[_Outcome] = deque()
        self._unplaced: set[int] = set()
        self._turned_away: LogUnavailable | None = None

    def append(self, partition: int, value: bytes, failed: Failed) -> None:
        """Send `value`; if something is in flight, at the end of this turn of the loop. librdkafka gives up after 10 s.

        `failed` is called in a later turn.

        Raises:
            Overloaded: too many appends are waiting for Kafka.
            TooLarge: above `MAX_EVENT_BYTES`, or above the topic's limit.
        """
        if len(value) > self._max_bytes:
            raise TooLarge(f"an event of {len(value)} bytes is above {self._max_bytes}", limit=self._max_bytes)
        waiting = len(self._producers.current)
        if waiting + sum(map(len, self._turn.values())) >= _MAX_WAITING:
            raise Overloaded("too many appends are waiting for Kafka")
        is_first = not self._turn
        self._turn[partition].append(_Append(value, failed))
        if is_first and waiting:
            self._loop.call_soon(self._send)
        elif is_first:
            self._send()

    async def close(self) -> None:
        """Give waiting appends one second, then fail them; end the thread."""
        self._send()
        try:
            await self._producers.close()
        finally:
            self._tell()

    def _send(self) -> None:
        turn, self._turn = self._turn, defaultdict(list)
        for partition, appends in turn.items():
            try:
                self._hand_over(partition, appends)
            except BufferError:
                self._fail(appends, Overloaded("too many appends are waiting for Kafka"))
            except KafkaException as error:
                self._fail(appends, translated(error_in(error), self._right))
                if is_fatal(error_in(error)):
                    self._producers.replace(self._producers.current)
        self._producers.expect()

    def _hand_over(self, partition: int, appends: list[_Append]) -> None:
        """Give librdkafka the appends to one partition.

        The random keys make sure that no record supersedes another, should somebody compact the topic.
        """
        if len(appends) == 1:
            [append] = appends
            self._producers.current.produce(
                self._topic, append.value, random_id(), partition, on_delivery=partial(self._note, append)
            )
            return
        messages: list[dict[str, Any]] = [
            {"value": append.value, "key": random_id(), "callback": partial(self._note, append)} for append in appends
        ]
        self._producers.current.produce_batch(self._topic, messages, partition=partition)
        refused = [append for message, append in zip(messages, appends, strict=True) if "_error" in message]
        if refused:
            self._fail(refused, LogUnavailable("Kafka's client did not accept the event"))
            if any(is_fatal(message["_error"]) for message in messages if "_error" in message):
                self._producers.replace(self._producers.current)

    def _polled(self, producer: Producer, error: KafkaError | None) -> None:
        """Report the outcomes noted by a poll; replace the producer if it has broken."""
        if error:
            if error.code() > 0:
                self._turned_away = unanswered(error, self._right)
            self._producers.replace(producer)
        if self._outcomes:
            self._tell()

    def _note(self, append: _Append, error: KafkaError | None, message: Message) -> None:
        """Note the outcome of an append; called within `poll`, once for each."""
        self._outcomes.append(_Outcome(append, error, message.partition() or 0, message.offset()))

    def _tell(self) -> None:
        """Report the outcomes that were noted.

        If Kafka had a batch already, librdkafka may not know its offset, and counts from −1: none, 0, 1 and so on. So
        after a record without an offset, small offsets are not trusted. What is not reported here will be read.
        """
        written: list[Entry] = []
        while self._outcomes:
            append, error, partition, offset = self._outcomes.popleft()
            if error is not None:
                is_purged = error.code() in _PURGED
                cause = self._connections.cause_of(error)
                failure = self._turned_away if is_purged and self._turned_away else translated(cause, self._right)
                self._fail([append], failure)
            elif offset is None:
                self._unplaced.add(partition)
            elif partition not in self._unplaced or offset >= _MAX_WAITING:
                self._unplaced.discard(partition)
                written.append(Entry(partition, offset, append.value))
        if written:
            self._turned_away = None
            self._connections.forget()
            self._written(written)

    def _fail(self, appends: Iterable[_Append], error: TopicfoldError) -> None:
        for append in appends:
            self._loop.call_soon(append.failed, error)
