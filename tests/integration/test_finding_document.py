"""The examples of `docs/finding.md` print what it shows, typed as they stand."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.node import running

DOCUMENT = (Path(__file__).parents[2] / "docs" / "finding.md").read_text()


def blocks(language: str) -> list[str]:
    """Return the document's code blocks in `language`."""
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)


def timeless(text: str) -> str:
    """Return what was printed without positions and random ids, shortened as the document does."""
    text = re.sub(r'"A[Q-f][\w-]{20,}"', '"AQ…"', text)
    return re.sub(r'"[0-9a-f]{32}(\.\d+)?"', r'"0a…\1"', text)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A node with the topics that the examples are about."""
    path = tmp_path_factory.mktemp("node")
    with running(["--log", str(path / "log.db")], path) as (node,):
        (setting_up,) = blocks("sh")
        shell(f"set -e\n{setting_up}", node.url)
        yield node.url


def shell(script: str, url: str) -> str:
    """Run commands in a shell that knows the node as $URL; return what they print."""
    ran = subprocess.run(["sh", "-c", script.replace("curl ", "curl -sS ")], env={**os.environ, "URL": url},
                         capture_output=True, text=True, check=True, timeout=30)  # fmt: skip
    return ran.stdout.strip()


@pytest.mark.parametrize("example", "".join(blocks("console")).strip().split("$ ")[1:])
def test_an_example_prints_what_the_document_shows(url: str, example: str) -> None:
    command, _, shown = example.partition("\n")
    assert timeless(shell(command, url)) == shown.strip()


async def test_the_listing_of_ones_own_lists_what_it_says() -> None:
    (source,) = blocks("python")
    names: dict[str, Any] = {}
    exec(source, names)
    listed = await names["Listing"]().list("public/default", "ALL", {"only": "logs"})
    assert listed == ["persistent://public/default/logs"]
