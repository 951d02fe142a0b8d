"""The command of this checkout: run to its end, or put where a shell finds it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from tests.prerequisites import CHECKOUT


def topicfold(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, with `environment` beside this process's own."""
    return subprocess.run(
        [sys.executable, "-m", "topicfold", *arguments], env={**os.environ, **environment},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def environment_in(directory: Path) -> dict[str, str]:
    """Return an environment in which `topicfold` is the command, which is put into `directory`."""
    command = directory / "bin" / "topicfold"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m topicfold "$@"\n')
    command.chmod(0o755)
    own = {"PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": str(CHECKOUT / "engine"), "PYTHONUTF8": "1"}
    return {**os.environ, **own, "XDG_CONFIG_HOME": str(directory)}
