"""The log beneath running nodes, looked at and written to from outside."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from topicfold.log.codec import decode_event
from topicfold.log.kafka import KafkaLog
from topicfold.log.port import Entry, Log
from topicfold.log.sqlite import SqliteLog
from topicfold.model.events import Verdict, operation_of
from topicfold.server.auth.principal import ANONYMOUS


def name_of(options: Sequence[str]) -> str:
    """Return the file or the topic of the log that nodes with these options run on."""
    return options[options.index("--log" if "--log" in options else "--kafka-topic") + 1]


@asynccontextmanager
async def opened(options: Sequence[str]) -> AsyncIterator[Log]:
    """Open the log that nodes with these options run on."""
    log: Log
    if "--log" in options:
        log = await SqliteLog.open(Path(name_of(options)))
    else:
        log = await KafkaLog.open(options[options.index("--kafka") + 1], topic=name_of(options))
    try:
        yield log
    finally:
        await log.close()


@dataclass
class Kept:
    """All records of a log that is trimmed by `snapshot`: `lock` is held from before they are read until they go."""

    entries: list[Entry] = field(default_factory=list)
    snapshot: Path | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    async def add_from(self, log: Log) -> None:
        """Add what is new in `log`."""
        ends = dict.fromkeys(range(log.partitions), 0)
        ends.update((entry.partition, entry.offset + 1) for entry in self.entries)
        for partition, end in ends.items():
            while page := await log.read(partition, end, 1_000):
                assert page[0].offset == end, "records were deleted that nobody has seen"
                self.entries += page
                end = page[-1].offset + 1


kept_of: defaultdict[str, Kept] = defaultdict(Kept)
"""By the file or the topic of a log."""


async def entries_in(options: Sequence[str]) -> list[Entry]:
    """Return every record that the log ever had, partition by partition."""
    kept = kept_of[name_of(options)]
    with kept.lock:
        async with opened(options) as log:
            await kept.add_from(log)
        return sorted(kept.entries)


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
