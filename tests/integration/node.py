"""A node as its users run it: a process of its own, reached over HTTP on loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests import plain_http
from tests.ports import free_ports

START_SECONDS = 120.0
AGREE_SECONDS = 60.0


class Node:
    """One `topicfold serve`; `options` choose the log, `settings` are those that have no option."""

    def __init__(self, options: Sequence[str], output: Path, settings: Mapping[str, str] | None = None) -> None:
        self.options = options
        self.settings = {f"TOPICFOLD_{name.upper()}": value for name, value in (settings or {}).items()}
        self.output = output
        (self.port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def launch(self) -> None:
        """Start the process without waiting for it."""
        with self.output.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "topicfold", "serve", *self.options, "--port", str(self.port)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, **self.settings, "NO_COLOR": "1", "PYTHONFAULTHANDLER": "1"},
            )

    def start(self) -> None:
        """Start the process and return once it is ready."""
        self.launch()
        self.wait_ready()

    def wait_ready(self) -> None:
        """Return once `/readyz` says so; fail with the node's own output if it ends or takes too long."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.process is not None
            if self.process.poll() is not None:
                break
            try:
                if plain_http.get(f"{self.url}/readyz", timeout=10).status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"node is not ready; it said:\n{self.output.read_text()}")

    def said_at_end(self, code: int) -> str:
        """Return what a process says that ends by itself with this exit code."""
        assert self.process is not None
        ended, said = self.process.wait(60), self.output.read_text()
        assert ended == code, f"it ended with {ended} and said:\n{said}"
        return said

    def kill(self) -> None:
        """End the process as a power cut would."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def stop(self) -> int:
        """End the process politely and return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def health(self) -> dict[str, Any]:
        """Return all that `/readyz` can say."""
        answer: dict[str, Any] = plain_http.get(f"{self.url}/readyz?verbose&digests", timeout=10).json()
        return answer

    def digests(self) -> dict[str, tuple[int, str]]:
        """Return (position, digest) of each partition."""
        return {number: (each["position"], each["digest"]) for number, each in self.health()["partitions"].items()}


def agree(nodes: Sequence[Node]) -> bool:
    """Return whether all nodes have equal digests, once they are at equal positions; what they log moves these."""
    deadline = time.monotonic() + AGREE_SECONDS
    while time.monotonic() < deadline:
        seen = [node.digests() for node in nodes]
        if all(each == seen[0] for each in seen):
            return True
        time.sleep(0.05)
    return False


@contextmanager
def running(
    options: Sequence[str], directory: Path, count: int = 1, settings: Mapping[str, str] | None = None
) -> Iterator[list[Node]]:
    """Run `count` nodes on one log, ready when the block begins, gone when it ends.

    With `TOPICFOLD_TEST_TRIMS` the log is trimmed all the while, and nodes start from the snapshot that stands for it.
    """
    with ExitStack() as stack:
        if is_trimmed() and "--snapshot" not in options:
            from tests.integration.trims import trimmed

            options = stack.enter_context(trimmed(options, directory))
        nodes = [Node(options, directory / f"node{number}.log", settings) for number in range(count)]
        stack.callback(_end, nodes)
        for node in nodes:
            node.launch()
        for node in nodes:
            node.wait_ready()
        yield nodes


def _end(nodes: Sequence[Node]) -> None:
    for node in nodes:
        if node.process is not None and node.process.poll() is None:
            node.kill()


def is_trimmed() -> bool:
    """Return whether this run of the tests trims every log all the while."""
    return bool(os.environ.get("TOPICFOLD_TEST_TRIMS"))
