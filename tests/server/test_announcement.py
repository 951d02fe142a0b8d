"""What a server says once it serves."""

from __future__ import annotations

import shlex
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from topicfold.server.announcement import announce_server
from topicfold.server.run import listen
from topicfold.settings import Settings


class Bound(socket.socket):
    """A socket that says that it has an `address`."""

    address: tuple[str, int]

    def getsockname(self) -> tuple[str, int]:
        return self.address


@pytest.mark.parametrize(
    ("settings", "lines"),
    [
        ({}, ["Topicfold serves URL on the log topicfold.db. Ctrl-C stops it. Try, in another terminal:"]),
        (
            {"kafka_bootstrap": "b:9092"},
            [
                "Topicfold serves URL on the log __change_events at b:9092. Ctrl-C stops it.",
                "It creates topics in Kafka at b:9092 and deletes them with all messages; --adopt-only prevents it.",
                "Try, in another terminal:",
            ],
        ),
    ],
)
def test_the_announcement_is_of_whole_lines(
    capsys: pytest.CaptureFixture[str], settings: dict[str, Any], lines: list[str]
) -> None:
    with listen(Settings(port=0)) as listener:
        announce_server(Settings(**settings), listener)
        port = listener.getsockname()[1]
    told = capsys.readouterr().out.replace(f"http://127.0.0.1:{port}", "URL")
    assert told[told.index("Topicfold serves") :].partition("\n\n")[0].splitlines() == lines


@pytest.mark.parametrize(
    ("host", "settings", "at"),
    [
        ("127.0.0.1", {}, ""),
        ("127.0.0.1", {"tls_cert_file": "cert.pem"}, " --url https://127.0.0.1:8080 --tls-ca-file FILE"),
        ("127.0.0.5", {}, " --url http://127.0.0.5:8080"),
        ("0.0.0.0", {}, ""),
        ("::", {}, " --url http://[::1]:8080"),
    ],
)
def test_the_commands_that_are_announced_ask_this_server(
    capsys: pytest.CaptureFixture[str], host: str, settings: dict[str, Any], at: str
) -> None:
    with Bound() as listener:
        listener.address = host, 8080
        announce_server(Settings(host=host, **settings), listener)
    command = next(line for line in capsys.readouterr().out.splitlines() if "topics create" in line)
    assert command.partition("topics create orders")[2] == at


def test_the_commands_that_are_announced_may_lie_in_a_path_with_spaces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "a path" / "bin" / "python"))
    monkeypatch.chdir(tmp_path)
    with listen(Settings(port=0)) as listener:
        announce_server(Settings(), listener)
    command = next(line for line in capsys.readouterr().out.splitlines() if "topics create" in line)
    assert shlex.split(command)[:2] == ["a path/bin/topicfold", "topics"]


@pytest.mark.parametrize(("topic", "warned"), [("__change_events", False), ("__labels", False), ("labels", True)])
def test_a_log_in_a_topic_that_looks_like_an_ordinary_one_is_warned_of(topic: str, warned: bool) -> None:
    with capture_logs() as lines, listen(Settings(port=0)) as listener:
        announce_server(Settings(kafka_bootstrap="b:9092", kafka_topic=topic), listener)
    assert ("log_topic_is_ordinary" in [line["event"] for line in lines]) == warned
