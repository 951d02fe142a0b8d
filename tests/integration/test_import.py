"""The topics of a real cluster get records; nothing in the cluster changes."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests import plain_http
from tests.integration.command import topicfold
from tests.integration.node import Node, running

pytestmark = pytest.mark.kafka


def test_an_import_makes_records_changes_nothing_and_tells_what_is_new_and_gone(
    kafka_bootstrap: str, tmp_path: Path
) -> None:
    mark = uuid.uuid4().hex[:8]
    admin = AdminClient({"bootstrap.servers": kafka_bootstrap})
    _make(admin, {f"{mark}-plain": 1, f"acme{mark}..pay..orders": 3, f"{mark}..odd": 1, f"__{mark}-internal": 1})
    before = _cluster(admin, mark)
    assert len(before) == 4
    with running(["--log", str(tmp_path / "log.db")], tmp_path) as (node,):
        _import(node, kafka_bootstrap)
        found = _records(node, f"acme{mark}/pay") | _records(node, "public/default")
        assert found[f"persistent://public/default/{mark}-plain"] == {"partitions": 0, "kafkaName": None}
        assert found[f"persistent://acme{mark}/pay/orders"] == {"partitions": 3, "kafkaName": None}
        assert f"{mark}..odd" in {record["kafkaName"] for record in found.values()}
        assert not [name for name in found if f"{mark}-internal" in name]
        assert _cluster(admin, mark) == before
        for future in admin.delete_topics([f"{mark}-plain"]).values():
            future.result(20)
        _make(admin, {f"{mark}-late": 1})
        said = _import(node, kafka_bootstrap)
        assert f"{mark}-late" in said
        assert f"persistent://public/default/{mark}-plain" in said
        assert f"persistent://public/default/{mark}-plain" in _records(node, "public/default")


def _make(admin: AdminClient, partitions: dict[str, int]) -> None:
    for future in admin.create_topics([NewTopic(name, count, 1) for name, count in partitions.items()]).values():
        future.result(20)


def _cluster(admin: AdminClient, mark: str) -> dict[str, int]:
    """Return the number of partitions of each topic with `mark` in its name; other tests make others all the while."""
    topics = admin.list_topics(timeout=10).topics
    return {name: len(topic.partitions) for name, topic in topics.items() if mark in name}


def _import(node: Node, bootstrap: str) -> str:
    """Run the import and return all that it says."""
    done = topicfold("import", "kafka", "--bootstrap", bootstrap, TOPICFOLD_URL=node.url)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def _records(node: Node, namespace: str) -> dict[str, dict[str, Any]]:
    answer = plain_http.get(f"{node.url}/api/v1/topics", params={"namespace": namespace}, timeout=10).json()
    return {item["name"]: {key: item.get(key) for key in ("partitions", "kafkaName")} for item in answer["items"]}
