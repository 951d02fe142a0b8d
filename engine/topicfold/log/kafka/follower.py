"""The thread that reads the log's topic and hands batches to the loop.

It waits with `poll` and drains with `consume(n, 0)`, because `consume(n, t)` would wait `t` for a full batch.
Invariant: per partition every offset is handed over once and in order; a missing one stops the partition, unless it
was delivered before it could be read, and has been trimmed.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from topicfold.errors import LogGap, LogUnavailable, OperatorNeeded, TopicfoldError
from topicfold.kafka_client import KafkaRight, open_kafka_client
from topicfold.log.kafka.arrivals import KafkaArrivals
from topicfold.log.kafka.errors import LOST, is_denied, translated
from topicfold.log.kafka.same_topic import SameTopic
from topicfold.log.port import Entry, Fault
from topicfold.model.made import made

_log = structlog.get_logger(__name__)

_POLL_SECONDS = 0.1
_BATCH = 128
"""Folding this many takes a turn of some 5 ms, and they are published while still in the processor's caches: compared
with batches of a thousand, a node that starts folds 7 % more a second, or 15 % more with a second core."""
_GONE_SECONDS = 2.0
_OFFSETS_SECONDS = 1.0
_STOP_SECONDS = 5.0
"""Longer than any wait that the thread asks for. librdkafka 2.16 waits by the system's clock: where that is set back an
hour, a wait takes an hour longer, unless something comes."""

_ANOTHER_MAY_COME = (KafkaError._ALL_BROKERS_DOWN, KafkaError.UNKNOWN_TOPIC_OR_PART)
"""Errors during which the topic may be replaced without anything else to tell it."""


class KafkaFollower:
    """Follows all partitions of one topic from given positions, in a thread of its own."""

    def __init__(
        self, settings: Mapping[str, Any], topic: str, same_topic: SameTopic, arrivals: KafkaArrivals, fault: Fault
    ) -> None:
        """Create a follower; nothing is read before `start`.

        Raises:
            BadSetting: Kafka's client does not accept the settings.
        """
        self._consumer = open_kafka_client(Consumer, {**settings, "error_cb": self._suspect})
        self._topic = topic
        self._right = KafkaRight("Read", topic, settings["bootstrap.servers"])
        self._same_topic = same_topic
        self._arrivals = arrivals
        self._fault = fault
        self._loop = asyncio.get_running_loop()
        self._positions: dict[int, int] = {}
        self._is_taken = threading.Event()
        self._is_taken.set()
        self._is_stopping = False
        self._is_given_up = False
        self._gone_since: float | None = None
        self._is_denied = False
        self._thread = threading.Thread(target=self._run, name="topicfold-kafka-follow", daemon=True)

    def start(self, positions: Mapping[int, int]) -> None:
        """Start reading at `positions`."""
        self._positions = dict(positions)
        self._consumer.assign([TopicPartition(self._topic, number, at) for number, at in positions.items()])
        self._thread.start()

    def stop(self) -> None:
        """Return once the thread has ended: after up to 0.1 s, or 1 s if it is asking Kafka something.

        Nothing is delivered after the call. Where Kafka's client holds the thread for longer, it is left to itself.
        """
        self._is_stopping = True
        self._arrivals.stop()
        self._thread.join(_STOP_SECONDS)
        if self._thread.is_alive():
            _log.warning("log_thread_left", reason="Kafka's client does not return, as where the clock was set back")
        else:
            self._consumer.close()

    def give_up(self, fault: TopicfoldError) -> None:
        """Deliver nothing more, and report `fault`, unless that was done before; to be called on the loop."""
        if not self._is_given_up:
            self._is_given_up = True
            self._arrivals.end(None)
            self._fault(fault, None)

    def _run(self) -> None:
        try:
            while not (self._is_stopping or self._is_given_up):
                if self._gone_since is not None:
                    self._look_for_topic(self._gone_since)
                first = self._consumer.poll(_POLL_SECONDS)
                messages = [] if first is None else self._gathered(first)
                self._same_topic.come_by()
                if messages and self._is_same_topic():
                    self._hand_out(messages)
        except Exception as error:  # noqa: BLE001 -- the boundary of the thread: nobody else would hear of it
            if not self._loop.is_closed():
                fault = OperatorNeeded(f"reading the log failed: {error!r}", hint="Restart this node.")
                self._arrivals.end(None)
                self._loop.call_soon_threadsafe(self._fault, fault, None)
                _log.exception("log_thread_failed")

    def _gathered(self, first: Message) -> list[Message]:
        """Return `first` and what arrived after it by the time the loop has finished the batch before.

        So at most one batch is under way: what arrives while the loop folds does not disturb it, and memory is bounded.
        """
        messages = [first, *self._consumer.consume(_BATCH, 0)]
        if not self._is_taken.is_set():
            while not self._is_taken.wait(_POLL_SECONDS) and not self._is_stopping:
                self._same_topic.come_by()
            if len(messages) < _BATCH:
                messages += self._consumer.consume(_BATCH, 0)
        return messages

    def _is_same_topic(self) -> bool:
        """Return whether what was read is of the topic that was opened; stop everything if it is of another."""
        try:
            fault = self._same_topic.fault(lambda: self._is_stopping or self._is_given_up)
        except LogUnavailable:
            return False
        if fault is not None:
            self._positions.clear()
            self._arrivals.end(None)
            self._loop.call_soon_threadsafe(self.give_up, fault)
        return fault is None

    def _hand_out(self, messages: Sequence[Message]) -> None:
        """Hand over the entries of `messages`, then the faults found among them."""
        batch: list[Entry] = []
        faults: dict[int, TopicfoldError] = {}
        lost: dict[int, TopicfoldError] = {}
        positions = self._positions
        for message in messages:
            partition, offset = message.partition(), message.offset()
            expected = None if partition is None else positions.get(partition)
            if partition is None or expected is None:
                continue
            if offset == expected and message.error() is None:
                positions[partition] = offset + 1
                batch.append(made(Entry, (partition, offset, message.value() or b"")))
            elif fault := _fault_of(message, expected, self._right):
                if _is_lost(message):
                    lost[partition] = fault
                else:
                    del positions[partition]
                    faults[partition] = fault
            else:
                self._note_denial(message.error())
        if batch:
            faults |= self._take(batch)
        until = time.monotonic() + _OFFSETS_SECONDS
        for partition, fault in lost.items():
            if partition not in faults and not self._has_passed_over(partition, until):
                faults[partition] = fault
        for partition, fault in faults.items():
            self._end(partition, fault)

    def _take(self, batch: Sequence[Entry]) -> Mapping[int, TopicfoldError]:
        """Hand over `batch`; return the faults of partitions that end in it."""
        self._is_denied = False
        self._is_taken.clear()
        is_new, faults = self._arrivals.read(batch, self._is_taken.set)
        if not is_new:
            self._is_taken.set()
            self._arrivals.rest()
        return faults

    def _end(self, partition: int, fault: TopicfoldError) -> None:
        """Read nothing more of `partition`, and report why."""
        self._positions.pop(partition, None)
        self._arrivals.end(partition)
        self._consumer.pause([TopicPartition(self._topic, partition)])
        self._loop.call_soon_threadsafe(self._fault, fault, partition)

    def _has_passed_over(self, partition: int, until: float) -> bool:
        """Return False if records are missing that were not delivered before; otherwise read on.

        Reading continues where the partition begins by now. If the broker does not say so by `until` (of the monotonic
        clock), reading is tried again at the same place.
        """
        place, start = TopicPartition(self._topic, partition), self._positions[partition]
        left = until - time.monotonic()
        if left > 0 and not self._is_stopping:
            with suppress(KafkaException):
                first, _ = self._consumer.get_watermark_offsets(place, timeout=left)
                if first <= start or not self._arrivals.pass_over(partition, first):
                    return False
                start = first
        self._positions[partition] = start
        # Kafka's client has given up this partition, so it cannot seek in it.
        self._consumer.incremental_unassign([place])
        self._consumer.incremental_assign([TopicPartition(self._topic, partition, start)])
        return True

    def _note_denial(self, error: KafkaError | None) -> None:
        """Log why Kafka denies reading the log; once, until something is read again."""
        if error is not None and is_denied(error) and not self._is_denied:
            self._is_denied = True
            denial = translated(error, self._right)
            _log.warning("log_not_read", reason=denial.reason, hint=denial.hint)

    def _suspect(self, error: KafkaError) -> None:
        """Note that the topic may be gone, or be another one by now; called within `poll`.

        Other errors are temporary, or come as a message. That one broker of several is away is no doubt: asking the
        others might have to wait for it, and with that all that they lead.
        """
        if error.code() in _ANOTHER_MAY_COME:
            self._same_topic.doubt()
        if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART and self._gone_since is None:
            self._gone_since = time.monotonic()

    def _look_for_topic(self, gone_since: float) -> None:
        """Stop everything if the topic is still gone after a while: a broker that is starting may not know it yet."""
        if time.monotonic() < gone_since + _GONE_SECONDS:
            return
        self._gone_since = None
        try:
            error = self._consumer.list_topics(self._topic, timeout=_POLL_SECONDS).topics[self._topic].error
        except KafkaException:
            return
        if error is not None and error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            self._positions.clear()
            self._arrivals.end(None)
            self._loop.call_soon_threadsafe(self._fault, translated(error, self._right), None)


def _is_lost(message: Message) -> bool:
    """Return whether Kafka lacks the record that was to be read next."""
    error = message.error()
    return error is not None and error.code() in LOST


def _fault_of(message: Message, expected: int, right: KafkaRight) -> TopicfoldError | None:
    """Return why `message` stops its partition, or None if it does not.

    If a partition's end is reported beyond `expected`, the records in between cannot be read, as those that a
    transaction leaves: whoever waits for the end would wait for ever.
    """
    error = message.error()
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        fault = translated(error, right)
        return fault if isinstance(fault, OperatorNeeded) else None
    partition, offset = message.partition(), message.offset()
    if offset is None or offset <= expected:
        return None
    return LogGap(
        f"partition {partition} continues at {offset} where record {expected} was expected",
        hint="Somebody trimmed, compacted or wrote transactions to the topic. Start from a newer snapshot.",
        partition=partition,
        expected=expected,
        found=offset,
    )
