"""The examples of `docs/policies.md` do what it says, one after another, on the topic that it says they are of."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.integration.node import running
from tests.markdown import code_blocks
from topicfold.client import Client

DOCUMENT = (Path(__file__).parents[2] / "docs" / "policies.md").read_text()
PYTHON, TABLE, CONVENTION, BY_LABEL = code_blocks(DOCUMENT, "python")
MADE, PATCHED, APPLIED = code_blocks(DOCUMENT, "sh")
(OWNERS,) = code_blocks(DOCUMENT, "csv")


def run(*words: str, directory: Path | None = None) -> str:
    """Run a command that has to succeed, and return what it prints."""
    return subprocess.run(words, check=True, timeout=60, cwd=directory, stdout=subprocess.PIPE, text=True).stdout


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


def test_topics_get_a_policy_by_their_label(tmp_path: Path) -> None:
    with running(["--log", str(tmp_path / "log.db")], tmp_path) as (node,), Client(node.url) as client:
        for name, labels in (("orders", {"tier": "gold"}), ("refunds", {"tier": "silver"}), ("logs", {})):
            client.create_topic(name, labels=labels)
        for _ in range(2):
            run(sys.executable, "-c", BY_LABEL.replace("Client()", f"Client({node.url!r})"))
        kept = {name: client.get_policy(name, "retentionPolicies") for name in ("orders", "refunds", "logs")}
        changes = client.history("orders").entries
    assert kept == {
        "orders": {"retentionTimeInMinutes": 129_600, "retentionSizeInMB": -1},
        "refunds": {"retentionTimeInMinutes": 10_080, "retentionSizeInMB": -1},
        "logs": None,
    }
    assert len(changes) == 2


def test_a_table_of_owners_labels_the_topics_that_there_are_and_makes_none(tmp_path: Path) -> None:
    (tmp_path / "owners.csv").write_text(OWNERS)
    with running(["--log", str(tmp_path / "log.db")], tmp_path) as (node,), Client(node.url) as client:
        client.create_topic("orders", labels={"tier": "silver", "stage": "test"})
        told = run(sys.executable, "-c", TABLE.replace("Client()", f"Client({node.url!r})"), directory=tmp_path)
        assert told == "no such topic: persistent://public/default/ordrs\n"
        topicfold = f"{shlex.quote(sys.executable)} -m topicfold --url {node.url} "
        applied = APPLIED.replace("topicfold ", topicfold)
        assert run("sh", "-ec", applied, directory=tmp_path).count("labels.tier") == 2
        (orders,) = client.topics(page_size=None)
    assert orders.labels == {"owner": "payments", "tier": "gold", "stage": "test"}


def test_topics_get_labels_of_their_names_where_these_follow_the_convention(tmp_path: Path) -> None:
    with running(["--log", str(tmp_path / "log.db")], tmp_path) as (node,), Client(node.url) as client:
        for name in ("payments.prod.orders", "payments.prod.orders.retry", "payments.orders", "legacy"):
            client.create_topic(name, labels={"tier": "gold"})
        client.create_topic("payments.prod.trial", labels={"tier": "gold", "env": "staging"})
        run(sys.executable, "-c", CONVENTION.replace("Client()", f"Client({node.url!r})"), directory=tmp_path)
        topicfold = f"{shlex.quote(sys.executable)} -m topicfold --url {node.url} "
        run("sh", "-ec", f"{topicfold} policies apply -f names.json", directory=tmp_path)
        found = {topic.name.rpartition("/")[2]: dict(topic.labels) for topic in client.topics("team,env,tier=gold")}
    labels = {"team": "payments", "env": "prod", "tier": "gold"}
    assert found == {
        "payments.prod.orders": labels,
        "payments.prod.orders.retry": labels,
        "payments.prod.trial": labels | {"env": "staging"},
    }
