"""Nodes that make, follow and delete topics of a real cluster, through its restarts and their own crashes."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests import plain_http
from tests.brokers.process import KafkaProcess
from tests.integration.command import topicfold
from tests.integration.node import Node, running
from topicfold.log.sqlite import SqliteLog
from topicfold.model.names import parse_topic
from topicfold.model.records import Pending, Step, TopicRecord
from topicfold.runtime.asking import Asked
from topicfold.runtime.engine import Engine
from topicfold.runtime.writing.writing import Writing

pytestmark = pytest.mark.kafka

WITHIN_SECONDS = 60.0


@pytest.fixture
def mark() -> str:
    """A beginning of names that no other test uses."""
    return f"m{uuid.uuid4().hex[:8]}"


class Cluster:
    """A cluster as its own tools see it."""

    def __init__(self, bootstrap: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def topics(self, mark: str) -> dict[str, int]:
        """Return the partitions of each topic whose name holds `mark`."""
        topics = self._admin.list_topics(timeout=10).topics
        return {name: len(topic.partitions) for name, topic in topics.items() if mark in name}

    def make(self, name: str, partitions: int) -> None:
        self._admin.create_topics([NewTopic(name, partitions, 1)])[name].result(20)

    def grow(self, name: str, partitions: int) -> None:
        self._admin.create_partitions([NewPartitions(name, partitions)])[name].result(20)

    def delete(self, name: str) -> None:
        self._admin.delete_topics([name])[name].result(20)


def eventually(look: Callable[[], Any], wanted: Any) -> None:
    """Return once `look` returns `wanted`; fail with what it returned last."""
    deadline = time.monotonic() + WITHIN_SECONDS
    while (found := look()) != wanted:
        assert time.monotonic() < deadline, f"wanted {wanted}, found {found}"
        time.sleep(0.05)


def on_file(tmp_path: Path, bootstrap: str, *more: str) -> list[str]:
    """Return the options of a node with its log in a file and the cluster at `bootstrap`."""
    return ["--log", str(tmp_path / "log.db"), "--cluster-bootstrap", bootstrap, *more]


def records(node: Node, mark: str, namespace: str = "public/default") -> dict[str, int]:
    """Return the partitions of each topic record whose name holds `mark`, by its last part."""
    answer = plain_http.get(f"{node.url}/api/v1/topics", params={"namespace": namespace}, timeout=10).json()
    items = answer.get("items", ())
    return {item["name"].rpartition("/")[2]: item["partitions"] for item in items if mark in item["name"]}


def put(node: Node, name: str, partitions: int = 0) -> httpx2.Response:
    return plain_http.put(
        f"{node.url}/api/v1/topics/public/default/{name}", json={"partitions": partitions}, timeout=30
    )


async def leave(tmp_path: Path, name: str, record: TopicRecord) -> None:
    """Write to the log what a node writes before it crashes."""
    log = await SqliteLog.open(tmp_path / "log.db", partitions=8)
    engine = await Engine.start(log)
    try:
        deadline = asyncio.get_running_loop().time() + 10
        await Writing(engine).record_topic(parse_topic(name), record, Asked(deadline))
    finally:
        await engine.stop()


def test_the_command_line_makes_grows_and_deletes_topics_in_kafka(
    kafka_bootstrap: str, tmp_path: Path, mark: str
) -> None:
    cluster = Cluster(kafka_bootstrap)
    with running(on_file(tmp_path, kafka_bootstrap), tmp_path) as (node,):
        steps = [
            (["tenants", "create", mark], {}),
            (["namespaces", "create", f"{mark}/pay"], {}),
            (["topics", "create", f"{mark}/pay/plain"], {f"{mark}..pay..plain": 1}),
            (["topics", "create-partitioned-topic", f"{mark}-p", "-p", "3"], {f"{mark}-p": 3}),
            (["topics", "update-partitioned-topic", f"{mark}-p", "-p", "5"], {f"{mark}-p": 5}),
            (["topics", "delete-partitioned-topic", f"{mark}-p"], {f"{mark}-p": None}),
            (["namespaces", "delete", f"{mark}/pay", "--force"], {f"{mark}..pay..plain": None}),
        ]
        wanted: dict[str, int | None] = {}
        for arguments, change in steps:
            done = topicfold(*arguments, TOPICFOLD_URL=node.url)
            assert done.returncode == 0, done.stdout + done.stderr
            wanted |= change
            assert cluster.topics(mark) == {name: count for name, count in wanted.items() if count}
        assert done.stderr.splitlines() == [
            f"deleted {mark}/pay",
            "any Kafka topics of its topics were deleted with all messages, except those that others stand for, too",
        ]


def test_a_topic_that_takes_over_a_kafka_topic_says_so(kafka_bootstrap: str, tmp_path: Path, mark: str) -> None:
    Cluster(kafka_bootstrap).make(f"{mark}-there", 3)
    with running(on_file(tmp_path, kafka_bootstrap), tmp_path) as (node,):
        create = ("topics", "create-partitioned-topic", "-p", "3")
        there, new = (
            topicfold(*create, f"{mark}-{name}", TOPICFOLD_URL=node.url).stderr.splitlines()
            for name in ("there", "new")
        )
        assert there[1:] == [f"it took over the Kafka topic {mark}-there, which was there before, with its messages"]
        assert new[1:] == []
        Cluster(kafka_bootstrap).make(f"{mark}-older", 1)
        file = tmp_path / "topics.yaml"
        file.write_text(f"topics: [{{name: {mark}-older}}, {{name: {mark}-newer}}]")
        applied = topicfold("policies", "apply", "-f", str(file), TOPICFOLD_URL=node.url).stderr.splitlines()
        assert applied[-1] == (f"took over 1 Kafka topic, which was there before, with its messages: {mark}-older")


def test_a_node_that_only_adopts_changes_nothing_in_kafka(kafka_bootstrap: str, tmp_path: Path, mark: str) -> None:
    cluster = Cluster(kafka_bootstrap)
    cluster.make(f"{mark}-there", 3)
    with running(on_file(tmp_path, kafka_bootstrap, "--adopt-only"), tmp_path) as (node,):
        assert put(node, f"{mark}-there", 3).status_code == 201
        assert put(node, f"{mark}-new").status_code == 201
        assert topicfold("topics", "delete-partitioned-topic", f"{mark}-there", TOPICFOLD_URL=node.url).returncode == 0
        for words in (["tenants", "create", mark], ["tenants", "delete", mark, "--force"]):
            done = topicfold(*words, TOPICFOLD_URL=node.url)
        stay = "any Kafka topics of its topics stay, with all messages: the server only adopts"
        assert done.stderr.splitlines() == [f"deleted {mark}", stay]
    assert cluster.topics(mark) == {f"{mark}-there": 3}


def test_what_kafka_cannot_do_is_refused_with_its_reason(kafka_bootstrap: str, tmp_path: Path, mark: str) -> None:
    cluster = Cluster(kafka_bootstrap)
    cluster.make(f"{mark}-there", 3)
    with running(on_file(tmp_path, kafka_bootstrap), tmp_path) as (node,):
        cluster.make(f"{mark}.a", 1)
        answers = [put(node, name) for name in (f"{mark}-there", f"{mark}_a", f"{mark}%20x")]
        assert [answer.status_code for answer in answers] == [409, 400, 400]
        assert "3 partitions" in answers[0].json()["reason"]
        assert "collides" in answers[1].json()["reason"]
        assert records(node, mark) == {}
        refused = topicfold("topics", "create", f"{mark}-there", TOPICFOLD_URL=node.url)
        command = refused.stderr.partition("hint: topicfold ")[2].partition(" takes it over")[0].split()
        assert topicfold(*command, TOPICFOLD_URL=node.url).returncode == 0


def test_a_broker_that_is_away_refuses_topics_alone_and_serves_again_when_it_is_back(
    own_broker: KafkaProcess, tmp_path: Path, mark: str
) -> None:
    cluster = Cluster(own_broker.bootstrap)
    with running(on_file(tmp_path, own_broker.bootstrap), tmp_path) as (node,):
        assert put(node, f"{mark}-a").status_code == 201
        own_broker.kill()
        refused = put(node, f"{mark}-b")
        assert (refused.status_code, refused.json()["code"]) == (503, "cluster_unavailable")
        labels = plain_http.post(
            f"{node.url}/admin/v2/persistent/public/default/{mark}-a/custom-labels", json={"labels": {"a": "b"}}
        )
        assert labels.status_code == 204
        assert node.health()["ready"] is True
        own_broker.restart()
        assert put(node, f"{mark}-b", 2).status_code == 201
        assert cluster.topics(mark) == {f"{mark}-a": 1, f"{mark}-b": 2}


async def test_steps_that_a_crashed_node_left_are_finished_by_the_next(
    kafka_bootstrap: str, tmp_path: Path, mark: str
) -> None:
    cluster = Cluster(kafka_bootstrap)
    cluster.make(f"{mark}-ended", 2)
    cluster.make(f"{mark}-grown", 2)
    found = await _id_of(kafka_bootstrap, f"{mark}-ended")
    await leave(tmp_path, f"{mark}-made", TopicRecord(3, pending=Pending(Step.MAKE)))
    await leave(tmp_path, f"{mark}-grown", TopicRecord(4, pending=Pending(Step.MAKE)))
    await leave(tmp_path, f"{mark}-ended", TopicRecord(2, pending=Pending(Step.END, found)))
    with running(on_file(tmp_path, kafka_bootstrap), tmp_path) as (node,):
        eventually(lambda: cluster.topics(mark), {f"{mark}-made": 3, f"{mark}-grown": 4})
        eventually(lambda: records(node, mark), {f"{mark}-made": 3, f"{mark}-grown": 4})
        eventually(lambda: node.health()["cluster"]["topics"]["waiting"], 0)


def test_two_nodes_on_one_log_follow_the_cluster_through_a_restart_of_the_broker(
    own_broker: KafkaProcess, tmp_path: Path, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOPICFOLD_FOLLOW_EVERY_SECONDS", "0.3")
    cluster = Cluster(own_broker.bootstrap)
    cluster.make(f"{mark}-a", 1)
    options = ["--kafka", own_broker.bootstrap, "--kafka-topic", f"__{mark}", "--follow-cluster"]
    with running(options, tmp_path, 2) as nodes:
        cluster.make(f"{mark}..pay..b", 2)
        for node in nodes:
            eventually(lambda node=node: records(node, mark), {f"{mark}-a": 0})
            eventually(lambda node=node: records(node, mark, f"{mark}/pay"), {"b": 2})
        cluster.grow(f"{mark}-a", 4)
        eventually(lambda: records(nodes[0], mark), {f"{mark}-a": 4})
        own_broker.kill()
        own_broker.restart()
        cluster.make(f"{mark}-c", 1)
        eventually(lambda: records(nodes[1], mark), {f"{mark}-a": 4, f"{mark}-c": 0})
        cluster.delete(f"{mark}-a")
        eventually(lambda: nodes[0].health()["cluster"]["topics"]["missing"], 1)
        assert records(nodes[0], mark) == {f"{mark}-a": 4, f"{mark}-c": 0}
        deleted = topicfold("topics", "delete", f"{mark}-c", TOPICFOLD_URL=nodes[1].url)
        assert (deleted.returncode, deleted.stderr.splitlines()[1:]) == (
            0,
            [f"its Kafka topic {mark}-c was deleted with all its messages"],
        )
        assert cluster.topics(mark) == {f"__{mark}": 8, f"{mark}..pay..b": 2}
        time.sleep(1.5)
        assert records(nodes[0], mark) == {f"{mark}-a": 4}


async def _id_of(bootstrap: str, topic: str) -> str:
    from topicfold.cluster.kafka import KafkaCluster

    found = await KafkaCluster(bootstrap).topic(topic)
    assert found is not None
    return found.id
