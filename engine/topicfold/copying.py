"""From settings to a copy of a log: it and the place that it goes to are opened; `log.copying` does the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from topicfold.log.copying import CopiedSpan, Progress, copy_log
from topicfold.log.identity import stated_identity
from topicfold.log.port import Log, LogIdentity
from topicfold.settings import Settings
from topicfold.starting import open_log, require_log


@dataclass(frozen=True, slots=True)
class Place:
    """Where a copy is to be: in a file or else on a topic of a Kafka cluster."""

    file: Path | None
    bootstrap: str
    topic: str
    kafka_settings: Mapping[str, str] = field(default_factory=dict)

    async def open(self, partitions: int) -> Log:
        """Return the log there, made with `partitions` where there is none.

        Raises:
            BadSetting, WrongLog, LogUnavailable: there cannot be one.
        """
        if self.file is not None:
            from topicfold.log.sqlite import SqliteLog

            return await SqliteLog.open(self.file, partitions)
        from topicfold.log.kafka import KafkaLog

        return await KafkaLog.open(self.bootstrap, self.topic, partitions, self.kafka_settings)

    def __str__(self) -> str:
        return str(self.file or f"topic {self.topic} at {self.bootstrap}")


def copy_to(place: Place, settings: Settings, progress: Progress) -> tuple[LogIdentity, Sequence[CopiedSpan]]:
    """Copy the log that `settings` name to `place`; return which it is, and what was copied.

    Raises:
        BadSetting: there is no such log.
        WrongLog: it is none, or `place` holds anything else.
        LogUnavailable, ClusterUnavailable: one of both does not answer; doing it again goes on.
    """
    return asyncio.run(_copy_to(place, settings, progress))


async def _copy_to(place: Place, settings: Settings, progress: Progress) -> tuple[LogIdentity, Sequence[CopiedSpan]]:
    await require_log(settings)
    source = await open_log(settings)
    try:
        identity = await stated_identity(source)
        target = await place.open(identity.partitions)
        try:
            return identity, await copy_log(source, identity, target, progress)
        finally:
            await target.close()
    finally:
        await source.close()
