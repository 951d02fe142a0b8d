"""The examples of `docs/past.md` print what it shows, typed as they stand, on a log that was trimmed behind them."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.integration.command import environment_in
from tests.integration.node import running
from tests.markdown import code_blocks
from tests.snapshot.making import compacted_further
from topicfold.log.sqlite import SqliteLog

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "past.md").read_text()


def timeless(text: str) -> str:
    """Return what was printed without the times in it."""
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "WHEN", text)


def run(script: str, environment: Mapping[str, str]) -> str:
    """Run commands in a shell; return what they print."""
    ran = subprocess.run(
        ["sh", "-c", script.replace("curl ", "curl -sS ")], env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    return ran.stdout.strip()


async def compact(log_file: Path, root: Path) -> None:
    """Write two commits, so that all before the first may be trimmed."""
    log = await SqliteLog.open(log_file)
    ends = await log.end_offsets()
    for until in ({partition: max(end - 1, 0) for partition, end in ends.items()}, None):
        await compacted_further(log, root, until)
    await log.close()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What the examples find: the command, a node whose log was trimmed, and the time that they speak of."""
    path = tmp_path_factory.mktemp("node")
    log_file, snapshot = path / "log.db", path / "snapshot"
    # Versions are offsets; digest records come between them, as time goes by.
    options = ["--log", str(log_file), "--snapshot", str(snapshot)]
    with running(options, path, settings={"digest_within_seconds": "0"}) as (node,):
        environment = {**environment_in(path), "URL": node.url, "TOPICFOLD_URL": node.url}
        script = "".join(code_blocks(DOCUMENT, "sh"))
        then = run(f"set -e\n{script}\necho $THEN", environment).splitlines()[-1]
        asyncio.run(compact(log_file, snapshot))
        trimmed = run(f"topicfold trim --log {log_file} --snapshot {snapshot} --grace 0s", environment)
        assert re.search(r"is gone: [1-9]", trimmed), trimmed
        yield {**environment, "THEN": then}


@pytest.mark.parametrize("example", "".join(code_blocks(DOCUMENT, "console")).strip().split("$ topicfold ")[1:])
def test_an_example_prints_what_the_document_shows(environment: dict[str, str], example: str) -> None:
    for each in f"$ topicfold {example}".split("\n$ "):
        command, _, shown = each.removeprefix("$ ").partition("\n")
        expected = shown.replace("$THEN", environment["THEN"])
        assert timeless(run(command, environment)) == timeless(expected).strip()
