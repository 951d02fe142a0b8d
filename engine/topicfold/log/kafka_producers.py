"""Kafka's client for appending, one after another where one breaks, and the polls that tell what becomes of appends.

Where Kafka answers within some 300 µs, waking a thread that waits for it, and the loop by that thread, takes nearly as
long as what there is to do then, all of it with cold caches. So the loop looks by itself, between all else that it
does, for two milliseconds (measured: an update is readable after 0.41 ms where it was after 0.49 when a thread waited,
and 32 writers make 19,000 updates a second, not 15,000). That takes a fifth more of the processor's time a write;
other processes go first. What takes longer a thread waits for, and the longer it does, the rarer the loop looks; with
fewer than two processors it never does.

Invariant: one thread at a time polls a producer, so outcomes are told in Kafka's order.
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

from topicfold.log.kafka_errors import error_in
from topicfold.log.processors import usable_processors

_log = structlog.get_logger(__name__)

_LOOK_SECONDS = 0.002
_WAIT_SECONDS = 0.1
_MOST_REST_SECONDS = 1.0
_LEAST_PROCESSORS = 2
"""Without a second one, or within a quota of less, the loop would take from others the time in which to answer it."""
_ABANDONED_SECONDS = 1.0
_FLUSH_SECONDS = 1.0
_REPLACED_EVERY_SECONDS = 1.0
"""One that may not write breaks as soon as it is made, and prints why."""

Polled = Callable[[Producer, KafkaError | None], None]


class KafkaProducers:
    """The producer in use and those that broke, polled for one loop; all methods are for that loop."""

    def __init__(self, settings: Mapping[str, Any], polled: Polled) -> None:
        """Make a producer.

        `polled` is called on the loop after polls, every 0.1 s at least, with the producer and why it has broken for
        good, or None.

        Raises:
            KafkaException: librdkafka does not like the settings.
        """
        self.current = Producer(dict(settings))
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
        """Have it told soon what becomes of all that the producer was given."""
        if self._is_looking or self._is_waiting or self._is_closed:
            return
        now = self._loop.time()
        if now < self._look_from:
            self._leave()
        else:
            self._look_until = now + _LOOK_SECONDS
            self._look_next()

    def replace(self, broken: Producer) -> None:
        """Fail what waits in a producer that takes nothing any more, and make another; once for each.

        Where one was made within the last second, or the system has no room for another, the broken one stays and fails
        what it is given: polls tell of it again.
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
        """Give what waits one second, then fail it; end the thread, which takes up to 0.1 s. Nothing is polled then."""
        self._is_closed = True
        self._timer.cancel()
        self._is_left.set()
        await asyncio.to_thread(self._thread.join)
        await asyncio.to_thread(_end, [self.current, *self._broken])
        # It refers to who made this object: its client would go on until Python collects both.
        self._polled = _unheard

    def _keep_polling(self) -> None:
        """Poll, for what producers say of themselves, and of what the broken ones had."""
        self._timer = self._loop.call_later(_WAIT_SECONDS, self._keep_polling)
        if not self._is_waiting:
            self._go_on(self.current, _poll(self.current))

    def _look_next(self) -> None:
        self._is_looking = True
        self._loop.call_soon(self._look)

    def _look(self) -> None:
        """Poll, and again in the loop's next turn, until everything is told or nothing has come for too long."""
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
        """Tell what a poll noted, and of what broken producers had, which is known a moment later."""
        for broken in list(self._broken):
            _poll(broken)
            if not len(broken):
                self._broken.remove(broken)
        self._polled(producer, error)

    def _leave(self) -> None:
        """Have the thread wait."""
        self._is_waiting = True
        self._is_left.set()

    def _run(self) -> None:
        """Wait once, each time that it is left to this thread."""
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
    """Take what nobody asks for any more."""


def _poll(producer: Producer, seconds: float = 0.0) -> KafkaError | None:
    """Have outcomes noted; return why the producer has broken for good, which it says by raising, or None."""
    try:
        producer.poll(seconds)
    except KafkaException as exception:
        return error_in(exception)
    return None


def _end(producers: Sequence[Producer]) -> None:
    """Have it known of everything what became of it; what is not known after a second, failed."""
    for producer in producers:
        with suppress(KafkaException):
            producer.flush(_FLUSH_SECONDS)
        producer.purge()
        # What was on its way is told to have failed by another thread, a moment later.
        with suppress(KafkaException):
            producer.flush(_FLUSH_SECONDS)
