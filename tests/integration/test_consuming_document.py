"""The examples of `docs/consuming.md` do what it says, typed as they stand."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.consuming import Topics
from tests.integration.node import running
from tests.markdown import code_blocks

pytestmark = pytest.mark.kafka

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "consuming.md").read_text()
TOPICS = ["orders__eu", "refunds__us", "parcels__eu"]


def code(language: str) -> str:
    """Return the document's code in `language`."""
    return "".join(code_blocks(DOCUMENT, language))


def examples() -> list[tuple[str, list[str]]]:
    """Return each command of the document with the lines that it shows."""
    parts = [part.splitlines() for part in code("console").split("$ ")[1:]]
    return [(lines[0], lines[1:]) for lines in parts]


class Place:
    """A server and a cluster, and how the document's commands find them."""

    def __init__(self, url: str, bootstrap: str) -> None:
        self.url = url
        self.bootstrap = bootstrap

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start Python with these words."""
        here = [
            word.replace("broker:9092", self.bootstrap).replace("http://127.0.0.1:8080", self.url) for word in words
        ]
        own = {
            "PYTHONPATH": str(ROOT / "engine"),
            "TOPICFOLD_URL": self.url,
            "PYTHONUNBUFFERED": "1",
            "XDG_CONFIG_HOME": os.devnull,
        }
        return subprocess.Popen(
            [sys.executable, *here],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **own},
        )

    def run(self, *words: str) -> None:
        """Return when a command has ended well."""
        process = self.start(*words)
        process.communicate(timeout=60)
        assert process.returncode == 0

    def shown(self, count: int, *words: str) -> list[str]:
        """Return the first lines that are printed, then press Ctrl-C."""
        process = self.start(*words)
        assert process.stdout is not None
        try:
            return [process.stdout.readline().rstrip("\n") for _ in range(count)]
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)


@pytest.fixture(scope="module")
def place(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """What the examples are about."""
    directory = tmp_path_factory.mktemp("node")
    topics = Topics(kafka_bootstrap)
    for name in TOPICS:
        topics.make(name, partitions=1)
        topics.produce(name, f"a record of {name}", None)
    with running(["--log", str(directory / "log.db")], directory) as (node,):
        place = Place(node.url, kafka_bootstrap)
        for line in code("sh").splitlines():
            place.run("-m", *shlex.split(line))
        yield place
    for name in TOPICS:
        topics.delete(name)


@pytest.mark.parametrize(("command", "shown"), examples(), ids=lambda part: part if isinstance(part, str) else "")
def test_a_command_prints_what_the_document_shows(place: Place, command: str, shown: list[str]) -> None:
    printed = place.shown(len(shown), "-m", *shlex.split(command))
    timeless = [re.sub(r"^\d{4}-\d\d-\d\dT[0-9:.]+Z", "2026-11-21T18:10:07.352Z", line) for line in printed]
    assert timeless == shown


def test_the_ten_lines_of_python_consume_what_matches_records_without_a_value_too(place: Place) -> None:
    printed = place.shown(3, "-c", code("python"))
    assert printed == [
        "came: persistent://public/default/orders__eu went:",
        "orders__eu b'a record of orders__eu'",
        "orders__eu None",
    ]
