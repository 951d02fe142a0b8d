"""The bare loop that ours is measured against: a confluent-kafka producer and an assigned consumer, nothing between.

acks=all, idempotent, no linger, a poll thread of the producer's own; the consumer is polled by the thread that
waits. `BareAsyncio` is the least that an asyncio program can do: the same with a poll thread that wakes the loop.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

_WAIT_SECONDS = 10.0
_POLL_SECONDS = 0.1
_CREATE_SECONDS = 10.0
_CONSUME = 1_000


class Bare:
    """A producer with its poll thread, and a consumer assigned to all partitions of the topic from their beginning."""

    def __init__(self, bootstrap: str, topic: str, partitions: int = 1) -> None:
        common = {"bootstrap.servers": bootstrap, "socket.nagle.disable": True}
        self.topic = topic
        self.partitions = partitions
        self.producer = Producer({**common, "acks": "all", "enable.idempotence": True, "linger.ms": 0})
        self.consumer = Consumer({**common, "group.id": "bare", "enable.auto.commit": False})
        self.assign_beginning()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def assign_beginning(self) -> None:
        """Go back to the first record of every partition."""
        self.consumer.assign([TopicPartition(self.topic, number, 0) for number in range(self.partitions)])

    def send(self, value: bytes) -> None:
        """Produce to the first partition."""
        self.producer.produce(self.topic, value, partition=0)

    def receive(self) -> Message:
        """Return the next message."""
        message = self.consumer.poll(_WAIT_SECONDS)
        if message is None:
            raise TimeoutError(f"nothing arrived within {_WAIT_SECONDS} s")
        if error := message.error():
            raise KafkaException(error)
        return message

    def close(self) -> None:
        """End the poll thread and the clients."""
        self._is_stopping = True
        self._thread.join()
        self.producer.flush(1)
        self.consumer.close()

    def _poll(self) -> None:
        while not self._is_stopping:
            self.producer.poll(_POLL_SECONDS)


@asynccontextmanager
async def bare_loop(bootstrap: str, topic: str | None = None, partitions: int = 1) -> AsyncIterator[Bare]:
    """Give a bare loop on `topic`, or on a new topic of one partition."""
    name = topic or f"bare-{os.urandom(6).hex()}"
    if topic is None:
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic(name, partitions, 1)], operation_timeout=_CREATE_SECONDS)[name].result()
    bare = Bare(bootstrap, name, partitions)
    try:
        if topic is None:
            await round_trips(bare, 20, 100)
        yield bare
    finally:
        bare.close()


async def round_trips(bare: Bare, count: int, value_bytes: int) -> list[float]:
    """Return the seconds of `count` round trips, one after the other."""
    value = os.urandom(value_bytes)
    taken = []
    for _ in range(count):
        start = time.perf_counter()
        bare.send(value)
        bare.receive()
        taken.append(time.perf_counter() - start)
    return taken


async def paced_round_trip_seconds(bare: Bare, count: int, value_bytes: int, every_seconds: float) -> list[float]:
    """Return the seconds of `count` round trips, begun so far apart, or late where one took longer."""
    value, due, taken = os.urandom(value_bytes), time.perf_counter(), []
    for _ in range(count):
        due += every_seconds
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        start = time.perf_counter()
        bare.send(value)
        bare.receive()
        taken.append(time.perf_counter() - start)
    return taken


async def round_trips_per_second(bare: Bare, count: int, value_bytes: int, outstanding: int) -> float:
    """Return the rate of `count` round trips, `outstanding` of them at any time."""
    value = os.urandom(value_bytes)
    start = time.perf_counter()
    for _ in range(outstanding):
        bare.send(value)
    for received in range(count):
        bare.receive()
        if received < count - outstanding:
            bare.send(value)
    return count / (time.perf_counter() - start)


async def consumed_per_second(bare: Bare, count: int) -> float:
    """Return the rate at which `count` records that lie in the topic are consumed from its beginning."""
    bare.assign_beginning()
    start = time.perf_counter()
    values: list[bytes | None] = []
    while len(values) < count:
        values += [message.value() for message in (bare.receive(), *bare.consumer.consume(_CONSUME, 0))]
    return count / (time.perf_counter() - start)


class BareAsyncio:
    """A `Bare` loop whose consumer is polled by a thread that hands each message to an asyncio loop."""

    def __init__(self, bare: Bare) -> None:
        self._bare = bare
        self._loop = asyncio.get_running_loop()
        self._arrived: asyncio.Future[None] = self._loop.create_future()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()

    async def round_trip(self, value: bytes) -> None:
        """Return once a message that carries `value` is back."""
        self._arrived = self._loop.create_future()
        self._bare.send(value)
        await self._arrived

    def stop(self) -> None:
        """End the thread."""
        self._is_stopping = True
        self._thread.join()

    def _receive(self) -> None:
        while not self._is_stopping:
            if self._bare.consumer.poll(_POLL_SECONDS):
                self._loop.call_soon_threadsafe(self._arrive)

    def _arrive(self) -> None:
        if not self._arrived.done():
            self._arrived.set_result(None)


@asynccontextmanager
async def bare_asyncio(bootstrap: str) -> AsyncIterator[BareAsyncio]:
    """Give a bare asyncio loop on a new topic."""
    async with bare_loop(bootstrap) as bare:
        through_loop = BareAsyncio(bare)
        try:
            yield through_loop
        finally:
            through_loop.stop()


async def asyncio_round_trips(through_loop: BareAsyncio, count: int, value_bytes: int) -> list[float]:
    """Return the seconds of `count` round trips, one after the other."""
    value = os.urandom(value_bytes)
    taken = []
    for _ in range(count):
        start = time.perf_counter()
        await through_loop.round_trip(value)
        taken.append(time.perf_counter() - start)
    return taken
