"""Partitions of topics that were made anew: read from their start, once the group's offsets are there, too.

Until then they are paused, so that nothing is delivered that would come again. Kafka's client waits for a coordinator
that is away as long as a session lasts, and takes no signal meanwhile: so a thread of its own asks.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from topicfold.client.consuming.gate import Gate
from topicfold.client.consuming.subscription import Partition

_log = logging.getLogger(__name__)


class StartOver:
    """The partitions of one consumer that are to start over. One thread tends it; any may pause and resume."""

    def __init__(self, kafka: Consumer, gate: Gate) -> None:
        """Take what keeps it open, too."""
        self._kafka = kafka
        self._gate = gate
        self._noting = threading.RLock()
        """Held while it is noted what is paused; not while Kafka's client is told, which takes one call at a time: a
        callback of its would wait for who waits for it."""
        self._paused: set[Partition] = set()
        self._paused_by_caller: set[Partition] = set()
        self._committing: threading.Thread | None = None
        self._awaited: set[Partition] = set()
        """What is being committed and has been starting ever since."""
        self._committed: set[Partition] = set()

    def pause(self, partitions: Collection[Partition]) -> None:
        """Pause what the caller wants paused, until he resumes it."""
        with self._noting:
            self._paused_by_caller.update(partitions)
        self._tell(partitions)

    def resume(self, partitions: Collection[Partition]) -> None:
        """Resume what the caller wants read again, as soon as it may be."""
        with self._noting:
            self._paused_by_caller.difference_update(partitions)
        self._tell(partitions)

    def tend(self, starting: Collection[Partition], assigned: Iterable[Partition]) -> list[Partition]:
        """Go on with what is `starting`; return what of it is read from its start now. What fails is tried again."""
        self._resume(self._paused.intersection(assigned).difference(starting))
        waiting = set(starting)
        self._awaited &= waiting
        if self._committing is not None and not self._committing.is_alive():
            self._committing.join()
            self._committing = None
        started = []
        if self._committing is None:
            started = [each for each in sorted(self._awaited & self._committed) if self._seek_start(each)]
            self._committed.clear()
            waiting.difference_update(started)
        self._pause(waiting - self._paused)
        if waiting and self._committing is None:
            self._awaited = set(waiting)
            self._committing = threading.Thread(
                target=self._commit, args=(sorted(waiting),), name="topicfold-start-over", daemon=True
            )
            self._committing.start()
        return started

    def _commit(self, partitions: Iterable[Partition]) -> None:
        try:
            with self._gate:
                starts = [TopicPartition(*each, 0) for each in partitions]
                answers = self._kafka.commit(offsets=starts, asynchronous=False)
        except (KafkaException, RuntimeError) as error:
            _log.info("the offsets of recreated topics have not been overwritten yet: %s", error)
            return
        self._committed.update((each.topic, each.partition) for each in answers or () if each.error is None)

    def _seek_start(self, partition: Partition) -> bool:
        """Read this partition from its start; return False where it is not being read yet."""
        self._resume({partition})
        try:
            self._kafka.seek(TopicPartition(*partition, OFFSET_BEGINNING))
        except KafkaException:
            return False
        return True

    def _pause(self, partitions: Collection[Partition]) -> None:
        with self._noting:
            self._paused.update(partitions)
        self._tell(partitions)

    def _resume(self, partitions: Collection[Partition]) -> None:
        with self._noting:
            self._paused.difference_update(partitions)
        self._tell(partitions)

    def _tell(self, partitions: Collection[Partition]) -> None:
        """Have Kafka's client read these, or not, as is noted; again where that has changed before it was told."""
        rest = set(partitions)
        while rest:
            paused = self._paused_of(rest)
            for tell, own in ((self._kafka.pause, paused), (self._kafka.resume, rest - paused)):
                if own:
                    tell([TopicPartition(*each) for each in own])
            rest = paused ^ self._paused_of(rest)

    def _paused_of(self, partitions: set[Partition]) -> set[Partition]:
        with self._noting:
            return partitions & (self._paused | self._paused_by_caller)
