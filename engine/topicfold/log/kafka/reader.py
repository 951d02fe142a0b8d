"""Asks for the log's offsets and for pages of its records. Blocking, and not for two threads at once.

`follower` has a consumer of its own: it always has a fetch waiting at the broker, behind which these requests
would queue.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, KafkaException, Message, TopicPartition

from topicfold.errors import LogUnavailable
from topicfold.kafka_client import KafkaRight, error_in, open_kafka_client
from topicfold.kafka_connections import NOT_CONNECTED, KafkaConnections
from topicfold.log.kafka.errors import LOST, is_passing, unanswered
from topicfold.log.kafka.settings import without_lines
from topicfold.log.port import Entry

OFFSETS_SECONDS = 1.0
_CONNECT_SECONDS = 5.0
"""How long a client's first answer may take: it includes asking who leads the partitions and connecting to each of
these brokers. With TLS and SASL that took 0.1 to 0.3 s, and more than a second while brokers were just starting."""
_FIRST_SECONDS = 0.1
"""How long a client's first request waits for an answer before it is repeated. If it was made just before there was a
connection, librdkafka would ask who leads the partitions only after 0.7 s."""
_RETRY_SECONDS = 0.02
_FETCH_WAIT_MS = 1
"""The fetch that reads ahead of one page delays the next page for this long; with 100, a page took 102 ms."""
_PAGE_SECONDS = 10.0
_DRAIN = 1_000


class _Trimmed(Exception):
    """The records where a page was to begin have been deleted."""


class KafkaReader:
    """Asks about one topic."""

    def __init__(self, settings: Mapping[str, Any], topic: str, partitions: int) -> None:
        """Create a client; nothing is sent.

        Raises:
            BadSetting: Kafka's client does not accept the settings.
        """
        self._connections = KafkaConnections(settings)
        own = {"fetch.wait.max.ms": _FETCH_WAIT_MS, "error_cb": self._connections.note}
        self._consumer = open_kafka_client(Consumer, {**without_lines(settings), **own})
        self._topic = topic
        self._describing, self._reading = (
            KafkaRight(each, topic, settings["bootstrap.servers"]) for each in ("Describe", "Read")
        )
        self.partitions = range(partitions)
        self._has_answer = False
        self._led: Collection[Collection[int]] = ()
        self._is_told_who_leads = False
        """Whether a broker said so when it was last asked, since there was an answer."""
        self._leaders_may_have_moved = False
        """librdkafka 2.16 sends a request to the leader that it knows. If that broker died, it does not look for a new
        leader by itself, even when another broker has taken over."""

    def start_offsets(self) -> dict[int, int]:
        """Return per partition the first offset that still exists.

        Raises:
            LogUnavailable: no answer within a second, or within five if there has never been one.
        """
        return self._offsets(self.partitions, OFFSET_BEGINNING, time.monotonic() + OFFSETS_SECONDS)

    def end_offsets(self, partitions: Collection[int], seconds: float) -> dict[int, int]:
        """Return per partition the next offset to be written, or where an open transaction begins.

        One request to each leader asks for all partitions. Measured on one broker with 8 partitions: 0.10 ms;
        `AdminClient.list_offsets` takes 0.28 ms, `get_watermark_offsets` one by one 1.2 ms.

        Raises:
            LogUnavailable: one of `partitions` did not answer within `seconds`, or within five seconds if there has
                never been an answer.
        """
        return self._offsets(partitions, OFFSET_END, time.monotonic() + seconds)

    def told_start_offsets(self, partitions: Collection[int], seconds: float) -> dict[int, int]:
        """Return the first offsets of `partitions`, all led by one broker, as far as it knows them.

        Raises:
            LogUnavailable: it knows none, or did not answer within `seconds`.
        """
        return self._told(partitions, OFFSET_BEGINNING, seconds)

    def told_end_offsets(self, partitions: Collection[int], seconds: float) -> dict[int, int]:
        """Return the next offsets of `partitions`, all led by one broker, as far as it knows them.

        Raises:
            LogUnavailable: it knows none, or did not answer within `seconds`.
        """
        return self._told(partitions, OFFSET_END, seconds)

    def _told(self, partitions: Collection[int], place: int, seconds: float) -> dict[int, int]:
        # Who leads has just been asked: asked again for each of the leaders, one that hangs could silence them all.
        self._leaders_may_have_moved = False
        try:
            return self._asked_until(time.monotonic() + seconds, partitions, place)
        except KafkaException as exception:
            error = error_in(exception)
        told: dict[int, int] = {}
        if _is_told(error):
            for partition in partitions:
                with suppress(KafkaException):
                    told |= self._asked([partition], place, seconds)
        if not told:
            raise self._unanswered(error)
        return told

    def leaders(self, seconds: float) -> Iterable[Collection[int]]:
        """Return the partitions that each broker leads, according to the cluster; those without a leader are left out.

        librdkafka asks any broker that it is connected to, even one that hangs. Then this is what was said last.

        Raises:
            LogUnavailable: no broker said so within `seconds`, nor ever before.
        """
        try:
            error = self._ask_who_leads(seconds)
        except KafkaException as exception:
            error = None if self._led else error_in(exception)
        if error is not None:
            raise self._unanswered(error)
        return self._led

    def page(self, partition: int, offset: int, limit: int) -> list[Entry]:
        """Return up to `limit` records of `partition` from `offset`, or from its beginning if that is later.

        Raises:
            LogUnavailable: no answer within ten seconds.
        """
        deadline = time.monotonic() + _PAGE_SECONDS
        while True:
            position = max(offset, self._offsets([partition], OFFSET_BEGINNING, deadline)[partition])
            end = self._offsets([partition], OFFSET_END, deadline)[partition]
            if position >= end:
                return []
            self._consumer.assign([TopicPartition(self._topic, partition, position)])
            try:
                return self._collect(partition, position, end, limit, deadline)
            except _Trimmed as error:
                # The log was trimmed after it was asked where it begins.
                if time.monotonic() >= deadline:
                    raise unanswered(error.args[0], self._reading) from None
            finally:
                self._consumer.unassign()

    def close(self) -> None:
        """Close the client."""
        self._consumer.close()

    def _collect(self, partition: int, position: int, end: int, limit: int, deadline: float) -> list[Entry]:
        """Return the records of a page. librdkafka requires a group's name, but no right on that group is needed.

        Raises:
            _Trimmed: there is no record at `position` any more.
        """
        entries: list[Entry] = []
        while position < end and len(entries) < limit:
            for message in self._next_messages(deadline, min(limit - len(entries), _DRAIN)):
                error, offset = message.error(), message.offset()
                if offset is not None and error is None:
                    entries.append(Entry(partition, offset, message.value() or b""))
                    position = offset + 1
                elif offset is not None and error is not None and error.code() == KafkaError._PARTITION_EOF:
                    position = offset
                elif error is not None and error.code() in LOST:
                    raise _Trimmed(error)
                elif error is not None and error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
                    raise unanswered(error, self._reading)
        return entries

    def _next_messages(self, deadline: float, limit: int) -> Sequence[Message]:
        first = self._consumer.poll(max(0.0, deadline - time.monotonic()))
        if first is None:
            raise LogUnavailable(f"Kafka did not answer within {_PAGE_SECONDS:.0f} s")
        return [first, *self._consumer.consume(limit - 1, 0)] if limit > 1 else [first]

    def _offsets(self, partitions: Collection[int], place: int, deadline: float) -> dict[int, int]:
        if not self._has_answer:
            deadline = max(deadline, time.monotonic() + _CONNECT_SECONDS)
        try:
            return self._asked_until(deadline, partitions, place)
        except KafkaException as exception:
            raise self._unanswered(error_in(exception)) from None

    def _unanswered(self, error: KafkaError) -> LogUnavailable:
        """Return the error for a request for offsets or leaders that was not answered."""
        self._consumer.poll(0)
        cause = self._connections.cause_of(error)
        return unanswered(cause, self._describing, others_answer=self._is_told_who_leads)

    def _ask_who_leads(self, timeout: float) -> KafkaError | None:
        """Have Kafka's client learn who leads the partitions, and note it; return what is wrong with the topic.

        Raises:
            KafkaException: there is no answer.
        """
        self._is_told_who_leads = False
        found = self._consumer.list_topics(self._topic, timeout).topics[self._topic]
        self._is_told_who_leads = True
        error: KafkaError | None = found.error
        if error is not None:
            return error
        led: dict[int, list[int]] = {}
        for partition, known in sorted(found.partitions.items()):
            if partition in self.partitions and known.leader >= 0:
                led.setdefault(known.leader, []).append(partition)
        self._led = led.values()
        return None

    def _asked_until(self, deadline: float, partitions: Collection[int], place: int) -> dict[int, int]:
        """Return offsets of all `partitions`, asking again if that may help.

        Raises:
            KafkaException: there is no answer by `deadline`; a broker's error rather than librdkafka's own.
        """
        timeout = _FIRST_SECONDS
        if self._has_answer:
            # Only a client that never had one may still be connecting.
            now = time.monotonic()
            deadline = min(deadline, now + OFFSETS_SECONDS)
            timeout = deadline - now
        said: KafkaException | None = None
        while True:
            self._consumer.poll(0)  # for tokens that have to be renewed: without one, the broker ends the connection
            try:
                if self._leaders_may_have_moved:
                    self._ask_who_leads(timeout)
                    timeout = max(0.0, deadline - time.monotonic())
                offsets = self._asked(partitions, place, timeout)
            except KafkaException as exception:
                error = error_in(exception)
                said = exception if _is_told(error) or said is None else said
                self._leaders_may_have_moved = True
                timeout = deadline - time.monotonic()
                if timeout <= 0 or not (is_passing(error) or error.code() in NOT_CONNECTED):
                    raise said from None
            else:
                if self._leaders_may_have_moved:
                    # What the client still has to say of them is as old.
                    self._consumer.poll(0)
                self._connections.forget()
                self._leaders_may_have_moved = self._is_told_who_leads = False
                self._has_answer = True
                return offsets
            time.sleep(_RETRY_SECONDS)

    def _asked(self, partitions: Collection[int], place: int, timeout: float) -> dict[int, int]:
        """Return offsets of all `partitions`, asking once.

        Raises:
            KafkaException: there is no answer for one of them.
        """
        wanted = [TopicPartition(self._topic, partition, place) for partition in partitions]
        answers = self._consumer.offsets_for_times(wanted, timeout=timeout)
        for answer in answers:
            if answer.error:
                raise KafkaException(answer.error)
        return {answer.partition: answer.offset for answer in answers}


def _is_told(error: KafkaError) -> bool:
    """Return whether a broker reported this; codes below zero are librdkafka's own."""
    return error.code() > 0
