"""A namespace's past on a real broker: its history, a rollback, and a file of what it said before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.integration.command import topicfold
from tests.integration.node import running
from topicfold.client import Client

SPACE = "public/default"
WEEK = {"retentionTimeInMinutes": 10_080, "retentionSizeInMB": -1}
HOUR = {**WEEK, "retentionTimeInMinutes": 60}


@pytest.mark.kafka
def test_a_retention_set_by_mistake_is_found_and_undone_one_way_or_the_other(
    kafka_bootstrap: str, fresh_topic: Callable[[], str], tmp_path: Path
) -> None:
    options = ["--kafka", kafka_bootstrap, "--kafka-topic", fresh_topic()]
    file = tmp_path / "space.yaml"
    with running(options, tmp_path) as (node,), Client(node.url) as client:
        client.set_namespace_policy(SPACE, "retentionPolicies", WEEK, reason="agreed")
        good = client.namespace_history(SPACE).entries[0]
        client.set_namespace_policy(SPACE, "retentionPolicies", HOUR, reason="oops")
        wrong = client.namespace_history(SPACE).entries[0]
        assert [(each.made_by[0].reason, each.changes[0].new) for each in (wrong, good) if each.changes] == [
            ("oops", 60), ("agreed", -1),
        ]  # fmt: skip
        then = ("--at", good.position, "-f", str(file), "--url", node.url)
        assert topicfold("policies", "export", SPACE, *then).returncode == 0
        (entry,) = yaml.safe_load(file.read_text())["namespaces"]
        assert entry == {"name": SPACE, "properties": {}, "policies": {"retentionPolicies": WEEK}}
        applied = topicfold("policies", "apply", "-f", str(file), "--url", node.url)
        assert (applied.returncode, "60 → 10080" in applied.stdout) == (0, True), applied.stderr
        assert client.get_namespace_record(SPACE).policies == {"retentionPolicies": WEEK}
        client.roll_back_namespace(SPACE, wrong.offset)
        assert client.get_namespace_policy(SPACE, "retentionPolicies") == HOUR
        client.roll_back_namespace(SPACE, good.etag)
        assert client.get_namespace_policy(SPACE, "retentionPolicies") == WEEK
