"""Follows a Kafka cluster: records its new topics and new partitions, and reports the topics that vanished.

Nothing is ever deleted, neither here nor in Kafka. A finding is confirmed by a second look before anything is done:
while another node creates or deletes a topic, that topic looks new or gone for a moment. Several nodes may follow one
cluster, because each of their changes has no effect the second time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import NamedTuple

import structlog

from topicfold.cluster.port import Cluster
from topicfold.errors import AlreadyExists, ClusterUnavailable, FixRequest, Reread
from topicfold.model.kafka import steps as kafka_steps
from topicfold.model.kafka.adoption import Adoption, KafkaTopic, New, Present, missing_namespaces, plan_adoption
from topicfold.model.names import parse_topic, recorded_topic, topic_of_key
from topicfold.model.records import NamespaceRecord, TenantRecord, TopicRecord
from topicfold.runtime.asking import ACTOR, Asked
from topicfold.runtime.at_once import each_at_once
from topicfold.runtime.engine import Engine
from topicfold.runtime.slices import CHUNK, Slice
from topicfold.runtime.tenancy import look_at
from topicfold.runtime.writing.writing import Writing

_log = structlog.get_logger(__name__)

CONFIRM_SECONDS = 0.5
REASON = "follow the cluster"
_AT_ONCE = 64
_SHOWN = 20
_MISSING = "kafka_topics_missing"


class _Recorded(NamedTuple):
    """A live topic, as much as following needs of it."""

    name: str
    partitions: int
    kafka_name: str | None


@dataclass(frozen=True, slots=True)
class _Look:
    """What one look found: Kafka topics without a record, those that have grown, records without a Kafka topic.

    `unclear` are the topics whose records cannot be read and may stand for any Kafka topic that has no other.
    """

    plan: Adoption
    new: frozenset[New]
    grown: frozenset[Present]
    missing: frozenset[str]
    unclear: frozenset[str]

    @property
    def fewer(self) -> frozenset[Present]:
        """Return the topics that have fewer partitions in Kafka than recorded."""
        return frozenset(each for each in self.plan.present if each.kafka_partitions < each.recorded_partitions)


class ClusterFollower:
    """Looks at a cluster when it is told to, and remembers what it has told of.

    `counts` are those of the last look: topics `present` in both, and what it left as it is: records whose Kafka
    topic is `missing` or has `fewer_partitions`, and Kafka topics `not_adopted` because they can have no record, or may
    have one that cannot be read.
    """

    def __init__(self, engine: Engine, cluster: Cluster, writing: Writing, is_protected: Callable[[str], bool]) -> None:
        self.counts: Mapping[str, int] = dict.fromkeys(("present", "missing", "fewer_partitions", "not_adopted"), 0)
        self._engine = engine
        self._cluster = cluster
        self._writing = writing
        self._is_protected = is_protected
        self._told: dict[str, frozenset[str]] = {}
        self._comparing = asyncio.Lock()

    async def look(self) -> None:
        """Bring the records in step with the cluster as it is.

        Raises:
            ClusterUnavailable: it does not answer.
            Wait, OutcomeUnknown: the log takes no changes now.
        """
        found = await self._look()
        if found.new or found.grown or found.missing - self._told.get(_MISSING, frozenset()):
            await asyncio.sleep(CONFIRM_SECONDS)
            found = await asyncio.to_thread(_confirmed, found, await self._look())
        refused = _kept_back(found) if found.unclear else await self._adopt(found.new)
        await self._grow(found.grown)
        failed = {each.kafka_name: each.reason for each in found.plan.failed} | refused
        self._tell(_MISSING, found.missing)
        self._tell("kafka_topics_with_fewer_partitions", {each.name for each in found.fewer})
        self._tell("kafka_topics_not_adopted", {f"{name}: {reason}" for name, reason in failed.items()})
        self.counts = {
            "present": len(found.plan.present) + len(found.new) - len(refused),
            "missing": len(found.missing),
            "fewer_partitions": len(found.fewer),
            "not_adopted": len(failed),
        }

    async def compare(self) -> Mapping[str, int]:
        """Return how many topics are `missing` in Kafka or have `fewer_partitions` there now; nothing is done about it.

        One after another, since each lists all topics.

        Raises:
            ClusterUnavailable: it does not answer.
            Wait: the log does not.
        """
        async with self._comparing:
            found = await self._look()
            if found.missing:
                await asyncio.sleep(CONFIRM_SECONDS)
                found = await asyncio.to_thread(_confirmed, found, await self._look())
        return {"missing": len(found.missing), "fewer_partitions": len(found.fewer)}

    async def _look(self) -> _Look:
        """Compare the cluster with what the log holds after the cluster answered."""
        topics = await self._cluster.topics()
        await look_at(self._engine, self._engine.states, self._asked())
        records, waiting, unreadable = await self._records()
        return await asyncio.to_thread(_compared, topics.values(), records, waiting, unreadable, self._is_protected)

    async def _records(self) -> tuple[list[_Recorded], frozenset[str], frozenset[str]]:
        """Return all live topics, the names of those that wait for a step in Kafka, and of the unreadable ones.

        In slices: each namespace is as it was when it was come to, or somewhat later. Cost: O(topics).
        """
        work = Slice()
        records: list[_Recorded] = []
        waiting: set[str] = set()
        unreadable: set[str] = set()
        for state in self._engine.states.values():
            for namespace, table in [*state.topics.items()]:
                keys, partitions, kafka_names = table.keys, table.partitions, table.kafka_names
                waiting |= {topic_of_key(namespace, keys[number]) for number in table.pending}
                unreadable |= {topic_of_key(namespace, keys[number]) for number in table.undecodable}
                live = table.live.to_array()
                for start in range(0, len(live) or 1, CHUNK):
                    for number in live[start : start + CHUNK]:
                        name = topic_of_key(namespace, keys[number])
                        records.append(_Recorded(name, partitions.get(number, 0), kafka_names.get(number)))
                    await work.rest()
        return records, frozenset(waiting), frozenset(unreadable)

    async def _adopt(self, new: Collection[New]) -> dict[str, str]:
        """Make the records that are missing; return the Kafka topics that were refused one, and why."""
        refused: dict[str, str] = {}
        adopted: list[str] = []

        async def adopt(topic: New) -> None:
            record = TopicRecord(topic.recorded_partitions, topic.explicit_kafka_name)
            try:
                await self._writing.record_topic(parse_topic(topic.name), record, self._asked())
            except (AlreadyExists, ClusterUnavailable):
                pass  # Made by others, or ended by them just now: the next look tells.
            except (FixRequest, Reread) as error:
                refused[topic.kafka_name] = error.reason
            else:
                adopted.append(topic.name)

        present = {name for state in self._engine.states.values() for name in state.topics}
        namespaces, in_order = await asyncio.to_thread(_planned, new, present)
        for namespace in namespaces:
            with contextlib.suppress(AlreadyExists):
                await self._writing.create_tenant(namespace.partition("/")[0], TenantRecord(), self._asked())
            with contextlib.suppress(AlreadyExists):
                await self._writing.create_namespace(namespace, NamespaceRecord(), self._asked())
        for error in await each_at_once(adopt, in_order, _AT_ONCE):
            raise error
        if adopted:
            _log.info("topics_adopted", count=len(adopted), topics=_shown(adopted))
        return refused

    async def _grow(self, more: Collection[Present]) -> None:
        """Record the partitions that these topics have more of in Kafka."""
        grown: list[str] = []

        async def grow(topic: Present) -> None:
            name = recorded_topic(topic.name)
            updater = kafka_steps.follow_partitions(topic.name, topic.kafka_partitions)
            with contextlib.suppress(FixRequest, Reread):
                if (await self._writing.change_topic(name, updater, self._asked())).changed:
                    grown.append(topic.name)

        for error in await each_at_once(grow, sorted(more, key=lambda each: each.name), _AT_ONCE):
            raise error
        if grown:
            _log.info("topics_grown", count=len(grown), topics=_shown(grown))

    def _tell(self, event: str, found: Collection[str]) -> None:
        """Log what has come and gone since the last look."""
        told, now = self._told.get(event, frozenset[str]()), frozenset(found)
        self._told[event] = now
        if now - told:
            _log.warning(event, count=len(now), new=_shown(now - told))
        elif told - now:
            _log.info(event, count=len(now), no_more=_shown(told - now))

    def _asked(self) -> Asked:
        return Asked(self._engine.deadline(), ACTOR, REASON)


def _compared(
    topics: Collection[KafkaTopic],
    records: Iterable[_Recorded],
    waiting: frozenset[str],
    unreadable: frozenset[str],
    is_protected: Callable[[str], bool],
) -> _Look:
    """Return what a look found. Cost: microseconds for each topic, so it is for a thread, as what follows of it is."""
    plan = plan_adoption(topics, records)
    grown = (each for each in plan.present if each.kafka_partitions > max(each.recorded_partitions, 1))
    gone = {each.name for each in plan.gone}
    undecided = waiting | unreadable
    return _Look(
        plan,
        frozenset(each for each in plan.new if not is_protected(each.kafka_name)),
        frozenset(each for each in grown if each.name not in undecided),
        frozenset(gone - undecided),
        unreadable.intersection(gone),
    )


def _confirmed(first: _Look, again: _Look) -> _Look:
    """Return what two looks found alike, and what else the second did."""
    return replace(
        again, new=first.new & again.new, grown=first.grown & again.grown, missing=first.missing & again.missing
    )


def _planned(new: Collection[New], present: Collection[str]) -> tuple[Iterable[str], Collection[New]]:
    """Return the namespaces to make, and the topics in the order in which their records are made."""
    return missing_namespaces(new, present), sorted(new, key=lambda each: each.name)


def _kept_back(found: _Look) -> dict[str, str]:
    """Return the Kafka topics that get no record, and why."""
    name = min(found.unclear)
    return {each.kafka_name: f"the record of {name} cannot be read, and may stand for it" for each in found.new}


def _shown(names: Iterable[str]) -> list[str]:
    """Return the first few of `names`, sorted."""
    return nsmallest(_SHOWN, names)
