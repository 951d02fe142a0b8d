"""`topicfold namespaces history` and `rollback`, `tenants history`, and reads of policies of namespaces with `--at`."""

from __future__ import annotations

import json
import re
import sys

import pytest

from tests.cli.conftest import Run
from tests.terminal import Terminal
from topicfold.client import Client

SPACE = "public/default"
KEPT = {"retentionTimeInMinutes": 10080, "retentionSizeInMB": -1}


@pytest.fixture
def versions(client: Client) -> list[str]:
    """The versions of a namespace that got a retention of a week, then one of an hour, by their offsets."""
    client.set_namespace_policy(SPACE, "retentionPolicies", KEPT, reason="SLA")
    client.set_namespace_policy(SPACE, "retentionPolicies", {**KEPT, "retentionTimeInMinutes": 60}, reason="too dear")
    return [str(entry.offset) for entry in reversed(client.namespace_history(SPACE).entries)]


def test_a_history_of_a_namespace_looks_like_one_of_a_topic(run: Run, versions: list[str]) -> None:
    shown = run("namespaces", "history", SPACE)
    assert (shown.code, shown.err) == (0, "")
    lines = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "T", shown.out).splitlines()
    assert re.fullmatch(r"VERSION +WHEN +WHO +WHY +CHANGE", lines[0])
    assert lines[1].split() == [
        versions[2], "T", "anonymous", "too", "dear", "policies.retentionPolicies.retentionTimeInMinutes:", "10080",
        "→", "60",
    ]  # fmt: skip
    assert lines[-1].split()[:2] == [versions[0], "T"]
    newest = json.loads(run("namespaces", "history", SPACE, "--limit", "1", "-o", "json").out)
    assert newest[0]["madeBy"][0]["reason"] == "too dear"
    assert "--limit 2" in run("namespaces", "history", SPACE, "--limit", "1").err


def test_a_policy_is_shown_as_it_was(run: Run, versions: list[str]) -> None:
    for command, at, shown in (("retention", versions[1], KEPT), ("retention", versions[0], None),
                               ("max-producers-per-topic", versions[0], None)):  # fmt: skip
        answer = run("namespaces", f"get-{command}", SPACE, "--at", at, "-o", "json")
        assert (answer.code, json.loads(answer.out), answer.err) == (0, shown, "")
    refused = run("namespaces", "get-schema-validation-enforce", SPACE, "--at", versions[0], "--applied")
    assert (refused.code, "only the namespace itself is kept as it was" in refused.err) == (2, True)


def test_going_back_restores_a_version_and_warns_of_what_kafka_deletes(
    run: Run, client: Client, versions: list[str]
) -> None:
    done = run("namespaces", "rollback", SPACE, "--to", versions[1], "--yes", "--reason", "as agreed")
    assert (done.code, done.err.splitlines()) == (0, [f"rolled back {SPACE}"])
    assert client.get_namespace_policy(SPACE, "retentionPolicies") == KEPT
    assert client.namespace_history(SPACE).entries[0].made_by[0].reason == "as agreed"
    again = run("namespaces", "rollback", SPACE, "--to", versions[1], "--yes")
    assert f"it was as in version {versions[1]} before" in again.err
    lowered = run("namespaces", "rollback", SPACE, "--to", versions[2], "--yes")
    assert "that keeps less than before: Kafka then deletes the rest" in lowered.err


def test_going_back_shows_what_it_undoes_before_it_asks(
    run: Run, client: Client, versions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    asked = run("namespaces", "rollback", SPACE, "--to", versions[1])
    assert asked.code == 1
    assert "policies.retentionPolicies.retentionTimeInMinutes: 10080 → 60" in asked.err
    assert "where that keeps less than before, Kafka then deletes the rest" in asked.err.partition("This undoes")[0]
    assert f"This undoes 1 change of {SPACE} since version {versions[1]}; its topics and grants stay." in asked.err
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert run("namespaces", "rollback", SPACE, "--to", versions[1]).code == 0
    assert client.get_namespace_policy(SPACE, "retentionPolicies") == KEPT


@pytest.mark.usefixtures("nobody")
def test_what_cannot_be_gone_back_to_is_refused_with_what_to_type_next(run: Run, versions: list[str]) -> None:
    for words, code, hint in (
        (("--to", "99999", "--yes"), 3, f"topicfold namespaces history {SPACE}; near it are {versions[2]}"),
        (("--to", "x!", "--yes"), 2, f"topicfold namespaces history {SPACE}"),
        (("--to", versions[1], "--yes", "--if-match", "1.1"), 4, f"topicfold namespaces history {SPACE}, then try"),
    ):
        refused = run("namespaces", "rollback", SPACE, *words)
        assert (refused.code, hint in refused.err) == (code, True), refused.err
    missing = run("namespaces", "rollback", "public/none", "--to", "1", "--yes")
    assert (missing.code, "topicfold namespaces create public/none" in missing.err) == (3, True)
    assert run("namespaces", "history", "public/none").code == 3


@pytest.mark.usefixtures("nobody")
def test_a_tenant_has_a_history_too(run: Run, client: Client) -> None:
    client.create_tenant("acme", admin_roles=["ops"])
    client.update_tenant("acme", admin_roles=["sre"], reason="new team")
    shown = run("tenants", "history", "acme", "--limit", "1")
    assert shown.code == 0
    assert shown.out.splitlines()[1].endswith('new team  adminRoles: ["ops"] → ["sre"]')
    missing = run("tenants", "history", "none")
    assert (missing.code, "hint: topicfold tenants list\n" in missing.err) == (3, True)
