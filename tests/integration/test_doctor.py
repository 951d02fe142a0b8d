"""Nodes as processes compare their states by themselves, on either log, and doctor tells of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests import plain_http
from tests.integration.node import Node, running

PARTITION = 3
TOPIC = "/admin/v2/persistent/public/default/orders"


def diagnosis(node: Node) -> dict[str, Any]:
    """Return what a node finds out about itself."""
    found: dict[str, Any] = plain_http.get(f"{node.url}/api/v1/doctor", timeout=10).json()
    return found


def test_a_change_is_compared_by_the_other_node_and_then_the_log_is_quiet(
    log_options: Sequence[str], tmp_path: Path
) -> None:
    with running(log_options, tmp_path, 2, settings={"digest_within_seconds": "0.2"}) as nodes:
        plain_http.put(nodes[0].url + TOPIC, timeout=10).raise_for_status()
        deadline = time.monotonic() + 60
        names = {diagnosis(node)["node"] for node in nodes}
        compared: list[dict[str, Any]] = []
        while not compared:
            assert time.monotonic() < deadline, "nobody compared anything"
            told = [diagnosis(node)["partitions"][PARTITION] for node in nodes]
            compared = [each["compared"] for each in told if each["compared"] and each["topics"]]
        assert all(each["equal"] and each["node"] in names for each in compared)
        time.sleep(1.5)
        before = [each["position"] for each in diagnosis(nodes[0])["partitions"]]
        time.sleep(1.5)
        assert [each["position"] for each in diagnosis(nodes[0])["partitions"]] == before
        problems = [problem["what"] for node in nodes for problem in diagnosis(node)["problems"]]
        # A log on one broker has settings to complain of.
        assert [each for each in problems if "the log's" not in each] == []
