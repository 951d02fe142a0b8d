"""The snapshot's age rises where the job has stopped, and not because nothing happens."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.snapshot.making import commit_to
from topicfold.errors import SnapshotUnreadable
from topicfold.log.payload import decode_indexed
from topicfold.runtime.snapshot_age import SnapshotAge
from topicfold.snapshot.commits import put_commit
from topicfold.state.fold import PartitionState

COMMIT = commit_to((3,), time_ms=10_000)


def ready(partition: int) -> bool:
    """Return that a partition is folded up."""
    return True


class Clock:
    """A clock that stands still."""

    now_ms = 15_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def state() -> PartitionState:
    return PartitionState(0, 1, decode=decode_indexed)


@pytest.fixture
def age(tmp_path: Path, state: PartitionState, clock: Clock) -> Callable[[], float | None]:
    """Return what looks once more, and tells the age then."""
    made = SnapshotAge(tmp_path, {0: state}, ready, clock)

    def look() -> float | None:
        made.look(tmp_path)
        return made.seconds

    return look


def test_without_a_snapshot_there_is_no_age(state: PartitionState, clock: Clock) -> None:
    assert SnapshotAge(None, {0: state}, ready, clock).seconds is None


def test_it_is_infinite_before_there_is_a_commit(age: Callable[[], float | None]) -> None:
    assert age() == math.inf


def test_it_is_the_newest_commits_where_the_log_has_more(
    tmp_path: Path, age: Callable[[], float | None], state: PartitionState, clock: Clock
) -> None:
    put_commit(tmp_path, COMMIT)
    put_commit(tmp_path, replace(COMMIT, sequence=2, after=1, time_ms=12_000))
    state.position = 4
    assert age() == 3.0
    clock.now_ms += 60_000
    assert age() == 63.0


def test_it_does_not_rise_while_the_snapshot_lacks_nothing(
    tmp_path: Path, age: Callable[[], float | None], state: PartitionState, clock: Clock
) -> None:
    put_commit(tmp_path, COMMIT)
    state.position = 3
    assert age() == 0.0
    clock.now_ms += 60_000
    assert age() == 0.0
    state.position = 4
    clock.now_ms += 30_000
    assert age() == 30.0


def test_it_rises_after_a_clock_that_was_ahead_is_put_right(
    tmp_path: Path, age: Callable[[], float | None], state: PartitionState, clock: Clock
) -> None:
    put_commit(tmp_path, COMMIT)
    state.position = 3
    clock.now_ms += 3_600_000
    assert age() == 0.0
    clock.now_ms -= 3_600_000
    state.position = 4
    assert age() == 0.0
    clock.now_ms += 30_000
    assert age() == 30.0


def test_it_rises_while_the_directory_cannot_be_read(tmp_path: Path, state: PartitionState, clock: Clock) -> None:
    put_commit(tmp_path, COMMIT)
    made = SnapshotAge(tmp_path, {0: state}, ready, clock)
    made.look(tmp_path)
    (tmp_path / "manifests").rename(tmp_path / "away")
    (tmp_path / "manifests").touch()
    with pytest.raises(SnapshotUnreadable):
        made.look(tmp_path)
    clock.now_ms += 60_000
    assert made.seconds == 60.0


def test_a_node_that_starts_from_it_does_not_take_it_for_all_there_is(
    tmp_path: Path, state: PartitionState, clock: Clock
) -> None:
    put_commit(tmp_path, COMMIT)
    state.position = 3
    made = SnapshotAge(tmp_path, {0: state}, lambda partition: False, clock)
    made.look(tmp_path)
    assert made.seconds == 5.0
