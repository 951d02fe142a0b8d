"""What snapshots' tables say, and small snapshots of several commits."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.compaction.folds import Placed, index_of, run_here
from tests.compaction.job_process import IDENTITY, batches
from topicfold.compaction import compactor
from topicfold.compaction.compactor import Compactor
from topicfold.snapshot.commits import read_commit, sequences
from topicfold.state.fold import PartitionState


def rows(root: Path, table: str) -> list[dict[str, Any]]:
    """Return what everybody else sees of a table: through Delta, not through our commits."""
    return DeltaTable(str(root / table)).to_pyarrow_table().to_pylist()


def whole(root: Path) -> Mapping[str, Any]:
    """Return what the tables say, whatever commits it came in."""
    topics = sorted(rows(root, "topics") + rows(root, "topics_tail"), key=lambda row: row["offset"])
    newest = {(row["kind"], row["name"]): row for row in topics}
    commits = rows(root, "commits")
    return {
        "topics": [newest[each] for each in sorted(newest) if not newest[each]["gone"]],
        "history": sorted(without(rows(root, "history"), "sequence"), key=lambda row: row["offset"]),
        "diffs": sorted(map(str, without(rows(root, "label_index_diffs"), "sequence"))),
        "rings": sorted(map(str, rows(root, "rings"))),
        "namespaces": rows(root, "namespaces"),
        "end": max((row["to"], row["digests"]) for row in commits),
        "chain": sorted((row["from"], row["to"]) for row in commits)[0][0],
    }


def without(found: list[dict[str, Any]], column: str) -> list[dict[str, Any]]:
    """Return rows without a column."""
    return [{name: value for name, value in row.items() if name != column} for row in found]


def three_unpublished(root: Path) -> None:
    """Make three commits that are published nowhere yet, as by a job that ended in between."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compactor, "publish", lambda root, commit: ())
        three_commits(root)


def three_commits(root: Path) -> list[list[Placed]]:
    """Make three commits; return all batches behind the first."""
    first, *others = batches(cuts=1)
    job = Compactor(root, IDENTITY)
    for each in (first, *others[:2]):
        job.take(run_here(each), slices=2)
    job.close()
    return others


def require_equal(root: Path, states: Sequence[PartitionState]) -> None:
    """Require that the newest commit is the engine's state, and the tables say so to everybody."""
    commit = read_commit(root, sequences(root)[0])
    assert commit.digests == tuple(state.digest().hex() for state in states)
    assert commit.to == tuple(state.position for state in states)
    index = sum((index_of(state) for state in states), start=index_of(states[0]) - index_of(states[0]))
    found = {(r["namespace"], r["key"], r["value"], topic) for r in rows(root, "label_index") for topic in r["topics"]}
    assert found == set(index)


def make_old(root: Path) -> None:
    """Have all that lies in a snapshot be written long ago."""
    for path in root.rglob("*.*"):
        os.utime(path, (0, 0))
