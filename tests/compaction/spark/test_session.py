"""The Spark session of the job: it leaves the process as it was."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError

from tests.compaction.connector import connector
from tests.prerequisites import CHECKOUT
from topicfold.compaction.spark import session
from topicfold.errors import BadSetting, LogUnavailable


class Builder:
    """Makes a session as Spark does, which takes Ctrl-C for itself where it is the main thread that makes it."""

    def config(self, conf: SparkConf) -> Builder:
        return self

    def getOrCreate(self) -> Any:  # noqa: N802 -- Spark's name
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, lambda *_: None)
        return SimpleNamespace(sparkContext=SimpleNamespace(setLogLevel=lambda level: None))


@pytest.fixture(autouse=True)
def running_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Java runs already, none is started."""
    monkeypatch.setattr(session, "SparkContext", SimpleNamespace(_gateway="a gateway"))


def test_an_interrupt_stays_whose_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SparkSession", SimpleNamespace(builder=Builder()))
    before = signal.getsignal(signal.SIGINT)
    session.open_session({}, needs_kafka=False)
    assert signal.getsignal(signal.SIGINT) is before


def chosen_for(monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]) -> dict[str, str]:
    """Return the settings that Spark is started with."""
    chosen: dict[str, str] = {}

    class Noting(Builder):
        def config(self, conf: SparkConf) -> Builder:
            chosen.update(conf.getAll())
            return self

    monkeypatch.setattr(session, "SparkSession", SimpleNamespace(builder=Noting()))
    session.open_session(settings, needs_kafka=True)
    return chosen


def test_jars_are_found_from_wherever_spark_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    chosen = chosen_for(monkeypatch, {"spark.jars": "a.jar,/b.jar,hdfs://c/d.jar"})
    assert chosen["spark.jars"] == f"{tmp_path}/a.jar,/b.jar,hdfs://c/d.jar"


def test_all_files_of_sparks_own_are_where_the_next_job_removes_what_a_killed_one_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    options = chosen_for(monkeypatch, {})["spark.driver.extraJavaOptions"]
    (scratch,) = tmp_path.glob("topicfold-spark-*")
    assert {f'"-Duser.dir={scratch}"', f'"-Djava.io.tmpdir={scratch}"'} <= {*options.split()}


def test_of_what_the_connector_needs_only_that_is_fetched_which_pyspark_does_not_bring() -> None:
    brought = {jar.stem.rpartition("-")[0] for jar in Path(pyspark.__file__).with_name("jars").glob("*.jar")}
    assert {each.partition(":")[2] for each in session._EXCLUDES} <= brought
    fetched = {jar.rpartition("_")[2].rpartition("-")[0] for jar in connector().split(",")}
    assert "kafka-clients" in fetched
    assert not fetched & brought


@pytest.mark.parametrize(("said", "told"), [("compact.py", {}), ("nightly", {"spark.app.name": "nightly"})])
def test_a_job_bears_the_name_that_spark_submit_was_told_but_not_that_of_its_script(
    monkeypatch: pytest.MonkeyPatch, said: str, told: dict[str, str]
) -> None:
    monkeypatch.setattr("sys.argv", ["deploy/compact.py", "--once"])
    monkeypatch.setattr(session, "SparkContext", SimpleNamespace(_ensure_initialized=lambda: None))
    monkeypatch.setattr(session, "SparkConf", lambda: SimpleNamespace(getAll=lambda: [("spark.app.name", said)]))
    assert session._told_to_spark_submit() == told


UNFETCHED = "unresolved dependency: org.apache.spark#spark-sql-kafka-0-10_2.13;9.9: not found"


def told_where(monkeypatch: pytest.MonkeyPatch, said: str, settings: dict[str, str]) -> BadSetting:
    """Return what is told where Java ends before it has begun, having `said` this."""

    class Ending(Builder):
        def getOrCreate(self) -> Any:  # noqa: N802 -- Spark's name
            error = PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
            error.add_note(said)
            raise error

    monkeypatch.setattr(session, "SparkSession", SimpleNamespace(builder=Ending()))
    with pytest.raises(BadSetting) as refused:
        session.open_session(settings, needs_kafka=True)
    return refused.value


@pytest.mark.parametrize(
    ("settings", "packages"), [({}, session.kafka_package()), ({"spark.jars.packages": "a:b:1"}, "a:b:1")]
)
def test_where_the_connector_cannot_be_fetched_the_hint_says_what_else_may_be(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], packages: str
) -> None:
    told = told_where(monkeypatch, f'a#b\nException in thread "main" a.Error: [{UNFETCHED}]\n\tat a.b', settings)
    assert str(told) == f"Spark does not start: {UNFETCHED}"
    assert told.hint.startswith(f"It fetches {packages}")
    assert "--spark-setting spark.jars=" in told.hint
    assert "pip install pyspark==4.0.0" in told.hint


@pytest.mark.parametrize(
    ("said", "reason"),
    [("not a JVM", "what it said is above"), ('Exception in thread "main" a.Error: too old', "too old")],
)
def test_where_java_ends_for_another_reason_the_hint_is_about_java(
    monkeypatch: pytest.MonkeyPatch, said: str, reason: str
) -> None:
    told = told_where(monkeypatch, said, {})
    assert str(told) == f"Spark does not start: {reason}"
    assert told.hint.startswith("It needs Java 17 or newer")
    assert "Maven" not in told.hint


def refusal_of(monkeypatch: pytest.MonkeyPatch, said: str) -> BadSetting:
    """Return what is told where Java says this instead of starting Spark."""

    class Refusing(Builder):
        def getOrCreate(self) -> Any:  # noqa: N802 -- Spark's name
            java = SimpleNamespace(_target_id="o1", _gateway_client=None, toString=lambda: said)
            raise Py4JJavaError("An error occurred while calling o0.", java)

    monkeypatch.setattr(session, "SparkSession", SimpleNamespace(builder=Refusing()))
    with pytest.raises(BadSetting) as refused:
        session.open_session({}, needs_kafka=False)
    return refused.value


def test_a_setting_that_spark_does_not_take_is_told_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "[INVALID_DRIVER_MEMORY] must be at least 471859200."
    refused = refusal_of(monkeypatch, f"org.apache.spark.SparkIllegalArgumentException: {wrong}\nUse another.")
    assert str(refused) == f"Spark does not start: {wrong}"


def test_where_java_is_too_new_for_spark_the_hint_says_which_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "getSubject is not supported"
    refused = refusal_of(monkeypatch, f"java.lang.UnsupportedOperationException: {reason}")
    assert str(refused) == f"Spark does not start: {reason}"
    assert f"PySpark 4.0: 17 to 23, on newer ones {reason}" in refused.hint


def test_the_version_to_install_is_the_one_that_the_tests_run_with() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    tested = f"pyspark=={session._TESTED_PYSPARK}"
    assert tested in project["optional-dependencies"]["dev"]
    assert session._TESTED_PYSPARK in (CHECKOUT / "docs" / "compaction.md").read_text()


def test_where_java_could_not_open_all_of_sparks_jars_it_is_not_started() -> None:
    opening = "from topicfold.compaction.spark.session import open_session; open_session({}, needs_kafka=False)"
    ended = subprocess.run(
        ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh", sys.executable, "-c", opening],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "BadSetting: this process may have no more than 256 files open, and needs 512" in ended.stderr
    assert "java" not in ended.stderr


@pytest.mark.parametrize("error", [Py4JNetworkError("Error while sending or receiving"), ConnectionRefusedError(111)])
def test_of_java_that_is_killed_while_spark_starts_it_is_said_that_it_is_gone(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    class Killed(Builder):
        def getOrCreate(self) -> Any:  # noqa: N802 -- Spark's name
            raise error

    monkeypatch.setattr(session, "SparkSession", SimpleNamespace(builder=Killed()))
    with pytest.raises(LogUnavailable, match="Spark's JVM is gone") as told:
        session.open_session({}, needs_kafka=False)
    assert told.value.hint.startswith("Somebody killed it, or memory ran out")


def test_of_java_that_is_killed_later_nobody_prints_tracebacks() -> None:
    ending = (
        "import logging, socket\n"
        "from types import SimpleNamespace\n"
        "from pyspark.accumulators import _start_update_server\n"
        "from topicfold.compaction.spark.session import _keep_quiet\n"
        "server = _start_update_server('token')\n"
        "_keep_quiet(SimpleNamespace(_accumulatorServer=server))\n"
        "java = socket.create_connection(server.server_address)\n"
        "java.shutdown(socket.SHUT_WR)\n"
        "java.recv(1)\n"
        "logging.exception('Exception while sending command.')\n"
        "logging.getLogger('py4j.clientserver').error('There was an exception')\n"
    )
    ended = subprocess.run([sys.executable, "-c", ending], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
