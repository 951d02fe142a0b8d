"""The Spark session of the job: it leaves the process as it was."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from topicfold.compaction import session


class Builder:
    """Makes a session as Spark does, which takes Ctrl-C for itself where it is the main thread that makes it."""

    def appName(self, name: str) -> Builder:  # noqa: N802 -- Spark's name
        return self

    def config(self, name: str, value: str) -> Builder:
        return self

    def getOrCreate(self) -> Any:  # noqa: N802 -- Spark's name
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, lambda *_: None)
        return SimpleNamespace(sparkContext=SimpleNamespace(setLogLevel=lambda level: None))


def test_an_interrupt_stays_whose_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SparkSession", SimpleNamespace(builder=Builder()))
    before = signal.getsignal(signal.SIGINT)
    session.open_session({}, needs_kafka=False)
    assert signal.getsignal(signal.SIGINT) is before


def test_jars_are_found_from_wherever_spark_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chosen: dict[str, str] = {}

    class Noting(Builder):
        def config(self, name: str, value: str) -> Builder:
            chosen[name] = value
            return self

    monkeypatch.setattr(session, "SparkSession", SimpleNamespace(builder=Noting()))
    monkeypatch.chdir(tmp_path)
    session.open_session({"spark.jars": "a.jar,/b.jar,hdfs://c/d.jar"}, needs_kafka=True)
    assert chosen["spark.jars"] == f"{tmp_path}/a.jar,/b.jar,hdfs://c/d.jar"
