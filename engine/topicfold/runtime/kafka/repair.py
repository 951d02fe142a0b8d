"""Repair: takes the steps in Kafka that records still wait for, because a node crashed or Kafka was away.

Each step is noted in its record, so any node with the right to can take it. A note is left to the node that wrote it
until it is seen a second time. A partition that has not caught up, or has stopped, is skipped: its steps may have been
taken, and undone, long ago.
"""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from topicfold.errors import ClusterUnavailable, FixRequest, OutcomeUnknown, TopicfoldError, Wait
from topicfold.model.names import recorded_topic, topic_of_key
from topicfold.model.records import Pending, Step
from topicfold.runtime.engine import Engine
from topicfold.runtime.kafka.records import record_of
from topicfold.runtime.kafka.writing import KafkaWriting
from topicfold.runtime.slices import CHUNK, Slice

_log = structlog.get_logger(__name__)


class KafkaRepair:
    """Remembers from look to look what it saw waiting, and what it could not do."""

    def __init__(self, engine: Engine, writing: KafkaWriting) -> None:
        self._engine = engine
        self._writing = writing
        self._waiting: dict[str, tuple[Pending, int]] = {}
        self._held_up: dict[str, TopicfoldError] = {}

    @property
    def held_up(self) -> Mapping[str, TopicfoldError]:
        """By topic why a step that is due could not be taken when it was tried last."""
        return self._held_up

    async def run(self) -> None:
        """Finish what has waited since the last run, one topic after another.

        Raises:
            ClusterUnavailable: Kafka cannot be reached; what it merely does not allow, or not show yet, is told and
                passed over.
        """
        before, self._waiting = self._waiting, await self._found()
        self._held_up = {name: error for name, error in self._held_up.items() if name in self._waiting}
        due = {name: waiting[0].step for name, waiting in self._waiting.items() if before.get(name) == waiting}
        for name, step in due.items():
            await self._finish(name, step)

    async def _finish(self, name: str, step: Step) -> None:
        try:
            await self._writing.finish(recorded_topic(name), step)
        except (Wait, FixRequest, OutcomeUnknown) as error:
            if isinstance(error, ClusterUnavailable) and not error.is_of_one_topic:
                raise
            before = self._held_up.get(name)
            if before is None or before.reason != error.reason:
                _log.warning("kafka_step_waits", topic=name, reason=error.reason, hint=error.hint)
            self._held_up[name] = error
        else:
            self._held_up.pop(name, None)
            _log.info("kafka_step_done", topic=name)

    async def _found(self) -> dict[str, tuple[Pending, int]]:
        """Return what every topic waits for that waits for something, in slices: each as it is when it is come to.

        Cost: O(namespaces + such topics).
        """
        work = Slice()
        found: dict[str, tuple[Pending, int]] = {}
        for partition, state in self._engine.states.items():
            if not self._engine.readiness.is_ready(partition):
                continue
            for passed, (namespace, table) in enumerate([*state.topics.items()], 1):
                for number in [*table.pending]:
                    name = topic_of_key(namespace, table.keys[number])
                    record = record_of(self._engine, recorded_topic(name))
                    if record is not None and record.pending is not None:
                        found[name] = record.pending, record.partitions
                    await work.rest()
                if not passed % CHUNK:
                    await work.rest()
        return found
