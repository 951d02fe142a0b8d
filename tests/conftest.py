"""Fixtures of all tests: a real broker, and names of topics that nobody else uses."""

from __future__ import annotations

import gc
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

from tests.compaction.classes import jvm_options
from tests.prerequisites import SHORT_LIVED_JVM, needed
from topicfold.process.collection import no_collection

_SESSION = "TOPICFOLD_TEST_SESSION"
_OURS = re.compile(r"TOPICFOLD_(TEST_|\w+_SEEDS$)")
"""What is for tests. Whatever else of Topicfold is in the environment is how somebody uses it."""
_COLLECT_AFTER = (10_000, 10, 10)
"""With Python's own (700, 10, 10) a test of all rights spends 5 % of its time on looking for cycles, with these 2 %."""

_LONG = (
    ("integration",),
    ("benchmarks", "compaction"),
    ("client", "cluster", "guarantees", "log", "simulation", "snapshot"),
)
"""Directories whose tests take long, or mostly wait, in parts of which no worker begins with two."""


def pytest_configure(config: pytest.Config) -> None:
    settings.register_profile("untimed", settings.default, deadline=None)
    settings.load_profile("untimed")
    gc.set_threshold(*_COLLECT_AFTER)
    # For who reads why a test failed. By default each traceback is drawn, in 14 ms.
    plain = structlog.processors.KeyValueRenderer(key_order=["level", "event"])
    structlog.configure(processors=[structlog.processors.add_log_level, structlog.processors.format_exc_info, plain])
    if not hasattr(config, "workerinput"):
        for name in [each for each in os.environ if each.startswith("TOPICFOLD_") and not _OURS.match(each)]:
            del os.environ[name]
        os.environ[_SESSION] = tempfile.mkdtemp(prefix="topicfold-tests-")
        os.environ["XDG_CONFIG_HOME"] = os.environ[_SESSION]
        # The first is for the JVM that says how Spark's own is started.
        os.environ.setdefault("SPARK_LAUNCHER_OPTS", SHORT_LIVED_JVM)
        os.environ.setdefault("SPARK_SUBMIT_OPTS", jvm_options())


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        from tests.brokers.session import end_shared

        directory = Path(os.environ.pop(_SESSION))
        end_shared(directory)
        shutil.rmtree(directory, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep Python from looking for cycles among the tests, now and whenever it looks while they run."""
    with no_collection():
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have each worker begin with what takes long: at the end, one long test would keep a worker while others idle.

    Each is given an equal part of the list, and who has done his takes from the ends of the others'.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    part_of = {directory: number % workers for number, part in enumerate(_LONG) for directory in part}
    parts: list[list[pytest.Item]] = [[] for _ in range(workers)]
    quick: list[pytest.Item] = []
    for item in items:
        directory = item.path.relative_to(Path(__file__).parent).parts[0]
        (parts[part_of[directory]] if directory in part_of else quick).append(item)
    for part in parts:
        room = max(0, len(items) // workers - len(part))
        part += quick[:room]
        del quick[:room]
    items[:] = [*chain.from_iterable(parts), *quick]


@pytest.fixture
def quiet() -> Iterator[None]:
    """Let nodes log nothing during a test."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    yield
    structlog.configure(**before)


@pytest.fixture(scope="session")
def kafka_bootstrap() -> str:
    """Where the session's shared broker listens; skips where there can be none, fails instead under CI."""
    from tests.brokers.session import shared_bootstrap

    with needed():
        return shared_bootstrap(Path(os.environ[_SESSION]))


@pytest.fixture(scope="session")
def worker_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """The `KafkaProcess` of this worker."""
    from tests.brokers.process import KafkaProcess

    broker = KafkaProcess(tmp_path_factory.mktemp("kafka"))
    with needed():
        broker.start()
    yield broker
    broker.kill()


@pytest.fixture
def own_broker(worker_broker: object) -> Iterator[object]:
    """A `KafkaProcess` that only this test uses now: to be killed, paused and restarted; runs again afterwards."""
    from tests.brokers.process import KafkaProcess

    assert isinstance(worker_broker, KafkaProcess)
    yield worker_broker
    if worker_broker.is_paused:
        # One that slept may need longer to be itself again than to start.
        worker_broker.kill()
    if not worker_broker.is_running:
        worker_broker.restart()


@pytest.fixture
def two_brokers(tmp_path: Path) -> Iterator[tuple[str, object]]:
    """Where the two brokers of a cluster listen, and the `JoiningProcess` that may die."""
    from tests.brokers.joining import cluster_of_two

    with ExitStack() as stack:
        with needed():
            cluster = stack.enter_context(cluster_of_two(tmp_path))
        yield cluster


@pytest.fixture
def fresh_topic() -> Callable[[], str]:
    """Makes names of topics that no other test uses."""
    return lambda: f"test-{uuid.uuid4().hex}"


@pytest.fixture(params=["sqlite", pytest.param("kafka", marks=pytest.mark.kafka)])
def log_place(request: pytest.FixtureRequest, tmp_path: Path, fresh_topic: Callable[[], str]) -> Mapping[str, object]:
    """The settings that say where a fresh log is: in a file, then on Kafka."""
    if request.param == "sqlite":
        return {"log_file": tmp_path / "log.db"}
    return {"kafka_bootstrap": request.getfixturevalue("kafka_bootstrap"), "kafka_topic": fresh_topic()}
