"""`topicfold serve --snapshot`: nobody can tell a node that goes on from a snapshot from one that folded everything."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests import plain_http
from tests.integration.command import topicfold
from tests.integration.node import agree, running
from tests.integration.topics import TOPICS, create, watched
from tests.integration.trims import compact

pytestmark = pytest.mark.usefixtures("untrimmed")


def changes(frames: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Return `frames` but for bookmarks, of which there is one more where a digest is logged meanwhile."""
    return [frame for frame in frames if frame["type"] != "BOOKMARK"]


def test_a_node_that_starts_from_a_snapshot_agrees_with_one_that_does_not(
    log_options: Sequence[str], tmp_path: Path
) -> None:
    snapshot = tmp_path / "snapshot"
    with running(log_options, tmp_path, 1) as (folding,):
        create(folding, "a")
        cursor = str(watched(folding)[-1]["cursor"])
        create(folding, "b")
        asyncio.run(compact(log_options, snapshot))
        create(folding, "c")
        with running([*log_options, "--snapshot", str(snapshot)], snapshot, 1) as (loading,):
            assert agree([loading, folding])
            create(loading, "d")
            assert sorted(plain_http.get(loading.url + TOPICS, timeout=10).json()) == sorted(
                f"persistent://public/default/{name}" for name in "abcd"
            )
            mine, theirs = changes(watched(loading, cursor)), changes(watched(folding, cursor))
            assert mine == theirs
            assert len(mine) > 3
            assert "snapshot_loaded" in loading.output.read_text()


def test_the_snapshot_of_another_log_keeps_a_node_from_starting(log_options: Sequence[str], tmp_path: Path) -> None:
    snapshot = tmp_path / "snapshot"
    with running(log_options, tmp_path, 1) as (node,):
        create(node, "a")
        asyncio.run(compact(log_options, snapshot))
    (tmp_path / "elsewhere").mkdir()
    with running(["--log", str(tmp_path / "other.db")], tmp_path / "elsewhere", 1):
        pass
    other = ["--log", str(tmp_path / "other.db"), "--snapshot", str(snapshot), "--port", "0"]
    run = topicfold("serve", *other)
    assert run.returncode == 1
    assert "error: the snapshot is of the log" in run.stderr
    assert "hint: " in run.stderr
    assert "Traceback" not in run.stderr
