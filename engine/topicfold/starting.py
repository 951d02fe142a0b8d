"""From settings to running parts: the log, what the engine is told, the node's part in a Kafka cluster.

Clients of Kafka and SQLite are imported by whoever needs them, and by nobody else.
"""

from __future__ import annotations

from topicfold.log.port import Log
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.runtime.upkeep import Upkeep, UpkeepOptions
from topicfold.settings import Settings


async def open_log(settings: Settings) -> Log:
    """Return the log that `settings` name.

    Raises:
        BadSetting: they cannot work.
        WrongLog: it is something else.
        LogUnavailable: it does not answer.
    """
    if settings.kafka_bootstrap is not None:
        from topicfold.log.kafka import KafkaLog

        return await KafkaLog.open(
            settings.kafka_bootstrap,
            topic=settings.kafka_topic,
            partitions=settings.partitions,
            kafka_settings=settings.kafka_settings,
        )
    from topicfold.log.sqlite import SqliteLog

    return await SqliteLog.open(settings.log_file, partitions=settings.partitions)


def engine_options(settings: Settings) -> EngineOptions:
    """Return what `settings` tell the engine."""
    return EngineOptions(
        label_rules=settings.label_rules,
        limits=settings.policy_limits,
        ready_timeout_seconds=settings.ready_timeout_seconds,
        request_timeout_seconds=settings.request_timeout_seconds,
        stale_after_seconds=settings.stale_after_seconds,
    )


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
