"""The command line in this process, with no settings but a test's own, against a server."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.main import get_command

from tests.client.served import serving
from topicfold.cli import main as entry
from topicfold.client import Client


class Result(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Result]

_ENGINE = Path(__file__).parents[2] / "engine"
_command_of = cache(get_command)
"""Makes commands of what is declared, once: to make them anew for each that runs here takes nine tenths of its time."""


class Running:
    """The command in a process of its own."""

    def __init__(self, words: Sequence[str], url: str, home: Path) -> None:
        own = {"PYTHONPATH": str(_ENGINE), "TOPICFOLD_URL": url, "XDG_CONFIG_HOME": str(home)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "topicfold", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **own},
        )

    def line(self) -> str:
        """Return the next line of stdout."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def err_line(self) -> str:
        """Return the next line of stderr."""
        assert self._process.stderr is not None
        return self._process.stderr.readline().rstrip("\n")

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """Press Ctrl-C, or send another signal; return the exit code and what is on stderr."""
        self._process.send_signal(number)
        _, err = self._process.communicate(timeout=30)
        return self._process.returncode, err

    def unread(self) -> tuple[int, str]:
        """Read nothing more of stdout; return the exit code and what is on stderr, once it has ended by itself."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._process.stdout.close()
        return self._process.wait(timeout=30), self._process.stderr.read()

    def ended(self) -> tuple[int, str]:
        """Return the exit code and what is on stderr, once it has ended by itself."""
        _, err = self._process.communicate(timeout=30)
        return self._process.returncode, err

    def end(self) -> None:
        """End it if it still runs."""
        self._process.kill()
        self._process.communicate()


Start = Callable[..., Running]


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
    monkeypatch.setattr(entry, "get_command", _command_of)
    root: Any = _command_of(entry.app)
    # It puts groups into the places of their stand-ins, which each test begins with.
    monkeypatch.setattr(root, "commands", dict(root.commands))

    def run(*arguments: str) -> Result:
        code = entry.main(arguments)
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def run(bare_run: Run, monkeypatch: pytest.MonkeyPatch, server_url: str) -> Run:
    """Run commands against the server."""
    monkeypatch.setenv("TOPICFOLD_URL", server_url)
    return bare_run


@pytest.fixture
def start(server_url: str, tmp_path: Path) -> Iterator[Start]:
    running: list[Running] = []

    def begin(*words: str) -> Running:
        running.append(Running(words, server_url, tmp_path))
        return running[-1]

    yield begin
    for each in running:
        each.end()


@pytest.fixture
def exported(run: Run, client: Client, tmp_path: Path) -> Path:
    """A file with the two topics of a namespace, of which one has everything and one just a label."""
    client.create_topic(
        "orders",
        partitions=2,
        kafka_name="shop-orders",
        labels={"tier": "gold", "team": "pay"},
        properties={"n": "010", "yes": "no"},
        policies={
            "local": {"retentionPolicies": {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10}},
            "global": {"messageTTLInSeconds": 60},
        },
    )
    client.create_topic("old", labels={"team": "pay"})
    file = tmp_path / "policies.yaml"
    written = run("policies", "export", "public/default", "-f", str(file), "--no-progress")
    assert (written.code, written.err) == (0, f"wrote 1 namespace and 2 topics to {file}\n")
    return file


@pytest.fixture
def changed(exported: Path) -> Path:
    """The file with another tier and another retention."""
    exported.write_text(exported.read_text().replace("gold", "iron").replace("InMB: 10", "InMB: 20"))
    return exported


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is there to ask."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n"))
