"""The log beneath running nodes, looked at and written to from outside."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from topicfold.log.codec import decode_event
from topicfold.log.kafka import KafkaLog
from topicfold.log.port import Entry, Log
from topicfold.log.sqlite import SqliteLog
from topicfold.model.events import Verdict, operation_of
from topicfold.server.auth.principal import ANONYMOUS


@asynccontextmanager
async def opened(options: Sequence[str]) -> AsyncIterator[Log]:
    """Open the log that nodes with these options run on."""
    named = dict(zip(options[::2], options[1::2], strict=True))
    log: Log
    if "--log" in named:
        log = await SqliteLog.open(Path(named["--log"]))
    else:
        log = await KafkaLog.open(named["--kafka"], topic=named["--kafka-topic"])
    try:
        yield log
    finally:
        await log.close()


async def entries_in(options: Sequence[str]) -> list[Entry]:
    """Return every record of the log, partition by partition."""
    entries: list[Entry] = []
    async with opened(options) as log:
        for partition, start in (await log.start_offsets()).items():
            offset = start
            while page := await log.read(partition, offset, 1_000):
                entries += page
                offset = page[-1].offset + 1
    return entries


def as_folded(operation: str) -> str:
    """Return the operation id that the log has of what somebody anonymous was told as `operation`."""
    partition, _, handle = operation.partition("-")
    return f"{partition}-{operation_of(ANONYMOUS, bytes.fromhex(handle)).hex()}"


async def operations_in(options: Sequence[str]) -> list[str]:
    """Return the ids of operations that the log says changed something, one entry for each event they stand in
    that was accepted: its base is the version before it."""
    versions: dict[tuple[int, str], bytes] = {}
    found: list[str] = []
    for entry in await entries_in(options):
        event = decode_event(entry.value)
        if event is None or event.kind not in (1, 2):
            continue
        aggregate = (event.aggregate_kind, event.name)
        if versions.get(aggregate, bytes(16)) != event.base:
            continue
        versions[aggregate] = event.event_id
        found += [
            f"{entry.partition}-{operation.id.hex()}"
            for operation in event.operations
            if operation.verdict == Verdict.CHANGED
        ]
    return found


async def append_raw(options: Sequence[str], partition: int, values: Sequence[bytes]) -> int:
    """Append records as they are; return the end of the partition once all of them are in the log."""
    async with opened(options) as log:
        before = (await log.end_offsets())[partition]
        for value in values:
            log.append(partition, value, _fail)
        end = before
        while end < before + len(values):
            end = (await log.end_offsets())[partition]
        return end


def _fail(error: Exception) -> None:
    raise AssertionError(f"the log gave up on a record: {error}")
