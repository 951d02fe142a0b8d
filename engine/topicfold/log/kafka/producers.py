"""Kafka's client for appending, which is replaced if it breaks, and the polling that learns the outcomes of appends.

Kafka may answer within some 300 µs. Waking a thread that waits for it, which then wakes the loop, takes nearly as long
as the work that follows, all of it with cold caches. So the loop itself polls, between everything else that it does,
for two milliseconds (measured: an update is readable after 0.41 ms instead of 0.49 with a waiting thread, and 32
writers make 19,000 updates a second instead of 15,000). That takes a fifth more processor time per write, and yields
to other processes. A thread waits for anything that takes longer; the longer it waits, the more rarely the loop polls.
With fewer than two processors the loop never polls.

Invariant: only one thread at a time polls a producer, so outcomes are reported in Kafka's order.
"""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer

from topicfold.kafka_client import error_in, open_kafka_client
from topicfold.process.processors import usable_processors

_log = structlog.get_logger(__name__)

_LOOK_SECONDS = 0.002
_WAIT_SECONDS = 0.1
_MOST_REST_SECONDS = 1.0
_LEAST_PROCESSORS = 2
"""With fewer, by number or by quota, a polling loop would take the time that others need to answer it."""
_ABANDONED_SECONDS = 1.0
_FLUSH_SECONDS = 1.0
_REPLACED_EVERY_SECONDS = 1.0
"""How often at most. A producer that may not write breaks as soon as it is created, and logs why."""

Polled = Callable[[Producer, KafkaError | None], None]


class KafkaProducers:
    """The producer in use and those that broke, polled for one loop. All methods must be called on that loop."""

    def __init__(self, settings: Mapping[str, Any], polled: Polled) -> None:
        """Create a producer.

        `polled` is called on the loop after polls, at least every 0.1 s, with the producer, and with the error that
        broke it for good, or None.

        Raises:
            BadSetting: Kafka's client does not accept the settings.
        """
        self.current = open_kafka_client(Producer, settings)
        self._settings = settings
        self._broken: list[Producer] = []
        self._replace_from = 0.0
        self._polled = polled
        self._loop = asyncio.get_running_loop()
        self._is_looking = False
        self._look_until = 0.0
        self._look_from = 0.0 if usable_processors() >= _LEAST_PROCESSORS else math.inf
        self._rest = 0.0
        self._is_waiting = False
        self._is_left = threading.Event()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="topicfold-kafka-appends", daemon=True)
        self._thread.start()
        self._timer = self._loop.call_later(_WAIT_SECONDS, self._keep_polling)

    def expect(self) -> None:
        """Poll until the outcomes of everything that the producer was given are known."""
        if self._is_looking or self._is_waiting or self._is_closed:
            return
        now = self._loop.time()
        if now < self._look_from:
            self._leave()
        else:
            self._look_until = now + _LOOK_SECONDS
            self._look_next()

    def replace(self, broken: Producer) -> None:
        """Fail what waits in a producer that broke for good, and create another; once for each.

        If one was created within the last second, or the system cannot create another, the broken one stays and fails
        what it is given. Later polls report it again.
        """
        if broken is not self.current or self._is_closed:
            return
        broken.purge()
        now = self._loop.time()
        if now < self._replace_from:
            return
        self._replace_from = now + _REPLACED_EVERY_SECONDS
        try:
            self.current = Producer(dict(self._settings))
        except KafkaException as exception:
            _log.error("producer_not_replaced", reason=error_in(exception).str())
        else:
            self._broken.append(broken)

    async def close(self) -> None:
        """Give waiting appends one second, then fail them; end the thread, which takes up to 0.1 s, and polling."""
        self._is_closed = True
        self._timer.cancel()
        self._is_left.set()
        await asyncio.to_thread(self._thread.join)
        await asyncio.to_thread(_end, [self.current, *self._broken])
        # It refers to the owner of this object, so its client would live on until Python collects both.
        self._polled = _unheard

    def _keep_polling(self) -> None:
        """Poll regularly, for errors of producers, and for outcomes of what broken ones had."""
        self._timer = self._loop.call_later(_WAIT_SECONDS, self._keep_polling)
        if not self._is_waiting:
            self._go_on(self.current, _poll(self.current))

    def _look_next(self) -> None:
        self._is_looking = True
        self._loop.call_soon(self._look)

    def _look(self) -> None:
        """Poll now and in each turn of the loop, until all outcomes are known or nothing has come for too long."""
        self._is_looking = False
        if self._is_closed:
            return
        os.sched_yield()
        expected = len(self.current)
        self._tell(self.current, _poll(self.current))
        left = len(self.current)
        now = self._loop.time()
        if left < expected:
            self._look_until = now + _LOOK_SECONDS
            self._rest = 0.0
        if not left:
            return
        if now < self._look_until:
            self._look_next()
        else:
            self._rest = min(2 * self._rest or _LOOK_SECONDS, _MOST_REST_SECONDS)
            self._look_from = now + self._rest
            self._leave()

    def _tell(self, producer: Producer, error: KafkaError | None) -> None:
        """Report the outcomes that a poll noted, and those of broken producers, which are known a moment later."""
        for broken in list(self._broken):
            _poll(broken)
            if not len(broken):
                self._broken.remove(broken)
        self._polled(producer, error)

    def _leave(self) -> None:
        """Let the thread wait for Kafka."""
        self._is_waiting = True
        self._is_left.set()

    def _run(self) -> None:
        """Wait for Kafka, once each time that the loop leaves it to this thread."""
        while not self._is_closed and not self._loop.is_closed():
            if self._is_left.wait(_ABANDONED_SECONDS) and not self._is_closed:
                self._is_left.clear()
                producer, error = self.current, None
                try:
                    error = _poll(producer, _WAIT_SECONDS)
                except Exception:  # noqa: BLE001 -- the boundary of the thread: nothing would be polled ever after
                    _log.exception("append_thread_failed")
                    time.sleep(_WAIT_SECONDS)
                with suppress(RuntimeError):  # the loop may have been closed meanwhile
                    self._loop.call_soon_threadsafe(self._go_on, producer, error)

    def _go_on(self, producer: Producer, error: KafkaError | None) -> None:
        """Tell what a poll noted that nobody waits for any more, and have the rest told soon."""
        self._is_waiting = False
        self._tell(producer, error)
        if len(self.current):
            self.expect()


def _unheard(_producer: Producer, _error: KafkaError | None) -> None:
    """Ignore what nobody needs any more."""


def _poll(producer: Producer, seconds: float = 0.0) -> KafkaError | None:
    """Poll, which notes outcomes; return the error that broke the producer for good (it raises it), or None."""
    try:
        producer.poll(seconds)
    except KafkaException as exception:
        return error_in(exception)
    return None


def _end(producers: Sequence[Producer]) -> None:
    """Wait a second for all outcomes; report appends as failed if their outcome is not known by then."""
    for producer in producers:
        with suppress(KafkaException):
            producer.flush(_FLUSH_SECONDS)
        producer.purge()
        # Another thread reports a moment later that what was in flight has failed.
        with suppress(KafkaException):
            producer.flush(_FLUSH_SECONDS)
