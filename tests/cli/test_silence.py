"""What is told while nothing happens: that the log is away, and back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from topicfold.cli import silence
from topicfold.cli.config import ColorMode, OutputFormat, resolve_config
from topicfold.cli.output import Output
from topicfold.cli.session import Session
from topicfold.cli.silence import telling_of_lost_log
from topicfold.client import Client, Readiness, ServerUnreachable

PATIENCE_SECONDS = 60.0
LOST = "warning: the server cannot reach its log; changes are shown when it can again"
BACK = "the server reaches its log again"


@pytest.fixture(autouse=True)
def _impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silence, "SILENT_SECONDS", 0.01)


class Reports:
    """What a server says of itself, one report after another; the last again and again."""

    def __init__(self, *reports: Any) -> None:
        self._reports = list(reports)
        self.are_told = threading.Event()

    def next(self) -> Readiness:
        report = self._reports.pop(0) if self._reports else {}
        if not self._reports:
            self.are_told.set()
        if isinstance(report, Exception):
            raise report
        return Readiness(True, report)


def log(*, reachable: bool) -> dict[str, Any]:
    return {"log": {"reachable": reachable}}


@pytest.fixture
def session(server_url: str, tmp_path: Path) -> Iterator[Session]:
    config = resolve_config({"url": server_url}, {"XDG_CONFIG_HOME": str(tmp_path)})
    session = Session(config, Output(OutputFormat.JSON, ColorMode.NEVER, is_quiet=False), {})
    yield session
    session.close()


def test_a_log_that_is_away_is_told_of_once_and_that_it_is_back(
    session: Session, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lost, back, unsaid = log(reachable=False), log(reachable=True), ServerUnreachable("no answer", url="x")
    reports = Reports(back, lost, lost, {}, unsaid, {"log": None}, lost, back, back, unsaid)
    monkeypatch.setattr(Client, "readiness", lambda _: reports.next())
    with telling_of_lost_log(session):
        assert reports.are_told.wait(PATIENCE_SECONDS)
    assert capsys.readouterr().err.splitlines() == [LOST, BACK]


def test_nobody_asks_as_long_as_something_happens(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    reports, now, looks = Reports(log(reachable=False)), [0.0], list[Callable[[], bool]]()
    monkeypatch.setattr(Client, "readiness", lambda _: reports.next())
    monkeypatch.setattr(silence, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(silence, "looking_every", lambda _, look, name: nullcontext(looks.append(look)))
    with telling_of_lost_log(session) as hear:
        for _ in range(10):
            now[0] += silence.SILENT_SECONDS / 2
            looks[0]()
            hear()
        assert not reports.are_told.is_set()
        now[0] += silence.SILENT_SECONDS
        looks[0]()
    assert reports.are_told.is_set()


def test_a_server_with_its_log_says_so(session: Session) -> None:
    assert silence._reaches_log(session) is True
