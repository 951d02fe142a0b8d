from __future__ import annotations

from pathlib import Path

from topicfold.compaction.checkpoint import own_checkpoint


def test_jobs_that_run_at_once_have_checkpoints_of_their_own(tmp_path: Path) -> None:
    with own_checkpoint(tmp_path, "log") as first, own_checkpoint(tmp_path, "log") as second:
        assert (first.name, second.name) == ("log", "log-2")
    with own_checkpoint(tmp_path, "log") as next_one:
        assert next_one == first
