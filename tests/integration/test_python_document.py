"""`docs/python.md` names the methods there are, and its examples do what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.node import running
from tests.markdown import code_blocks
from topicfold.client import AsyncClient, Client

DOCUMENT = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
METHODS = DOCUMENT.partition("## Methods")[2].partition("\n## ")[0]
OF_EVERY_CALL = {"perform", "page_through", "follow", "ending"}
"""What the other methods are made of."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("node")
    with running(["--log", str(directory / "log.db")], directory) as (node,):
        yield node.url


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_the_document_names_every_method_and_no_other(client: type) -> None:
    told = set(re.findall(r"`(\w+)`", "".join(line for line in METHODS.splitlines() if line.startswith("| "))))
    there = {name for name in dir(client) if not name.startswith("_")} - OF_EVERY_CALL
    assert told - {"at"} == there


def test_the_examples_do_what_the_document_says(url: str) -> None:
    printed = [
        subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=60).stdout
        for text in (each.replace("http://127.0.0.1:8080", url) for each in code_blocks(DOCUMENT, "python"))
    ]
    (told,) = code_blocks(DOCUMENT, "text")
    invoices, payouts = (f"persistent://public/default/{name}" for name in ("invoices", "payouts"))
    first, following, last, _ = printed
    assert (first, last) == (told, f"{invoices}\n")
    assert sorted(following.splitlines()) == [f"Added {invoices}", f"Added {payouts}", f"gone {payouts}"]
