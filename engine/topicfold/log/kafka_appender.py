"""Appending to the log's topic: what one turn of the loop appends goes to librdkafka together.

A lone message costs librdkafka some 100 µs of waking threads, a batch hardly more: with 8 writers at once batches
halve the processor's time an append (measured: 217 → 114 µs). Sending the first of a turn at once instead was measured
too: a lone writer gained nothing it could feel, 8 writers lost half. Successes wake nobody; failures are reaped by a
timer that runs only while something is on its way.
"""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from topicfold.errors import LogUnavailable, Overloaded, TooLarge, TopicfoldError
from topicfold.log.codec import MAX_EVENT_BYTES
from topicfold.log.kafka_errors import error_in, is_fatal, translated
from topicfold.log.port import Failed

_REAP_SECONDS = 0.02
_FLUSH_SECONDS = 1.0
_MAX_WAITING = 10_000
_POLLS = 10


class _Append(NamedTuple):
    value: bytes
    failed: Failed


class KafkaAppender:
    """Appends to one topic, on one loop."""

    def __init__(self, settings: Mapping[str, Any], topic: str, max_bytes: int) -> None:
        """Make a producer; `max_bytes` is the topic's own limit for a record.

        Raises:
            KafkaException: librdkafka does not like the settings.
        """
        self._settings = {**settings, "message.max.bytes": max_bytes}
        self._producer = Producer(self._settings)
        self._topic = topic
        self._max_bytes = min(max_bytes, MAX_EVENT_BYTES)
        self._loop = asyncio.get_running_loop()
        self._turn: defaultdict[int, list[_Append]] = defaultdict(list)
        self._is_reaping = False
        self._is_closed = False

    def append(self, partition: int, value: bytes, failed: Failed) -> None:
        """Have `value` sent when this turn of the loop is over; librdkafka gives up after 10 s.

        Raises:
            Overloaded: too many appends wait for Kafka.
            TooLarge: above `MAX_EVENT_BYTES`, or above the topic's limit.
        """
        if len(value) > self._max_bytes:
            raise TooLarge(f"an event of {len(value)} bytes is above {self._max_bytes}", limit=self._max_bytes)
        if len(self._producer) + sum(map(len, self._turn.values())) >= _MAX_WAITING:
            raise Overloaded("too many appends wait for Kafka")
        if not self._turn:
            self._loop.call_soon(self._send)
        self._turn[partition].append(_Append(value, failed))

    async def close(self) -> None:
        """Give what waits one second, then fail it."""
        self._send()
        self._is_closed = True
        await self._all_told()
        _purge(self._producer)
        # What was on its way is told to have failed by another thread, a moment later.
        await self._all_told()

    async def _all_told(self) -> None:
        """Return when it is told what became of everything, after one second at most."""
        deadline = self._loop.time() + _FLUSH_SECONDS
        while len(self._producer) and self._loop.time() < deadline:
            _poll(self._producer)
            await asyncio.sleep(_REAP_SECONDS)

    def _send(self) -> None:
        turn, self._turn = self._turn, defaultdict(list)
        for partition, appends in turn.items():
            try:
                self._hand_over(partition, appends)
            except BufferError:
                _fail(appends, Overloaded("too many appends wait for Kafka"))
            except KafkaException as error:
                _fail(appends, translated(error_in(error)))
                if is_fatal(error_in(error)):
                    self._renew_producer()
        if turn and not self._is_reaping:
            self._is_reaping = True
            self._loop.call_later(_REAP_SECONDS, self._reap)

    def _hand_over(self, partition: int, appends: list[_Append]) -> None:
        """Give librdkafka the appends to one partition.

        The random key makes sure that nothing supersedes anything, should somebody compact the topic.
        """
        if len(appends) == 1:
            value, failed = appends[0]
            self._producer.produce(
                self._topic, value, os.urandom(16), partition, on_delivery=partial(_delivered, failed)
            )
            return
        messages: list[dict[str, Any]] = [
            {"value": value, "key": os.urandom(16), "callback": partial(_delivered, failed)}
            for value, failed in appends
        ]
        self._producer.produce_batch(self._topic, messages, partition=partition)
        refused = [append for message, append in zip(messages, appends, strict=True) if "_error" in message]
        if refused:
            _fail(refused, LogUnavailable("Kafka's client did not take the event"))
            if any(is_fatal(message["_error"]) for message in messages if "_error" in message):
                self._renew_producer()

    def _reap(self) -> None:
        """Let librdkafka report failed appends, and forget the others, as long as there are any."""
        if not _poll(self._producer):
            self._renew_producer()
        self._is_reaping = len(self._producer) > 0 and not self._is_closed
        if self._is_reaping:
            self._loop.call_later(_REAP_SECONDS, self._reap)

    def _renew_producer(self) -> None:
        """Fail what waits in a producer that takes nothing any more, and start another."""
        broken, self._producer = self._producer, Producer(self._settings)
        _purge(broken)


def _poll(producer: Producer) -> bool:
    """Have failures reported; return False where the producer has broken for good, which it says by raising."""
    try:
        producer.poll(0)
    except KafkaException:
        return False
    return True


def _purge(producer: Producer) -> None:
    """Fail what is on its way; a broken producer first says once more that it is broken."""
    producer.purge()
    for _ in range(_POLLS):
        if _poll(producer):
            return


def _fail(appends: list[_Append], error: TopicfoldError) -> None:
    for append in appends:
        append.failed(error)


def _delivered(failed: Failed, error: KafkaError | None, message: Message) -> None:
    if error is not None:
        failed(translated(error))
