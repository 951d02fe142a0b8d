"""What has come of the log's topic, by either of two ways, each record once and in order.

A record is read from Kafka, or Kafka says at which offset it has put one of ours. It says so once every replica in
sync has the record, which is when it may be read; so where all before it was delivered, it is what comes next, and
need not be waited for. One writer on 8 partitions saves a third of its round trip (measured: 0.35 ms until told,
0.53 until read).

Invariant: per partition every offset is delivered once and in order; what was told is held against what is read there.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from topicfold.errors import TopicfoldError, WrongLog
from topicfold.log.port import Deliver, Entry

MAX_AHEAD = 10_000
"""Records of a partition that may be delivered before they are read; behind them what is told waits until it is."""

_REST_SECONDS = 0.002


class Read(NamedTuple):
    """What came of a batch that was read: whether any of it was new, and why partitions ended in it."""

    is_new: bool
    faults: Mapping[int, TopicfoldError]


class KafkaArrivals:
    """Takes records and delivers them on the loop."""

    def __init__(self, positions: Mapping[int, int], deliver: Deliver) -> None:
        """Make one on the running loop, which delivers from `positions` on."""
        self._deliver = deliver
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._next = dict(positions)
        self._ahead: dict[int, dict[int, int]] = {partition: {} for partition in positions}
        self._is_awaited = threading.Event()
        self._queued = 0
        self._is_stopped = False

    def end(self, partition: int | None) -> None:
        """Take nothing more of `partition`, or of any for None; what was taken is delivered still."""
        with self._lock:
            for each in list(self._next) if partition is None else [partition]:
                self._next.pop(each, None)
                self._ahead.pop(each, None)

    def stop(self) -> None:
        """Deliver nothing more."""
        self._is_stopped = True
        self.end(None)

    def told(self, entries: Sequence[Entry]) -> None:
        """Take records of ours at the offsets that Kafka says they have; those that come later wait to be read.

        On the loop, where `read` is for the thread that reads.
        Cost: a hash of each value.
        """
        with self._lock:
            fresh = []
            for entry in entries:
                partition, offset, value = entry
                position = self._next.get(partition)
                if position is None or offset < position:
                    continue
                if offset > position or len(self._ahead[partition]) >= MAX_AHEAD:
                    self.hurry()
                else:
                    self._next[partition] = offset + 1
                    self._ahead[partition][offset] = hash(value)
                    fresh.append(entry)
            if self._queued and fresh:
                self._queued += 1
                self._loop.call_soon(self._take_turn, fresh, None)
                return
        if fresh:
            self._hand_over(fresh)

    def read(self, entries: Sequence[Entry], taken: Callable[[], None]) -> Read:
        """Take what was read, in order and without a gap but such as `pass_over` allows.

        Where any of it is new, `taken` is called once that is delivered. A partition in which something else is read
        than what was told ends.
        """
        faults: dict[int, TopicfoldError] = {}
        with self._lock:
            fresh = []
            for entry in entries:
                partition, offset, value = entry
                position = self._next.get(partition)
                if position is None:
                    continue
                if offset >= position:
                    self._next[partition] = offset + 1
                    fresh.append(entry)
                elif self._ahead[partition].pop(offset, None) not in (hash(value), None):
                    del self._next[partition], self._ahead[partition]
                    faults[partition] = _another(partition, offset)
            if fresh:
                self._queued += 1
                self._loop.call_soon_threadsafe(self._take_turn, fresh, taken)
        return Read(bool(fresh), faults)

    def pass_over(self, partition: int, start: int) -> bool:
        """Return whether reading may go on at `start`, where all before it was trimmed: all of that was delivered.

        Then what was told of it is not held against anything.
        """
        with self._lock:
            if self._next.get(partition, -1) < start:
                return False
            ahead = self._ahead[partition]
            self._ahead[partition] = {offset: ahead[offset] for offset in ahead if offset >= start}
            return True

    def rest(self) -> None:
        """Return after two milliseconds, or as soon as somebody waits for what is to be read.

        For the reading thread, where all that it read was known: it would only keep the processor and the
        interpreter's lock from who is writing (measured: an eighth of a lone writer's round trip).
        """
        self._is_awaited.wait(_REST_SECONDS)
        self._is_awaited.clear()

    def hurry(self) -> None:
        """Say that somebody waits for what is to be read."""
        self._is_awaited.set()

    def _take_turn(self, entries: list[Entry], taken: Callable[[], None] | None) -> None:
        """Deliver what was read, and what was told while some of that waited, in the order in which it came."""
        with self._lock:
            self._queued -= 1
        try:
            self._hand_over(entries)
        finally:
            if taken:
                taken()

    def _hand_over(self, entries: list[Entry]) -> None:
        if not self._is_stopped:
            self._deliver(entries)


def _another(partition: int, offset: int) -> WrongLog:
    return WrongLog(
        f"partition {partition} holds another record at offset {offset} than the one that Kafka acknowledged there",
        hint="If the topic was recreated, it is another log: restore the old one. Otherwise its brokers lost records: "
        "restore them, or restart all nodes, which then continue without them.",
    )
