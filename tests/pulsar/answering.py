"""A process that answers each line of JSON with one line of JSON: both clients are driven this way."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class AnsweringProcess:
    """The process; a context manager that ends it. What it says besides its answers is in `output`."""

    def __init__(self, command: Sequence[str], directory: Path, output: Path) -> None:
        self._output = output
        with output.open("wb") as out:
            self._process = subprocess.Popen(
                command, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=out, text=True
            )

    def ask(self, question: Sequence[Any]) -> Any:
        """Return what it answers to one line; fails with its own output if it has ended."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"{self._process.args!r} ended; it said:\n{self._output.read_text()}"
        return json.loads(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
