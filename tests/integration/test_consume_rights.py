"""`topicfold consume` where Kafka does not allow it everything: it names what it lacks, and goes on once it has it."""

from __future__ import annotations

import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation
from confluent_kafka.admin._resource import ResourceType

from tests.brokers.guarded import GuardedKafka
from tests.integration.consuming import Topics
from tests.integration.node import running
from topicfold.client import Client

pytestmark = pytest.mark.kafka


def test_each_right_that_is_missing_comes_with_the_command_that_grants_it(
    guarded: GuardedKafka, tmp_path: Path
) -> None:
    topics, name = Topics(guarded.bootstrap), f"orders-{uuid.uuid4().hex}"
    topics.make(name, partitions=1)
    topics.produce(name, "one")
    guarded.allow(name, AclOperation.DESCRIBE)
    pairs = [word for key, value in guarded.settings().items() for word in ("--kafka-setting", f"{key}={value}")]
    to_kafka = ["--bootstrap", guarded.guarded_bootstrap, *pairs, "--group", name]
    allow = f"kafka-acls.sh --bootstrap-server {guarded.guarded_bootstrap} --add --allow-principal User:NAME"
    with running(["--log", str(tmp_path / "log.db")], tmp_path) as (node,), Client(node.url) as client:
        client.create_topic(name, labels={"team": "pay"})
        words = ["consume", "-l", "team=pay", "--url", node.url, *to_kafka, "--max", "1"]
        pipe = subprocess.PIPE
        command = [sys.executable, "-m", "topicfold", *words]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True) as consuming:
            assert consuming.stderr
            assert consuming.stdout
            try:
                assert any(f"{allow} --operation Read --group {name}" in line for line in consuming.stderr)
                guarded.allow(name, AclOperation.READ, kind=ResourceType.GROUP)
                assert any(f"{allow} --operation Read --topic {name}" in line for line in consuming.stderr)
                guarded.allow(name, AclOperation.READ)
                assert consuming.stdout.readline() == f"{name}  one\n"
                assert consuming.wait(60) == 0
            finally:
                consuming.kill()
