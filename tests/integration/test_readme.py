"""The README's examples do what it says, typed as they stand."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.integration.node import running
from tests.markdown import code_blocks

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def typed() -> str:
    """Return the commands with what they print, in the order of the page; `curl` prints nothing that is shown."""
    blocks = re.findall(r"```(console|sh)\n(.*?)```", README, re.DOTALL)
    return "".join(text if language == "console" else _changes_by_curl(text) for language, text in blocks)


def _changes_by_curl(text: str) -> str:
    commands = [line for line in text.replace("\\\n", " ").splitlines() if line.startswith("curl -X")]
    return "".join(f"$ {command} -sS\n" for command in commands)


def timeless(line: str) -> str:
    """Return a line without the times in it."""
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "WHEN", line)


@pytest.mark.usefixtures("untrimmed")
def test_the_first_minute_prints_what_the_readme_shows(environment: dict[str, str], tmp_path: Path) -> None:
    # Versions are offsets; digest records come between them, as time goes by.
    with running(["--log", str(tmp_path / "log.db")], tmp_path, settings={"digest_within_seconds": "0"}) as (node,):
        printed = []
        for line in typed().splitlines():
            if line.startswith("$ "):
                said = subprocess.run(
                    shlex.split(line[2:].replace("http://127.0.0.1:8080", node.url)),
                    cwd=tmp_path,
                    env={**environment, "TOPICFOLD_URL": node.url},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    check=True,
                    timeout=30,
                ).stdout
                printed += [line, *said.rstrip().splitlines()]
        assert [timeless(line.rstrip()) for line in printed] == [timeless(line) for line in typed().splitlines()]


def test_the_curl_examples_find_what_they_set(tmp_path: Path) -> None:
    set_labels, find = re.findall(r"curl .*?(?=\ncurl|\Z)", _curl_block(), re.DOTALL)
    with running(["--log", str(tmp_path / "log.db")], tmp_path) as (node,):
        _curl(f"curl -X PUT {node.url}/admin/v2/persistent/public/default/refunds", node.url)
        assert _curl(set_labels, node.url) == ""
        found = _curl(find.replace("team:payments", "region:eu"), node.url)
        assert found == '["persistent://public/default/refunds"]'


def _curl_block() -> str:
    return next(block for block in code_blocks(README, "sh") if block.startswith("curl"))


def _curl(command: str, url: str) -> str:
    """Run one of the README's commands against `url` and return what it prints."""
    words = shlex.split(command.replace("\\\n", " ").replace("http://127.0.0.1:8080", url))
    return subprocess.run([*words, "-sS", "--fail"], capture_output=True, text=True, check=True, timeout=30).stdout
