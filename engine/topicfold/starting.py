"""From settings to running parts: the log and its copy, what the engine is told, the node's part in a Kafka cluster.

Clients of Kafka and SQLite are imported by whoever needs them, and by nobody else.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from topicfold.errors import BadSetting
from topicfold.log.avro import read_schemas
from topicfold.log.copying import CopiedSpan, copy_log
from topicfold.log.identity import stated_identity
from topicfold.log.port import Log, LogIdentity
from topicfold.process.own_thread import call_in_own_thread
from topicfold.progress import Progress
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.runtime.finding.listings import Listings
from topicfold.runtime.finding.topic_listing import open_topic_listing
from topicfold.runtime.kafka.upkeep import Upkeep, UpkeepOptions
from topicfold.runtime.snapshots import without_log
from topicfold.settings import Settings
from topicfold.snapshot.commits import sequences


@dataclass(frozen=True, slots=True)
class KafkaPlace:
    """A topic of a Kafka cluster, where a log is or is to be."""

    bootstrap: str
    topic: str
    kafka_settings: Mapping[str, str]

    def __str__(self) -> str:
        return f"topic {self.topic} at {self.bootstrap}"


async def open_log_at(place: Path | KafkaPlace, partitions: int) -> Log:
    """Return the log that is there, in a file or on Kafka, made with `partitions` where there is none.

    Raises:
        BadSetting, WrongLog, LogUnavailable: there cannot be one.
    """
    if isinstance(place, KafkaPlace):
        from topicfold.log.kafka import KafkaLog

        return await KafkaLog.open(place.bootstrap, place.topic, partitions, place.kafka_settings)
    from topicfold.log.sqlite import SqliteLog

    return await SqliteLog.open(place, partitions)


async def open_log(settings: Settings) -> Log:
    """Return the log that `settings` name; one that is not there is made, unless there is a snapshot already.

    Raises:
        BadSetting: they cannot work.
        WrongLog: it is something else.
        WrongSnapshot: the snapshot cannot be of a log that would be made now.
        SnapshotUnreadable: it cannot be seen whether there is a snapshot.
        LogUnavailable, ClusterUnavailable: it does not answer.
    """
    read_schemas()
    if await _has_commit(settings.snapshot):
        await require_log(settings)
    return await open_log_at(log_place(settings), settings.partitions)


def waited_for(settings: Settings) -> Mapping[str, str]:
    """Return where that is which must answer before the log is open, as fields of a log line."""
    snapshot = {} if settings.snapshot is None else {"snapshot": str(settings.snapshot)}
    return {"log": str(log_place(settings)), **snapshot}


def log_place(settings: Settings) -> Path | KafkaPlace:
    """Return where the log is that `settings` name."""
    if settings.kafka_bootstrap is None:
        return settings.log_file
    return KafkaPlace(settings.kafka_bootstrap, settings.kafka_topic, settings.kafka_settings)


@asynccontextmanager
async def opened_log(settings: Settings) -> AsyncIterator[Log]:
    """Yield the log that `settings` name, which must be there already, and close it afterwards.

    Raises:
        BadSetting, WrongLog, WrongSnapshot: there is no such log.
        SnapshotUnreadable: there is none, and it cannot be seen whether there is a snapshot.
        LogUnavailable, ClusterUnavailable: it does not answer.
    """
    await require_log(settings)
    log = await open_log(settings)
    try:
        yield log
    finally:
        await log.close()


def copy_to(
    place: Path | KafkaPlace, settings: Settings, progress: Progress
) -> tuple[LogIdentity, Sequence[CopiedSpan]]:
    """Copy the log that `settings` name to `place`; return which it is, and what was copied.

    Raises:
        BadSetting, WrongSnapshot: there is no such log.
        WrongLog: it is none, or `place` holds anything else.
        LogUnavailable, ClusterUnavailable: one of both does not answer; doing it again goes on.
    """
    return asyncio.run(_copy_to(place, settings, progress))


async def _copy_to(
    place: Path | KafkaPlace, settings: Settings, progress: Progress
) -> tuple[LogIdentity, Sequence[CopiedSpan]]:
    async with opened_log(settings) as source:
        identity = await stated_identity(source)
        target = await open_log_at(place, identity.partitions)
        try:
            return identity, await copy_log(source, identity, target, progress)
        finally:
            await target.close()


async def require_log(settings: Settings) -> None:
    """Return if there is the log that is named, for whoever would make an empty one of it and find nothing there.

    Raises:
        BadSetting: there is none.
        WrongSnapshot: there is none, but there is a snapshot of one.
        SnapshotUnreadable: there is none, and it cannot be seen whether there is a snapshot.
        ClusterUnavailable: Kafka does not answer.
    """
    missing = await _missing_log(settings)
    if missing is None:
        return
    if await _has_commit(settings.snapshot):
        raise without_log(f"{missing.reason}, and the snapshot {settings.snapshot} is of one") from missing
    raise missing


async def _has_commit(snapshot: Path | None) -> bool:
    """Return whether there is a snapshot; its file system may not answer.

    Raises:
        SnapshotUnreadable: it cannot be seen.
    """
    return snapshot is not None and bool(await call_in_own_thread("topicfold-snapshot", sequences, snapshot))


async def _missing_log(settings: Settings) -> BadSetting | None:
    """Return the error that there is no such log, None if there is one.

    Raises:
        ClusterUnavailable: Kafka does not answer.
    """
    if settings.kafka_bootstrap is None:
        if settings.log_file.exists():
            return None
        return BadSetting(
            f"there is no log {settings.log_file}",
            hint="Name the server's log: --log FILE or --kafka HOST:PORT. If there was none yet, start one: "
            f"topicfold serve --log {quote(str(settings.log_file))}",
        )
    from topicfold.cluster.kafka import KafkaCluster

    kafka = KafkaCluster(settings.kafka_bootstrap, settings.kafka_settings)
    try:
        if await kafka.topic(settings.kafka_topic) is not None:
            return None
    finally:
        await kafka.close()
    return BadSetting(
        f"Kafka at {settings.kafka_bootstrap} has no topic {settings.kafka_topic}",
        hint="Name the server's log with --kafka-topic TOPIC. If there was none yet, start one: "
        f"topicfold serve --kafka {settings.kafka_bootstrap} --kafka-topic {settings.kafka_topic}",
    )


def engine_options(settings: Settings) -> EngineOptions:
    """Return what `settings` tell the engine."""
    return EngineOptions(
        label_rules=settings.label_rules,
        limits=settings.policy_limits,
        wildcard_separator=settings.wildcard_separator,
        ready_timeout_seconds=settings.ready_timeout_seconds,
        request_timeout_seconds=settings.request_timeout_seconds,
        stale_after_seconds=settings.stale_after_seconds,
        snapshot=settings.snapshot,
        past_max_events=settings.past_max_events,
        node=settings.advertised_url or f"{socket.gethostname()}:{os.getpid()}",
        digest_within_seconds=settings.digest_within_seconds,
        scrub_every_seconds=settings.scrub_every_seconds,
    )


def open_listings(engine: Engine, settings: Settings) -> Listings:
    """Return what lists the topics of `engine` as `settings` say, not made ready yet.

    Raises:
        BadSetting: there is no such topic listing.
    """
    return Listings(engine, open_topic_listing(settings.topic_listing), settings.topic_listing)


def open_upkeep(engine: Engine, settings: Settings) -> Upkeep | None:
    """Return the part of `engine` in the Kafka cluster that `settings` name, not begun yet; None where they name none.

    Raises:
        BadSetting: Kafka's client does not take its settings.
    """
    if settings.cluster is None:
        return None
    from topicfold.cluster.kafka import KafkaCluster

    options = UpkeepOptions(
        adopts_only=settings.adopt_only,
        follows=settings.follow_cluster,
        every_seconds=settings.follow_every_seconds,
        protected=frozenset({settings.kafka_topic}),
    )
    return Upkeep(engine, KafkaCluster(*settings.cluster), options)
