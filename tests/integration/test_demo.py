"""`topicfold demo` as a user runs it: what it prints can be typed, and nothing is left of it."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

TOPICFOLD = [sys.executable, "-m", "topicfold"]


@contextmanager
def demo(home: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A demo whose temporary files are in `home`, where everything else says to serve what is somebody's."""
    elsewhere = {
        "TMPDIR": str(home), "TOPICFOLD_KAFKA_BOOTSTRAP": "localhost:1", "TOPICFOLD_PORT": "1",
        "TOPICFOLD_LOG_FILE": str(home / "mine.db"),
    }  # fmt: skip
    process = subprocess.Popen(
        [*TOPICFOLD, "demo", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **elsewhere},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def announced(process: subprocess.Popen[str]) -> str:
    """Return what a demo prints before it waits."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "report labels" in line:
            break
    return "".join(lines)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_it_prints_can_be_typed_and_nothing_is_left(tmp_path: Path, number: signal.Signals) -> None:
    with demo(tmp_path, "--port", "0") as process:
        told = announced(process)
        urls = re.findall(r"^  (http\S+)$", told, re.MULTILINE)
        commands = [line.strip() for line in told.splitlines() if line.startswith("  ") and " --url " in line]
        assert (len(urls), len(commands)) == (3, 4)
        for url in urls:
            with urlopen(url) as answer:
                assert answer.status == 200
        outputs = {}
        for command in commands:
            words = shlex.split(command)
            typed = [each for each in words[1:] if each != "-w"]
            done = subprocess.run([*TOPICFOLD, *typed], capture_output=True, text=True, check=True)
            outputs[" ".join(words[1:3])] = done.stdout + done.stderr
        assert "set tier=gold on persistent://shop/payments/refund__issued__br" in outputs["topics set-custom-labels"]
        assert "refund__issued__eu" in outputs["topics list"]
        assert "SLA 2026" in outputs["history shop/payments/refund__issued__eu"]
        assert "paymnts" in outputs["report labels"]
        process.send_signal(number)
        assert process.wait(timeout=30) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with demo(tmp_path, "--port", str(taken.getsockname()[1])) as process:
            assert process.stderr is not None
            assert f"port {taken.getsockname()[1]} of 127.0.0.1 cannot be listened on" in process.stderr.read()
            assert process.wait(timeout=30) == 2
    assert list(tmp_path.iterdir()) == []
