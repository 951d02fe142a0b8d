"""Logs for the job to fold: on SQLite and on Kafka, with a header and whatever a test's plan says."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tests.builders import empty_state
from tests.state.histories import PARTITIONS, random_log
from topicfold.log.codec import decode_event, encode_event
from topicfold.log.identity import establish_identity
from topicfold.log.port import Log
from topicfold.settings import Settings
from topicfold.starting import open_log
from topicfold.state.fold import PartitionState

PARTITION = 1


def random_values(seed: int, length: int) -> list[bytes]:
    """Return the records of one partition."""
    return [b"garbage" if event is None else encode_event(event) for event in random_log(seed, length)]


def settings_of(**where: object) -> Settings:
    """Return the settings of a log with two partitions."""
    return Settings(partitions=PARTITIONS, **where)  # type: ignore[arg-type]


def append(settings: Settings, values: Sequence[bytes], *, incarnation: bytes = b"L" * 16) -> None:
    """Append `values` to the log, in their order, and its header before them where it is new."""
    asyncio.run(_append(settings, values, incarnation))


def replayed(settings: Settings) -> list[PartitionState]:
    """Return what the engine makes of the log, by partition."""
    return asyncio.run(_replayed(settings))


async def _append(settings: Settings, values: Sequence[bytes], incarnation: bytes) -> None:
    log = await open_log(settings)
    await establish_identity(log, incarnation)
    failed: list[Exception] = []
    for value in values:
        log.append(PARTITION, value, failed.append)
    end = (await log.end_offsets())[PARTITION]
    while values and (await _last(log, end)) != values[-1]:
        await asyncio.sleep(0.02)
        end = (await log.end_offsets())[PARTITION]
    await log.close()
    assert not failed


async def _last(log: Log, end: int) -> bytes | None:
    found = await log.read(PARTITION, end - 1, 1) if end else []
    return found[0].value if found else None


async def _replayed(settings: Settings) -> list[PartitionState]:
    log = await open_log(settings)
    states = [empty_state(number, PARTITIONS, client_ring=65_536, server_ring=16_384) for number in range(PARTITIONS)]
    for state in states:
        while batch := await log.read(state.partition, state.position, 1_000):
            for entry in batch:
                state.apply(entry.offset, decode_event(entry.value))
    await log.close()
    return states
