"""Logs that are compacted without Spark, batch by batch, to be trimmed then."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.compaction.logs import append, random_values
from tests.memory_log import MemoryLog, MemoryStore
from tests.runtime.nodes import ORDERS, running
from tests.snapshot.making import compacted_further
from topicfold.compaction.delta.vacuum import vacuum
from topicfold.compaction.trim import Plan, Trimming, trim
from topicfold.log.identity import recognise_identity
from topicfold.model.records import TopicRecord
from topicfold.settings import Settings
from topicfold.snapshot.commits import Commit, commit_path, put_commit
from topicfold.starting import open_log

BATCH = 40


def grow(settings: Settings, root: Path, batches: int = 3) -> None:
    """Write a log in batches, and a commit after each."""
    values = random_values(1, BATCH * batches)
    for number in range(batches):
        append(settings, values[number * BATCH : (number + 1) * BATCH])
        compact(settings, root)


def compact(settings: Settings, root: Path) -> Commit:
    return asyncio.run(_compact(settings, root))


async def _compact(settings: Settings, root: Path) -> Commit:
    log = await open_log(settings)
    try:
        return await compacted_further(log, root)
    finally:
        await log.close()


def bounds(settings: Settings) -> tuple[Mapping[int, int], Mapping[int, int]]:
    """Return where the log begins and ends."""
    return asyncio.run(_bounds(settings))


async def _bounds(settings: Settings) -> tuple[Mapping[int, int], Mapping[int, int]]:
    log = await open_log(settings)
    try:
        return await log.start_offsets(), await log.end_offsets()
    finally:
        await log.close()


def trimmed(settings: Settings, root: Path, grace_seconds: float = 0, *, only_plans: bool = False) -> Plan:
    return trim(settings, root, grace_seconds, lambda text: None, only_plans=only_plans)


async def aged(store: MemoryStore, root: Path, commits: int = 3) -> None:
    """Write a log with so many commits, of which the first was made in the second 1, and so on."""
    async with running(store) as node:
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
    await aged_further(store, root, commits)


async def aged_further(store: MemoryStore, root: Path, commits: int) -> None:
    """Write more, with so many commits."""
    async with running(store, snapshot=root) as node:
        for _ in range(commits):
            for label in range(10):
                await node.label(k=f"{len(store.entries[0])}-{label}")
            commit = await compacted_further(node.log, root)
            commit_path(root, commit.sequence).unlink()
            put_commit(root, replace(commit, time_ms=commit.sequence * 1_000))


async def trim_and_vacuum(trimming: Trimming, root: Path, until_ms: int) -> None:
    """Trim to commits that old, then delete all files that need not stay."""
    await trimming.carry_out(await trimming.plan(until_ms))
    vacuum(root, keep=2, min_age_seconds=-1)


async def trimming_of(store: MemoryStore, root: Path) -> Trimming:
    log = MemoryLog(store)
    return Trimming(log, await recognise_identity(log), root, Settings(), lambda text: None)
