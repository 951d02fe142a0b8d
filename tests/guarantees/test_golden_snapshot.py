"""A snapshot that an early version left is gone on from by every later one, by nodes and by the job.

`golden/snapshot.zip` holds two commits of the first 900 records of the recorded log, made by the job of 2026-11-21, and
is never made anew: should this fail, tables have changed their meaning. Raise the format instead, and read both.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.builders import empty_state
from tests.compaction.folds import Placed, run_here
from tests.golden.replay import recorded
from tests.state.histories import PARTITION, PARTITIONS
from topicfold.compaction.compactor import Compactor
from topicfold.log.codec import decode_event
from topicfold.log.port import LogIdentity
from topicfold.model.events import HASH_NAME
from topicfold.snapshot.commits import commit_path
from topicfold.snapshot.loading import load
from topicfold.state.fold import PartitionState
from topicfold.state.invariants import check

INCARNATION = bytes(16)
SNAPSHOT = Path(__file__).parents[1] / "golden" / "snapshot.zip"
END = 900


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with zipfile.ZipFile(SNAPSHOT) as packed:
        packed.extractall(tmp_path)
    return tmp_path


def new_state(partition: int) -> PartitionState:
    return empty_state(partition, PARTITIONS)


def folded(values: list[bytes], state: PartitionState) -> PartitionState:
    """Return the state once these records are folded on."""
    for value in values:
        state.apply(state.position, decode_event(value))
    return state


@pytest.mark.parametrize("given_up", [(), (2,)], ids=["newest", "one before"])
def test_a_node_goes_on_from_it(root: Path, given_up: tuple[int, ...]) -> None:
    for sequence in given_up:
        commit_path(root, sequence).write_bytes(b"{}")
    found = load(root, INCARNATION, PARTITIONS, new_state)
    assert found is not None
    state = found.states[PARTITION]
    assert state.position == (600 if given_up else END)
    for values in (recorded()[:END], recorded()):
        folded(values[state.position :], state)
        assert state.digest() == folded(values, new_state(PARTITION)).digest()
        assert check(state) == []


def test_the_job_goes_on_from_it(root: Path) -> None:
    job = Compactor(root, LogIdentity(INCARNATION, PARTITIONS, HASH_NAME))
    values = [Placed(PARTITION, offset, value) for offset, value in enumerate(recorded())]
    try:
        done = job.take(run_here(values[END:]), slices=2)
    finally:
        job.close()
    assert done is not None
    assert done.commit.digests[PARTITION] == folded(recorded(), new_state(PARTITION)).digest().hex()
