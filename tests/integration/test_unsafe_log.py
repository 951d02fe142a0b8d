"""A log topic whose settings would lose events is refused, with the command that repairs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.integration.node import Node

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize(
    "unsafe",
    [{"cleanup.policy": "compact", "retention.ms": "1000"}, {"retention.ms": "604800000"}, {"retention.bytes": "1000"}],
    ids=str,
)
def test_an_unsafe_topic_is_refused_with_the_commands_that_repair_it(
    kafka_bootstrap: str, fresh_topic: Callable[[], str], tmp_path: Path, unsafe: dict[str, str]
) -> None:
    topic = fresh_topic()
    safe = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
    admin = AdminClient({"bootstrap.servers": kafka_bootstrap})
    for future in admin.create_topics([NewTopic(topic, 8, 1, config={**safe, **unsafe})]).values():
        future.result(10)
    node = Node(["--kafka", kafka_bootstrap, "--kafka-topic", topic], tmp_path / "node.log")
    node.launch()
    assert node.process is not None
    assert node.process.wait(20) != 0
    said = node.output.read_text()
    assert f"--entity-name {topic}" in said
    for setting, value in unsafe.items():
        assert f"{setting} is {value}, it must be {safe[setting]}" in said
        assert f"--add-config {setting}={safe[setting]}" in said
    assert "Traceback" not in said
