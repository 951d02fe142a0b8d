"""I1, S1: at every position a node has the same state, from the log's beginning or from any snapshot and its tail."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.folds import index_of
from tests.compaction.logs import PARTITION, append, random_values, settings_of
from tests.snapshot.loaded import rows_of
from tests.snapshot.making import compacted
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.settings import Settings
from topicfold.starting import open_log
from topicfold.state.fold import PartitionState
from topicfold.state.invariants import check

LENGTH = 160


@pytest.fixture
def settings(log_place: Mapping[str, Any]) -> Settings:
    """A log of two partitions that is not made yet."""
    return settings_of(**log_place)


def started(settings: Settings, snapshot: Path | None = None) -> list[PartitionState]:
    """Return what a node has that starts on the log, by partition."""
    return asyncio.run(_started(settings, snapshot))


async def _started(settings: Settings, snapshot: Path | None) -> list[PartitionState]:
    options = EngineOptions(snapshot=snapshot, digest_within_seconds=0)
    engine = await Engine.start(await open_log(settings), options)
    try:
        await engine.readiness.wait(engine.states, 30)
        return list(engine.states.values())
    finally:
        await engine.stop()


async def snapshot_at(settings: Settings, root: Path, cuts: list[int]) -> None:
    """Make a snapshot with a commit at each of `cuts`, and none after them."""
    log = await open_log(settings)
    try:
        ends = {0: 1}
        *before, last = ({**ends, PARTITION: cut} for cut in cuts)
        await compacted(log, root, *before, until=last)
    finally:
        await log.close()


@pytest.mark.parametrize("seed", range(4))
def test_a_snapshot_at_any_position_and_its_tail_are_the_whole_log(
    settings: Settings, tmp_path: Path, seed: int
) -> None:
    append(settings, random_values(seed, LENGTH))
    cuts = sorted(random.Random(seed).sample(range(1, LENGTH), 3))
    asyncio.run(snapshot_at(settings, tmp_path / "snapshot", cuts))
    # The first node that starts adds to the log.
    started(settings)
    folded, loaded = started(settings), started(settings, tmp_path / "snapshot")
    for one, other in zip(loaded, folded, strict=True):
        assert check(one) == []
        assert (one.position, one.level, one.digest()) == (other.position, other.level, other.digest())
        assert (one.tenants, one.namespaces) == (other.tenants, other.namespaces)
        assert rows_of(one) == rows_of(other)
        assert index_of(one) == index_of(other)
