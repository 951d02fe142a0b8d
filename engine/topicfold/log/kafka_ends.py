"""Where the partitions of the log's topic begin and end, as far as their leaders say.

A question to several brokers is answered when each of them has answered. A broker that died or stalls would keep
everybody from what the others say, until its partitions are led by another; and so would a partition that lost its
leader while too few replicas were in sync: until there are enough, the next one does not know where it ends.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping

from topicfold.errors import LogUnavailable
from topicfold.log.kafka_reader import OFFSETS_SECONDS, KafkaReader

_LEADER_SECONDS = 0.2
"""So long each leader may take to answer once one of them did not."""
_SILENT_EVERY_SECONDS = 1.0
"""So often those that did not answer are asked again; whoever asks then waits for them, too."""


class KafkaEnds:
    """Asks all leaders at once while all answer, else those that did, and now and then each by itself.

    Blocking, and for one thread, as `reader` is.
    """

    def __init__(self, reader: KafkaReader) -> None:
        self._reader = reader
        self._answering: Collection[int] = reader.partitions
        self._asked_each = -math.inf

    def known(self) -> dict[int, int]:
        """Return per partition the next offset to be written, where its leader says so.

        Raises:
            LogUnavailable: no leader does.
        """
        all_answer = len(self._answering) == len(self._reader.partitions)
        if all_answer or time.monotonic() < self._asked_each + _SILENT_EVERY_SECONDS:
            try:
                return self._reader.end_offsets(self._answering, OFFSETS_SECONDS)
            except LogUnavailable:
                pass
        return self._ask_each()

    def known_starts(self) -> dict[int, int]:
        """Return per partition the first offset that there is, where its leader says so.

        Raises:
            LogUnavailable: no leader does.
        """
        try:
            return self._reader.start_offsets()
        except LogUnavailable:
            return self._told(self._reader.told_start_offsets)

    def _ask_each(self) -> dict[int, int]:
        self._asked_each = time.monotonic()
        self._answering = self._reader.partitions
        ends = self._told(self._reader.told_end_offsets)
        self._answering = ends.keys()
        return ends

    def _told(self, asked: Callable[[Collection[int], float], Mapping[int, int]]) -> dict[int, int]:
        offsets: dict[int, int] = {}
        error = LogUnavailable("the log cannot be reached: none of its partitions has a leader")
        for led in self._reader.leaders(_LEADER_SECONDS):
            try:
                offsets.update(asked(led, _LEADER_SECONDS))
            except LogUnavailable as silent:
                error = silent
        if not offsets:
            raise error
        return offsets
