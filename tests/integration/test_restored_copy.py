"""A log in a file that was put back from a copy, for clients who know it from after the copy."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests import plain_http
from tests.integration.command import topicfold
from tests.integration.node import Node

ADMIN = "/admin/v2/persistent/public/default"
WATCH = "/api/v1/watch?namespace=public/default"


def write(node: Node, *topics: str) -> None:
    for topic in topics:
        plain_http.put(f"{node.url}{ADMIN}/{topic}").raise_for_status()


def followed(node: Node, since: str) -> list[str]:
    """Return the kinds of the frames that a watch is sent within a second, names in the place of ADDED."""
    frames = plain_http.get(f"{node.url}{WATCH}&since={since}&timeoutSeconds=1", timeout=20).text.splitlines()
    told = [json.loads(line.removeprefix("data: ")) for line in frames if line.startswith("data: ")]
    return [frame["topic"]["name"].rpartition("/")[2] if "topic" in frame else frame["type"] for frame in told]


def test_a_watch_from_after_the_copy_begins_anew_on_the_log_that_was_renewed(tmp_path: Path) -> None:
    path, copy = tmp_path / "log.db", tmp_path / "copy.db"
    node = Node(["--log", str(path)], tmp_path / "output", {"digest_within_seconds": "0"})
    node.start()
    try:
        write(node, "kept")
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("VACUUM INTO ?", (str(copy),))
        write(node, "lost")
        listed = plain_http.get(f"{node.url}/api/v1/topics?namespace=public/default")
        node.stop()
        copy.replace(path)
        assert topicfold("renew", "--log", str(path)).returncode == 0
        node.start()
        write(node, "first", "second")
        frames = followed(node, listed.headers["x-log-position"])
    finally:
        node.kill()
    assert (frames[0], set(frames[1:4])) == ("RESET", {"first", "kept", "second"})
