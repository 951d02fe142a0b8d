"""The examples of `docs/recovery.md`: what was a mistake is undone as it shows, and a lost file is had from a node."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.integration.node import Node, running
from tests.markdown import code_blocks
from tests.plain_http import get, put

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "recovery.md").read_text()
ADMIN = "/admin/v2/persistent/public/default"


def run(script: str, environment: Mapping[str, str], path: Path) -> str:
    """Run commands in a shell; return what they print."""
    ran = subprocess.run(
        ["sh", "-c", script], env=environment, cwd=path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    return ran.stdout.strip()


def test_a_change_of_many_topics_is_undone_as_the_document_shows(tmp_path: Path, environment: dict[str, str]) -> None:
    with running(["--log", str(tmp_path / "log.db")], tmp_path) as (node,):
        environment["TOPICFOLD_URL"] = node.url
        (script,) = code_blocks(DOCUMENT, "sh")
        environment["THEN"] = run(f"set -e\n{script}\necho $THEN", environment, tmp_path).splitlines()[-1]
        (console,) = code_blocks(DOCUMENT, "console")
        for each in f"\n{console}".split("\n$ ")[1:]:
            command, _, shown = each.partition("\n")
            assert run(command, environment, tmp_path) == shown.strip()


def test_a_log_that_was_copied_is_served_as_the_same_one(tmp_path: Path, environment: dict[str, str]) -> None:
    path, copy = tmp_path / "topicfold.db", tmp_path / "copy.db"
    with running(["--log", str(path)], tmp_path) as (node,):
        put(f"{node.url}{ADMIN}/orders").raise_for_status()
        before = get(f"{node.url}/api/v1/topics/public/default/orders")
    run(f"topicfold copy --log {path} --to-log {copy}", environment, tmp_path)
    with running(["--log", str(copy)], tmp_path) as (node,):
        known = {"X-Min-Position": before.headers["x-log-position"]}
        after = get(f"{node.url}/api/v1/topics/public/default/orders", headers=known)
    assert (after.status_code, after.headers["etag"]) == (200, before.headers["etag"])


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="what a process has open is shown by Linux alone")
def test_a_log_whose_file_was_deleted_is_saved_from_a_node_that_runs(tmp_path: Path) -> None:
    path = tmp_path / "topicfold.db"
    node = Node(["--log", str(path)], tmp_path / "output", {"digest_within_seconds": "0"})
    node.start()
    try:
        for number in range(20):
            put(f"{node.url}{ADMIN}/t{number}").raise_for_status()
        path.unlink()
        opened = {}
        for each in Path(f"/proc/{node.process.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                opened[each] = os.readlink(each)
        for end in ("", "-wal"):
            (number, _) = next(each for each in opened.items() if re.fullmatch(rf"{path}{end}( \(deleted\))?", each[1]))
            shutil.copyfile(number, tmp_path / f"saved.db{end}")
        node.stop()
        for end in ("-wal", "-shm"):
            path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
        for end in ("", "-wal"):
            (tmp_path / f"saved.db{end}").rename(path.with_name(f"{path.name}{end}"))
        node.start()
        assert len(get(f"{node.url}{ADMIN}").json()) == 20
    finally:
        node.kill()
