"""The Spark session of the job: it leaves the process as it was."""

from __future__ import annotations

import signal
from types import SimpleNamespace
from typing import Any

import pytest

from topicfold.compaction import session


class Builder:
    """Makes a session as Spark does, which takes Ctrl-C for itself."""

    def appName(self, name: str) -> Builder:  # noqa: N802 -- Spark's name
        return self

    def config(self, name: str, value: str) -> Builder:
        return self

    def getOrCreate(self) -> Any:  # noqa: N802 -- Spark's name
        signal.signal(signal.SIGINT, lambda *_: None)
        return SimpleNamespace(sparkContext=SimpleNamespace(setLogLevel=lambda level: None))


def test_an_interrupt_stays_whose_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SparkSession", SimpleNamespace(builder=Builder()))
    before = signal.getsignal(signal.SIGINT)
    session.open_session({}, needs_kafka=False)
    assert signal.getsignal(signal.SIGINT) is before
