"""What tests share: logs, a place to consume in, a broker that guards, and Pulsar's own clients with nodes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.brokers.guarded import GuardedKafka
from tests.integration.command import environment_in
from tests.integration.consuming import Place, place_on
from tests.integration.node import Node, running
from tests.prerequisites import needed
from tests.pulsar.admin import PulsarAdmin, tool_process
from tests.pulsar.answering import AnsweringProcess
from tests.pulsar.npm import NpmClient, client_process


@pytest.fixture(params=["sqlite", pytest.param("kafka", marks=pytest.mark.kafka)])
def log_options(request: pytest.FixtureRequest, tmp_path: Path) -> Sequence[str]:
    """The options of `topicfold serve` that choose a fresh log."""
    if request.param == "sqlite":
        return ["--log", str(tmp_path / "log.db")]
    bootstrap = request.getfixturevalue("kafka_bootstrap")
    return ["--kafka", bootstrap, "--kafka-topic", request.getfixturevalue("fresh_topic")()]


@pytest.fixture(scope="module")
def node(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A server that keeps records and leaves Kafka alone."""
    directory = tmp_path_factory.mktemp("node")
    with running(["--log", str(directory / "log.db")], directory) as (node,):
        yield node


@pytest.fixture
def place(node: Node, kafka_bootstrap: str) -> Iterator[Place]:
    """A namespace of the test's own."""
    with place_on(node.url, kafka_bootstrap) as place:
        yield place


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedKafka]:
    """A broker that lets `ann` do only what it is told."""
    with needed(), GuardedKafka(tmp_path_factory.mktemp("guarded")) as broker:
        yield broker


@pytest.fixture
def untrimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have nobody trim the log beside the test, which says where in it things lie, or does so itself."""
    monkeypatch.delenv("TOPICFOLD_TEST_TRIMS", raising=False)


@pytest.fixture(scope="module", params=["one-node", pytest.param("three-nodes-on-kafka", marks=pytest.mark.kafka)])
def urls(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[str]]:
    """Where the nodes listen that serve one log to all tests of a module."""
    directory = tmp_path_factory.mktemp("nodes")
    if request.param == "one-node":
        count, options = 1, ["--log", str(directory / "log.db")]
    else:
        bootstrap = request.getfixturevalue("kafka_bootstrap")
        # Kafka could not have topics of all the names that Pulsar's clients use.
        count, options = 3, ["--kafka", bootstrap, "--kafka-topic", f"test-{uuid.uuid4().hex}", "--adopt-only"]
    with running(options, directory, count) as nodes:
        yield [node.url for node in nodes]


@pytest.fixture(scope="session")
def pulsar_tool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnsweringProcess]:
    """The JVM of Pulsar's admin tool."""
    with needed(), tool_process(tmp_path_factory.mktemp("pulsar-admin")) as process:
        yield process


@pytest.fixture
def admin(pulsar_tool: AnsweringProcess, urls: Sequence[str]) -> PulsarAdmin:
    """Pulsar's admin tool; each command goes to the next node."""
    return PulsarAdmin(pulsar_tool, urls)


@pytest.fixture
def topic(admin: PulsarAdmin) -> str:
    """A topic of this test."""
    name = f"persistent://public/default/{uuid.uuid4().hex}"
    admin.done("topics", "create", name)
    return name


@pytest.fixture(scope="session")
def pulsar_npm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnsweringProcess]:
    """The Node process of the npm client."""
    with needed(), client_process(tmp_path_factory.mktemp("npm")) as process:
        yield process


@pytest.fixture
def npm(pulsar_npm: AnsweringProcess, urls: Sequence[str]) -> NpmClient:
    """The npm client; each call goes to the next node."""
    return NpmClient(pulsar_npm, urls)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which `topicfold` is the command of this checkout."""
    return environment_in(tmp_path)
