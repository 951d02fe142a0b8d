"""Copies a log to another place, record by record. Each record keeps its offset, so the copy is the same log.

Everything that refers to the log stays valid: positions, cursors, versions, repeated keys, snapshots. The copy of a
trimmed log begins where that log begins. Both sides may be any kind of log; only the header is interpreted.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import NamedTuple

from topicfold.errors import TopicfoldError, WrongLog
from topicfold.log.port import Entry, Log, LogIdentity
from topicfold.progress import Progress, Step
from topicfold.text.counting import counted

BATCH = 1_000
_LOOK_AGAIN_SECONDS = 0.002
_BLANK = b""
"""Fills the offsets of records that were trimmed, until it is deleted too."""


class CopiedSpan(NamedTuple):
    """Where one partition of log and copy begins and ends, and how many of its records were copied just now."""

    partition: int
    start: int
    end: int
    copied: int


async def copy_log(source: Log, identity: LogIdentity, target: Log, progress: Progress) -> Sequence[CopiedSpan]:
    """Copy `source` to `target`, which must be empty or an earlier copy, up to where `source` ends by now.

    `identity` is what `source` states. Records that `target` has already are compared, so running it again continues an
    interrupted copy and shows whether both are the same. Partitions that somebody added to `source`, beyond those in
    `identity`, are left out. A step of `progress` is `BATCH` records, or the rest of a partition.

    Raises:
        WrongLog: `target` is `source` itself; or it is another log, or has another number of partitions; or somebody
            else writes there.
        LogUnavailable, LogGap: one of the two did not answer in time, or refused.
    """
    if target.partitions != identity.partitions:
        raise WrongLog(
            f"the place for the copy has {counted(target.partitions, 'partition')}, and the log has "
            f"{identity.partitions}",
            hint="Name an empty place.",
        )
    if await target.place() == await source.place():
        raise WrongLog("the copy would be the log itself", hint="Name another file, or another topic.")
    starts, ends = await source.start_offsets(), await source.end_offsets()
    partitions = range(identity.partitions)
    for partition in partitions:
        await _require_copy(source, target, partition, starts[partition])
    spans = []
    with progress(sum(math.ceil((ends[each] - starts[each]) / BATCH) for each in partitions)) as step:
        for partition in partitions:
            await _begin(target, partition, starts[partition])
            spans.append(await _copy_partition(source, target, partition, starts[partition], step))
    return spans


async def _require_copy(source: Log, target: Log, partition: int, start: int) -> None:
    """Check that `partition` of `target` is empty, or begins with this log's records (or with blanks for them)."""
    first = await target.read(partition, 0, 1)
    if first and first[0].offset >= start:
        _require_equal(await source.read(partition, start, 1), first)
    elif first and first[0].value != _BLANK:
        raise _other(partition, first[0].offset)


async def _begin(target: Log, partition: int, start: int) -> None:
    """Make `partition` of the copy begin at `start`, because what is below was trimmed."""
    if not start:
        return
    while (end := (await target.end_offsets())[partition]) < start:
        await _append(target, partition, [_BLANK] * min(BATCH, start - end))
    await target.delete_before(partition, start)


async def _copy_partition(source: Log, target: Log, partition: int, start: int, step: Step) -> CopiedSpan:
    offset, copied = start, 0
    while batch := await source.read(partition, offset, BATCH):
        there = await target.read(partition, offset, len(batch))
        if not there:
            await _append(target, partition, [entry.value for entry in batch])
            copied += len(batch)
            there = await target.read(partition, offset, len(batch))
        both = min(len(batch), len(there))
        _require_equal(batch[:both], there[:both])
        offset += both
        if both == len(batch):
            step()
    if (await target.end_offsets())[partition] > offset:
        raise _other(partition, offset)
    return CopiedSpan(partition, start, offset, copied)


async def _append(target: Log, partition: int, values: Sequence[bytes]) -> None:
    """Append `values`, and return once the end of `partition` shows that they have arrived."""
    failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def fail(error: TopicfoldError) -> None:
        if not failed.done():
            failed.set_exception(error)

    end = (await target.end_offsets())[partition] + len(values)
    for value in values:
        target.append(partition, value, fail)
    while True:
        if failed.done():
            failed.result()
        if (await target.end_offsets())[partition] >= end:
            failed.cancel()
            return
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)


def _require_equal(ours: Sequence[Entry], there: Sequence[Entry]) -> None:
    if ours != there:
        differing = next((each.offset for each, other in zip(ours, there, strict=False) if each != other), None)
        raise _other(there[0].partition, there[0].offset if differing is None else differing)


def _other(partition: int, offset: int) -> WrongLog:
    return WrongLog(
        f"what is there is no copy of this log: at offset {offset} of partition {partition} it has another record, or "
        "one too many",
        hint="Name an empty place: another file or another topic. Nothing else may write there meanwhile.",
    )
