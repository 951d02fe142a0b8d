"""Where the partitions of the log's topic begin and end, as far as their leaders answer.

A request to several brokers is only answered when all of them have answered. So a broker that died or stalls would
hide what the others say, until other brokers lead its partitions. So would a partition that lost its leader while too
few replicas were in sync: until there are enough, the new leader does not know where the partition ends.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping

from topicfold.errors import LogUnavailable
from topicfold.log.kafka.errors import LEADERS_HINT
from topicfold.log.kafka.reader import OFFSETS_SECONDS, KafkaReader

_LEADER_SECONDS = 0.2
"""How long each leader may take to answer after one of them did not."""
_SILENT_EVERY_SECONDS = 1.0
"""How often those that did not answer are asked again; that call waits for them too."""


class KafkaEnds:
    """Asks all leaders at once as long as all answer; otherwise those that did, and now and then each one by itself.

    Blocking, and for one thread only, like `reader`.
    """

    def __init__(self, reader: KafkaReader) -> None:
        self._reader = reader
        self._answering: Collection[int] = reader.partitions
        self._asked_each = -math.inf

    def known(self) -> dict[int, int]:
        """Return per partition the next offset to be written, for partitions whose leader answers.

        Raises:
            LogUnavailable: no leader answers.
        """
        all_answer = len(self._answering) == len(self._reader.partitions)
        if all_answer or time.monotonic() < self._asked_each + _SILENT_EVERY_SECONDS:
            try:
                return self._reader.end_offsets(self._answering, OFFSETS_SECONDS)
            except LogUnavailable:
                pass
        return self._ask_each()

    def known_starts(self) -> dict[int, int]:
        """Return per partition the first offset that still exists, for partitions whose leader answers.

        Raises:
            LogUnavailable: no leader answers.
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
        error = LogUnavailable("the log cannot be reached: none of its partitions has a leader", hint=LEADERS_HINT)
        for led in self._reader.leaders(_LEADER_SECONDS):
            try:
                offsets.update(asked(led, _LEADER_SECONDS))
            except LogUnavailable as silent:
                error = silent
        if not offsets:
            raise error
        return offsets
