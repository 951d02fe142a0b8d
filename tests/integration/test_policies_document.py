"""The examples of `docs/policies.md` do what it says, one after another, on the topic that it says they are of."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.integration.node import running
from tests.markdown import code_blocks
from topicfold.client import Client

DOCUMENT = (Path(__file__).parents[2] / "docs" / "policies.md").read_text()
(PYTHON,) = code_blocks(DOCUMENT, "python")
MADE, PATCHED = code_blocks(DOCUMENT, "sh")


def run(*words: str) -> None:
    """Run a command that has to succeed."""
    subprocess.run(words, check=True, timeout=60)


def test_the_examples_do_what_the_document_says(tmp_path: Path) -> None:
    with running(["--log", str(tmp_path / "log.db")], tmp_path) as (node,), Client(node.url) as client:
        for topic in re.findall("^topicfold topics create (.*)$", MADE, re.MULTILINE):
            client.create_topic(topic)
        run(sys.executable, "-c", PYTHON.replace("Client()", f"Client({node.url!r})"))
        assert client.effective("orders")["policies"]["retentionPolicies"]["origin"] == "topic"
        client.set_labels("orders", {"stage": "test"})
        run("sh", "-c", PATCHED.replace("http://127.0.0.1:8080", node.url).replace("curl ", "curl -sSf "))
        assert client.get_labels("orders") == {"tier": "gold"}
        kept = client.get_policy("orders", "retentionPolicies")
        assert kept == {"retentionTimeInMinutes": 60, "retentionSizeInMB": 20}
