"""A process that needs many open files gets as many as it can, or is not started."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from topicfold.process.file_limit import NEEDED_FILES, WANTED_FILES, want_files


def test_a_process_may_have_as_many_files_open_as_the_system_lets_it() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        want_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(before[1], WANTED_FILES)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("command", ["serve --port 0", "enforce --once --cluster-bootstrap 127.0.0.1:1"])
@pytest.mark.parametrize("limit", [12, NEEDED_FILES - 1])
def test_where_too_few_may_be_open_nothing_is_begun_and_the_limit_is_named(
    command: str, limit: int, tmp_path: Path
) -> None:
    python = [sys.executable, "-m", "topicfold", *command.split()]
    ended = subprocess.run(
        ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *python],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"error: this process may have no more than {limit} files open, and needs")
    assert "ulimit -n 65536" in ended.stderr
    assert not list(tmp_path.iterdir())
