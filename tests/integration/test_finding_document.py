"""The examples of `docs/finding.md` print what it shows, typed as they stand."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.node import running
from tests.markdown import code_blocks

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "finding.md").read_text()


def timeless(text: str) -> str:
    """Return what was printed without positions and random ids, shortened as the document does."""
    text = re.sub(r'"A[Q-f][\w.-]{20,}"', '"AQ…"', text)
    return re.sub(r'"[0-9a-f]{32}(\.\d+)?"', r'"0a…\1"', text)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A node with the topics that the examples are about."""
    with with_topics(tmp_path_factory.mktemp("node")) as url:
        yield url


@contextmanager
def with_topics(directory: Path) -> Iterator[str]:
    """Run a node with the topics that the examples are about, on `log.db`; gives its URL.

    Nobody trims it beside: an example folds it from its beginning, and copies of the header are more bookmarks.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TOPICFOLD_TEST_TRIMS", raising=False)
        yield from _with_topics(directory)


def _with_topics(directory: Path) -> Iterator[str]:
    with running(["--log", str(directory / "log.db")], directory) as (node,):
        (setting_up,) = code_blocks(DOCUMENT, "sh")
        shell(f"set -e\n{setting_up}", node.url)
        yield node.url


def shell(script: str, url: str) -> str:
    """Run commands in a shell that knows the node as $URL; return what they print."""
    ran = subprocess.run(["sh", "-c", script.replace("curl ", "curl -sS ")], env={**os.environ, "URL": url},
                         capture_output=True, text=True, check=True, timeout=30)  # fmt: skip
    return ran.stdout.strip()


@pytest.mark.parametrize("example", "".join(code_blocks(DOCUMENT, "console")).strip().split("$ ")[1:])
def test_an_example_prints_what_the_document_shows(url: str, example: str) -> None:
    command, _, shown = example.partition("\n")
    assert timeless(shell(command, url)) == shown.strip()


async def test_the_listing_of_ones_own_lists_what_it_says() -> None:
    (source,) = code_blocks(DOCUMENT, "python")
    names: dict[str, Any] = {}
    exec(source, names)
    listed = await names["Listing"]().list("public/default", "ALL", {"only": "logs"})
    assert listed == ["persistent://public/default/logs"]


async def test_the_service_in_the_same_process_tells_what_the_document_says(tmp_path: Path) -> None:
    source = code_blocks((ROOT / "docs" / "python.md").read_text(), "python")[-1]
    names: dict[str, Any] = {}
    exec(source, names)
    told: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()

    async def listener(topic: str, labels: Any) -> None:
        await told.put((topic, labels))

    with with_topics(tmp_path) as url:
        engine, service, pay, keys = await names["tell_of_labels"](tmp_path / "log.db", listener)
        body = '-H "Content-Type: application/json" -d \'{"labels": {"team": "ship"}}\''
        shell(f'curl -X PUT "$URL/api/v1/topics/public/default/late" {body}', url)
        created = await asyncio.wait_for(told.get(), 10)
        shell('curl -X DELETE "$URL/api/v1/topics/public/default/late"', url)
        deleted = await asyncio.wait_for(told.get(), 10)
        await names["end"](engine, service)
    assert pay == [f"persistent://public/default/{name}" for name in ("pay__invoice__eu", "pay__refund")]
    assert f"# {json.dumps(keys)}" in source
    late = "persistent://public/default/late"
    assert [created, deleted] == [(late, {"team": "ship"}), (late, None)]
