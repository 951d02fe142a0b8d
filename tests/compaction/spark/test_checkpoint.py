from __future__ import annotations

from pathlib import Path

from topicfold.compaction.spark.checkpoint import own_checkpoint


def test_jobs_that_run_at_once_have_checkpoints_of_their_own(tmp_path: Path) -> None:
    with own_checkpoint(tmp_path, "log") as first, own_checkpoint(tmp_path, "log") as second:
        assert (first.name, second.name) == ("log", "log-2")
    with own_checkpoint(tmp_path, "log") as next_one:
        assert next_one == first


def test_a_job_begins_with_an_empty_checkpoint_and_leaves_those_of_others(tmp_path: Path) -> None:
    def plan(path: Path) -> Path:
        (path / "offsets").mkdir(parents=True)
        return path

    with own_checkpoint(tmp_path, "log") as path:
        before = plan(path)
    with own_checkpoint(tmp_path, "other") as path:
        of_another_log = plan(path)
    with own_checkpoint(tmp_path, "log") as path:
        assert path == before
        assert not path.exists()
        plan(path)
        with own_checkpoint(tmp_path, "log") as of_another_job:
            assert path.exists()
            plan(of_another_job)
    assert of_another_log.exists()
