"""From settings to a copy of a log: it and the place that it goes to are opened; `log.copying` does the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from topicfold.log.copying import CopiedSpan, copy_log
from topicfold.log.identity import stated_identity
from topicfold.log.port import LogIdentity
from topicfold.progress import Progress
from topicfold.settings import Settings
from topicfold.starting import KafkaPlace, open_log_at, opened_log


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
