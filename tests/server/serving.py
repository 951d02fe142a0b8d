"""Servers that are processes of their own, on a log in a file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = """
import sys
from topicfold.server.run import serve
from topicfold.settings import Settings
sys.exit(serve(Settings(**eval(sys.argv[1])), is_quiet="quiet" in sys.argv))
"""


def command(**settings: object) -> list[str]:
    """Return the command that serves with these settings."""
    return [sys.executable, "-c", PROGRAM, repr(settings)]


@contextmanager
def served(log_file: Path, **settings: Any) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a server on a log in a file; gives the process and its URL."""
    arguments = command(port=0, log_file=str(log_file), **settings)
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = next(line for line in process.stderr if '"serving"' in line)
            yield process, json.loads(line)["url"]
        finally:
            process.kill()
