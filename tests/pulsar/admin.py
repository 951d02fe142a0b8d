"""Pulsar's Java admin tool, many commands in one JVM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from tests.prerequisites import SHORT_LIVED_JVM
from tests.pulsar.admin_jars import jars, java
from tests.pulsar.answering import AnsweringProcess

_RUNNER = Path(__file__).with_name("AdminRunner.java")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one command did."""

    exit: int
    out: str
    err: str


class PulsarAdmin:
    """The tool; each command goes to the next of the nodes."""

    def __init__(self, process: AnsweringProcess, urls: Sequence[str]) -> None:
        self._process = process
        self._urls = cycle(urls)

    def run(self, *command: str) -> Outcome:
        """Run `pulsar-admin` with these arguments."""
        return Outcome(**self._process.ask(["--admin-url", next(self._urls), *command]))

    def done(self, *command: str) -> str:
        """Run a command that must succeed; return what it printed."""
        outcome = self.run(*command)
        assert outcome.exit == 0, (command, outcome.err)
        return outcome.out

    def refused(self, *command: str) -> str:
        """Run a command that must fail; return the reason that it gave."""
        outcome = self.run(*command)
        assert outcome.exit == 1, (command, outcome.out)
        return outcome.err


@contextmanager
def tool_process(directory: Path) -> Iterator[AnsweringProcess]:
    """Run the tool's JVM meanwhile; its own output goes to `directory`.

    Raises:
        Unavailable: there is no Java, or its jars cannot be had.
    """
    options = ["-Xmx256m", "-XX:+UseSerialGC", SHORT_LIVED_JVM]
    command = [java(), *options, "-cp", f"{jars()}/*", str(_RUNNER)]
    with AnsweringProcess(command, directory, directory / "pulsar-admin.log") as process:
        yield process
