"""A node on a log that it is not allowed everything on: each right that it lacks is named, and how to give it."""

from __future__ import annotations

import uuid
from pathlib import Path

import httpx2
import pytest
from confluent_kafka.admin import AclOperation

from tests import plain_http
from tests.brokers.guarded import GuardedKafka, documented
from tests.client.waiting import eventually
from tests.integration.node import Node, running

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
TOPICS = "/admin/v2/persistent/public/default"
SECONDS = 30.0


def as_ann(guarded: GuardedKafka, log: str) -> list[str]:
    """Return the options of a node that comes as `ann`."""
    pairs = [word for key, value in guarded.settings().items() for word in ("--kafka-setting", f"{key}={value}")]
    return ["--kafka", guarded.guarded_bootstrap, "--kafka-topic", log, "--adopt-only", *pairs]


def what_allows(operation: str, log: str, guarded: GuardedKafka) -> str:
    """Return the command that gives a right on the log."""
    acls = f"kafka-acls.sh --bootstrap-server {guarded.guarded_bootstrap} --add --allow-principal User:NAME"
    return f"{acls} --operation {operation} --topic {log}"


def test_a_node_that_is_to_make_its_log_says_of_each_right_that_it_lacks_how_to_give_it(
    guarded: GuardedKafka, tmp_path: Path
) -> None:
    log = f"t-{uuid.uuid4().hex}"
    for operation in ("Describe", "Create", "Write", "Read"):
        node = Node(as_ann(guarded, log), tmp_path / f"{operation}.log")
        node.launch()
        said = node.said_at_end(6)
        assert f"error: Kafka denies us {operation} on topic {log}" in said
        assert f"hint: {what_allows(operation, log, guarded)}" in said
        assert "Traceback" not in said
        guarded.allow(log, AclOperation[operation.upper()])
    with running(as_ann(guarded, log), tmp_path):
        pass


def test_who_does_not_speak_the_protocol_of_a_listener_is_asked_about_that(
    guarded: GuardedKafka, tmp_path: Path
) -> None:
    node = Node(["--kafka", guarded.guarded_bootstrap], tmp_path / "plain.log")
    node.launch()
    assert "it may hang, expect another security.protocol than PLAINTEXT" in node.said_at_end(6)


def test_who_comes_with_a_wrong_password_is_told_so_and_asked_about_the_security_settings(
    guarded: GuardedKafka, tmp_path: Path
) -> None:
    given = [word.replace(guarded.settings()["sasl.password"], "wrong") for word in as_ann(guarded, "log")]
    node = Node(given, tmp_path / "wrong.log")
    node.launch()
    said = node.said_at_end(6)
    assert "Kafka denies access" in said
    assert "Invalid username or password" in said
    assert "the security settings right?" in said


def test_a_right_that_is_taken_from_a_node_is_named_to_who_writes_and_by_the_doctor_until_it_is_given_back(
    guarded: GuardedKafka, tmp_path: Path
) -> None:
    log = f"t-{uuid.uuid4().hex}"
    with running(["--kafka", guarded.bootstrap, "--kafka-topic", log], tmp_path):
        pass
    guarded.allow(log, *documented("a node", 2))
    with running(as_ann(guarded, log), tmp_path) as (node,), plain_http.client(base_url=node.url, timeout=60) as client:
        assert client.put(f"{TOPICS}/first").status_code == 204
        for operation in ("Write", "Read", "Describe_Configs"):
            right = operation.replace("_", "")
            guarded.withdraw(log, AclOperation[operation.upper()])
            if operation == "Write":
                sent = client.put(f"{TOPICS}/second")
                assert sent.json()["outcome"] == "unknown"
                assert sent.json()["hint"].startswith(what_allows(right, log, guarded))
            missing = {
                "what": f"the log's right to {right} is denied to this node, it must be allowed",
                "next": what_allows(right, log, guarded),
            }
            eventually(lambda missing=missing: missing in problems(client), SECONDS)
            status = client.put(f"{TOPICS}/of-{right}").status_code
            assert status == (503 if operation == "Write" else 204)
            guarded.allow(log, AclOperation[operation.upper()])
            eventually(lambda: problems(client) == [], SECONDS)
        assert client.put(f"{TOPICS}/second").status_code == 204


def problems(client: httpx2.Client) -> list[dict[str, str]]:
    """Return what the doctor says is wrong, and what to do."""
    found: list[dict[str, str]] = client.get("/api/v1/doctor").json()["problems"]
    return found
