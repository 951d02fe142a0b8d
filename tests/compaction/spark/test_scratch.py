"""Where Spark runs: gone with its job, or with the next one where that was killed."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from topicfold.compaction.spark.scratch import own_scratch
from topicfold.errors import BadSetting

PROGRAM = """
import sys
from topicfold.compaction.spark.scratch import own_scratch
print(own_scratch(), flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@contextmanager
def job() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Run a job; gives its process and its directory."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def test_it_goes_with_its_job() -> None:
    with job() as (process, path):
        assert path.is_dir()
        process.communicate(timeout=30)
        assert not path.exists()


def test_what_a_killed_job_left_goes_with_the_next_one_and_what_a_living_one_has_stays() -> None:
    with job() as (_, living), job() as (process, dead):
        (dead / "spark-warehouse").mkdir()
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        assert dead.exists()
        mine = own_scratch()
        assert {path.exists() for path in (mine, living)} == {True}
        assert not dead.exists()


def test_what_may_be_anybodys_stays(temporary: Path) -> None:
    for name in ("topicfold-spark-no-lock", "topicfold-other"):
        (temporary / name).mkdir()
    (temporary / "topicfold-other" / "lock").touch()
    (temporary / "topicfold-spark-link").symlink_to("topicfold-other")
    own_scratch()
    assert {"topicfold-spark-no-lock", "topicfold-other", "topicfold-spark-link"} <= {
        each.name for each in temporary.iterdir()
    }
    assert (temporary / "topicfold-other" / "lock").exists()


def test_where_there_are_no_locks_a_job_runs_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    assert own_scratch().is_dir()
    assert own_scratch().is_dir()


def test_where_no_directory_can_be_written_to_it_is_said_how_to_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(BadSetting, match=r"nowhere to keep files of its own: No usable temporary directory") as refused:
        own_scratch()
    assert "TMPDIR" in refused.value.hint
