"""Upkeep: what a node with a Kafka cluster does every few seconds, beside serving.

It takes steps in Kafka that were left undone, and follows the cluster if it is set to. A failure is logged and tried
again; it never keeps the node from serving.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from topicfold.cluster.port import Cluster
from topicfold.errors import ClusterUnavailable, TopicfoldError
from topicfold.runtime.engine import Engine
from topicfold.runtime.kafka.follower import ClusterFollower
from topicfold.runtime.kafka.repair import KafkaRepair
from topicfold.runtime.kafka.topics import KafkaTopics
from topicfold.runtime.kafka.writing import KafkaWriting
from topicfold.runtime.task_end import end_tasks
from topicfold.runtime.writing.writing import Writing

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class UpkeepOptions:
    """What a node is told of its part in the cluster. `protected` are Kafka topics that must never be touched."""

    adopts_only: bool = False
    follows: bool = False
    every_seconds: float = 5.0
    protected: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class UpkeepReport:
    """How things are between records and cluster. `is_reachable` None: Kafka was not asked yet, or need not be.

    `counts` are of topics: `waiting` for a step in Kafka, and, where the cluster is followed, `present` in both,
    `missing` in Kafka, with `fewer_partitions` there, and `not_adopted` because they can have no record, or
    may have one that cannot be read. `cluster_id` is the cluster's own id, "" until it has answered.
    """

    is_reachable: bool | None
    counts: Mapping[str, int]
    cluster_id: str = ""


class Upkeep:
    """One node's part in a cluster: its `writing`, and a task that runs from `start` to `stop`."""

    def __init__(self, engine: Engine, cluster: Cluster, options: UpkeepOptions) -> None:
        self._cluster = cluster
        self.options = options
        kafka_topics = KafkaTopics(cluster, options.protected)
        self.writing: Writing
        self._repair: KafkaRepair | None = None
        if options.adopts_only:
            self.writing = Writing(engine)
        else:
            self.writing = managing = KafkaWriting(engine, kafka_topics)
            self._repair = KafkaRepair(engine, managing)
        self._follower = ClusterFollower(engine, cluster, self.writing, kafka_topics.is_protected)
        self._is_reachable: bool | None = None
        self._cluster_id = ""
        self.trouble: ClusterUnavailable | None = None
        """Why Kafka did not answer last, or turned this node away."""
        self._waits_for = ""
        """Why the last round was not gone through with, where the log or a partition is to blame."""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, if there is anything to do in this part."""
        if self._repair or self.options.follows:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """End, and let the cluster go."""
        await end_tasks([self._task])
        await self._cluster.close()

    @property
    def bootstrap(self) -> str:
        """Where the cluster is."""
        return self._cluster.bootstrap

    @property
    def followed(self) -> Mapping[str, int]:
        """What the last look at a cluster that is followed came to: the counts of a report but for `waiting`."""
        return self._follower.counts if self.options.follows else {}

    async def compared(self) -> Mapping[str, int]:
        """Return what a cluster that is followed came to, and of another how many topics are otherwise there now.

        Empty where Kafka did not answer last, or this node only adopts: it may have no right to see the topics.

        Raises:
            Wait: Kafka or the log does not answer now.
        """
        if self.options.follows or not (self._repair and self._is_reachable):
            return self.followed
        return await self._follower.compare()

    @property
    def held_up(self) -> Mapping[str, TopicfoldError]:
        """By topic why a step in Kafka that it waits for could not be taken when it was tried last."""
        return self._repair.held_up if self._repair else {}

    def report(self, waiting: int) -> UpkeepReport:
        """Return how things were at the last look, where so many topics wait for a step in Kafka."""
        return UpkeepReport(self._is_reachable, {"waiting": waiting, **self.followed}, self._cluster_id)

    async def run_once(self) -> None:
        """Do once what is to be done; errors are told, not raised."""
        try:
            self._cluster_id = await self._cluster.reach()
            self._on_answer()
            if self._repair:
                await self._repair.run()
            if self.options.follows:
                await self._follower.look()
            self._waits_for = ""
        except ClusterUnavailable as error:
            if self._is_reachable is not False:
                _log.warning("cluster_unavailable", reason=error.reason, hint=error.hint)
            self._is_reachable, self.trouble = False, error
        except TopicfoldError as error:
            if error.reason != self._waits_for:
                _log.warning("upkeep_waits", reason=error.reason)
            self._waits_for = error.reason
        except Exception:  # noqa: BLE001 -- a defect here must not end the upkeep, still less the node
            _log.exception("upkeep_failed")

    def _on_answer(self) -> None:
        if self._is_reachable is False:
            _log.info("cluster_reachable")
        self._is_reachable, self.trouble = True, None

    async def _run(self) -> None:
        while True:
            await self.run_once()
            await asyncio.sleep(self.options.every_seconds)
