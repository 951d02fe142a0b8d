"""Copying a log to another place, record by record: each is at the same offset there, so it is the same log.

Whatever names it goes on: positions, cursors, versions, repeated keys, snapshots. Of a log that was trimmed the copy
begins where that does. Both sides are any log; nothing is interpreted but the header.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from topicfold.errors import TopicfoldError, WrongLog
from topicfold.log.port import Entry, Log, LogIdentity

BATCH = 1_000
_LOOK_AGAIN_SECONDS = 0.002
_BLANK = b""
"""Stands at the offsets of records that are gone, until it is deleted, too."""

Step = Callable[[], None]
Progress = Callable[[int], AbstractContextManager[Step]]
"""Takes how many steps there are, of `BATCH` records or the rest of a partition; gives what is called after each."""


class CopiedSpan(NamedTuple):
    """Of one partition: where log and copy begin and end, and how many of the records were not there yet."""

    partition: int
    start: int
    end: int
    copied: int


async def copy_log(source: Log, identity: LogIdentity, target: Log, progress: Progress) -> Sequence[CopiedSpan]:
    """Make `target`, which is empty or an earlier copy, hold what `source`, which states `identity`, holds by now.

    What is there already is compared, so doing it again goes on where it was interrupted, and tells whether both are
    the same. Partitions of `source` beyond those that it states are left out: somebody added them.

    Raises:
        WrongLog: `target` is in the very place of `source`; or it is another log, or has another number of partitions;
            or somebody else writes there.
        LogUnavailable, LogGap: one of both did not answer in time, or does not take this.
    """
    if target.partitions != identity.partitions:
        raise WrongLog(
            f"there are {target.partitions} partitions where the copy is to be, and the log has {identity.partitions}",
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
    """Return if nothing in `partition` speaks against going on there: it is empty, or what it begins with is ours."""
    first = await target.read(partition, 0, 1)
    if first and first[0].offset >= start:
        _require_equal(await source.read(partition, start, 1), first)
    elif first and first[0].value != _BLANK:
        raise _other(partition, first[0].offset)


async def _begin(target: Log, partition: int, start: int) -> None:
    """Have `partition` of the copy begin at `start`: what is below was trimmed."""
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
    """Append `values`, and return once the end of `partition` says that they are there."""
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
        f"at offset {offset} of partition {partition} the copy has another record than the log, or one too many",
        hint="Name an empty place: another file, another topic. Nothing else may write there meanwhile.",
    )
