"""The command line in this process, with no settings but a test's own, against a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.client.served import serving
from topicfold.cli.main import main
from topicfold.client import Client


class Result(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def server_url() -> Iterator[str]:
    with serving() as (url,):
        yield url


@pytest.fixture
def client(server_url: str) -> Iterator[Client]:
    with Client(server_url) as client:
        yield client


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    path = tmp_path / "topicfold" / "config.toml"
    path.parent.mkdir()
    return path


@pytest.fixture
def bare_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run commands with no settings but those of the test."""
    for name in ("URL", "TOKEN", "OUTPUT", "COLOR", "TIMEOUT_SECONDS", "QUIET", "PROGRESS", "CONFIG"):
        monkeypatch.delenv(f"TOPICFOLD_{name}", raising=False)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def run(*arguments: str) -> Result:
        code = main(arguments)
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def run(bare_run: Run, monkeypatch: pytest.MonkeyPatch, server_url: str) -> Run:
    """Run commands against the server."""
    monkeypatch.setenv("TOPICFOLD_URL", server_url)
    return bare_run
