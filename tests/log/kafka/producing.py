"""Kafka's client for appending, in a test's hands: what it is given it reports when it is told to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException

Report = Callable[[KafkaError | None, Any], None]


class Message:
    """Where Kafka's client says that an append lies."""

    def __init__(self, offset: int | None) -> None:
        self._offset = offset

    def partition(self) -> int:
        return 0

    def offset(self) -> int | None:
        return self._offset


class Producer:
    """Kafka's client, in a test's hands: what it is given it reports when it is told to."""

    made: list[Producer]

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.reports: list[Report] = []
        self.due: list[tuple[Report, KafkaError | None, int | None]] = []
        self.is_purged = self.is_broken = self.is_broken_for_good = False
        self.why_broken = KafkaError._FATAL
        self.room = 1_000
        self.sent: list[list[bytes]] = []
        self.polled_in: list[threading.Thread] = []
        self._is_due = threading.Event()
        self._is_polled = threading.Lock()
        self.made.append(self)

    def __len__(self) -> int:
        return len(self.reports) + len(self.due)

    def produce(self, _topic: str, value: bytes, _key: bytes, _partition: int, on_delivery: Report) -> None:
        if self.is_broken:
            raise KafkaException(KafkaError(KafkaError._FATAL, "broken"))
        self.sent.append([value])
        self.reports.append(on_delivery)

    def produce_batch(self, _topic: str, messages: list[dict[str, Any]], partition: int) -> None:
        """Take as many as there is room for, and mark the others, as Kafka's client does."""
        for message in messages[self.room :]:
            message["_error"] = KafkaError(KafkaError._FATAL if self.is_broken else KafkaError._QUEUE_FULL)
        self.sent.append([message["value"] for message in messages])
        self.reports += [message["callback"] for message in messages[: self.room]]

    def report(self, offset: int | None, error: KafkaError | None = None) -> None:
        """Have the oldest append reported."""
        self.due.append((self.reports.pop(0), error, offset))
        self._is_due.set()

    def poll(self, seconds: float) -> None:
        """Report what is due. Two polls at once are an error: they would report in another order than Kafka's."""
        assert self._is_polled.acquire(blocking=False)
        try:
            self.polled_in.append(threading.current_thread())
            if self.is_broken_for_good:
                raise KafkaException(KafkaError(self.why_broken, "broken"))
            self._is_due.wait(min(seconds, 0.01))
            self._is_due.clear()
            while self.due:
                report, error, offset = self.due.pop(0)
                report(error, Message(offset))
        finally:
            self._is_polled.release()

    def purge(self) -> None:
        self.is_purged = True

    def flush(self, _: float) -> None:
        """Report what was purged, which Kafka's client does a moment later."""
        if self.is_purged:
            while self.reports:
                self.report(None, KafkaError(KafkaError._PURGE_INFLIGHT))
            self.poll(0)
