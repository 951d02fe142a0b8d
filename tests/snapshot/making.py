"""Snapshots for tests, made without Spark: logs folded in batches by the job's own slices, in this process."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.compaction.folds import Placed, Tables, run_here
from tests.memory_log import MemoryLog, MemoryStore
from topicfold.compaction.compactor import Compactor
from topicfold.log.codec import decode_event, encode_event
from topicfold.log.identity import recognise_identity
from topicfold.log.port import Log
from topicfold.snapshot.commits import (
    Commit,
)


async def records_of(log: Log, until: Mapping[int, int] | None = None) -> list[Placed]:
    """Return all records of `log`, or those below the positions `until`."""
    found: list[Placed] = []
    for partition, start in (await log.start_offsets()).items():
        offset = start
        end = (until or {}).get(partition, (await log.end_offsets())[partition])
        while offset < end and (batch := await log.read(partition, offset, min(1_000, end - offset))):
            found += [Placed(*entry) for entry in batch]
            offset = batch[-1].offset + 1
    return found


async def compacted(log: Log, root: Path, *cuts: Mapping[int, int], until: Mapping[int, int] | None = None) -> Tables:
    """Bring a snapshot of `log` up to each of `cuts` in turn, and then to `until` or the log's end."""
    identity = await recognise_identity(log)
    tables = Tables(root, identity.partitions, identity.incarnation)
    for each in (*cuts, until):
        tables.take(await records_of(log, each))
    return tables


async def compacted_further(log: Log, root: Path, until: Mapping[int, int] | None = None) -> Commit:
    """Bring the snapshot at `root`, if there is one, up to `until` or the log's end; return the newest commit."""
    identity, log_start = await recognise_identity(log), await log.start_offsets()
    job = Compactor(root, identity, log_start=[start for _, start in sorted(log_start.items())])
    try:
        starts = job.base.start
        new = [each for each in await records_of(log, until) if each.offset >= starts[each.partition]]
        done = job.take(run_here(new), slices=2)
        assert job.base.commit is not None
        return done.commit if done else job.base.commit
    finally:
        job.close()


async def miscompacted(store: MemoryStore, root: Path, old: bytes, new: bytes) -> Commit:
    """Put a commit at `root` that is whole and wrong: whoever folded it read `new` for `old` in each payload."""
    misread = MemoryStore(len(store.entries))
    for entries in store.entries:
        for partition, _, value in entries:
            event = decode_event(value)
            if event is not None and old in event.payload:
                value = encode_event(event._replace(payload=event.payload.replace(old, new)))
            misread.append(partition, value)
    return await compacted_further(MemoryLog(misread), root)


def refused_at(place: Path) -> Callable[[Path], list[str]]:
    """Return what lists directories as `os.listdir` does, but for the one at `place`, which may not be read."""
    listed = os.listdir

    def refused(path: Path) -> list[str]:
        if path == place:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return listed(path)

    return refused


COUNTS = {"topics": 1, "records": 1, "namespaces": 1, "tenants": 1, "history": 3}
COMMIT = Commit(1, 0, "genesis", "ab" * 16, 2, (0, 0), (3, 4), (1, 1), ("00", "11"), COUNTS, (), (), 1, 1000)


def commit_to(to: Sequence[int], **fields: Any) -> Commit:
    """Return a commit of a log with as many partitions, up to these positions."""
    each = len(to)
    start, levels, digests = (0,) * each, (1,) * each, ("00",) * each
    return replace(COMMIT, partitions=each, from_=start, to=tuple(to), levels=levels, digests=digests, **fields)
