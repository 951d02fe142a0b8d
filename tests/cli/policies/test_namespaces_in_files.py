"""Namespaces in files of desired state: exported, compared, made so, and as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run
from topicfold.client import Client
from topicfold.errors import Forbidden

pytestmark = pytest.mark.usefixtures("nobody")
SPACE = "public/default"
KEPT = {"retentionTimeInMinutes": 10080, "retentionSizeInMB": -1}
DELETES = "where that keeps less than before, Kafka then deletes the rest, and no rollback brings that back"


@pytest.fixture
def file(run: Run, client: Client, tmp_path: Path) -> Path:
    """An export of a namespace with a retention and a property, and one topic."""
    client.patch_namespace(SPACE, {"properties": {"owner": "ann"}, "policies": {"retentionPolicies": KEPT}})
    client.create_topic("orders", labels={"team": "pay"})
    file = tmp_path / "space.yaml"
    assert run("policies", "export", SPACE, "-f", str(file)).err == f"wrote 1 namespace and 1 topic to {file}\n"
    return file


def test_an_export_has_the_namespaces_first_and_in_full(run: Run, client: Client, file: Path) -> None:
    assert list(yaml.safe_load(file.read_text()).items()) == [
        ("namespaces", [{"name": SPACE, "properties": {"owner": "ann"}, "policies": {"retentionPolicies": KEPT}}]),
        ("topics", [{"name": "persistent://public/default/orders", "labels": {"team": "pay"}}]),
    ]
    client.create_namespace("public/bare")
    both = json.loads(run("policies", "export", "public/*", "-o", "json").out)
    assert both["namespaces"][0] == {"name": "public/bare", "properties": {}, "policies": {}}
    assert run("policies", "export", "public/*", "-o", "name").out.splitlines() == [
        "public/bare", SPACE, "persistent://public/default/orders",
    ]  # fmt: skip


def test_drift_of_a_namespace_is_told_also_where_the_file_has_nothing(run: Run, client: Client, file: Path) -> None:
    same = run("policies", "diff", "-f", str(file))
    assert (same.code, same.out, same.err) == (0, "", "0 of 2 namespaces and topics differ\n")
    client.patch_namespace(
        SPACE, {"properties": {"new": "x"}, "policies": {"retentionPolicies": None, "messageTTLInSeconds": 5}}
    )
    found = run("policies", "diff", "-f", str(file))
    assert found.code == 1
    assert found.out.splitlines() == [
        "NAME            FIELD                                              OLD → NEW",
        "public/default  properties.new                                     x → – (removed)",
        "                policies.messageTTLInSeconds                       5 → – (removed)",
        "                policies.retentionPolicies.retentionSizeInMB       – → -1",
        "                policies.retentionPolicies.retentionTimeInMinutes  – → 10080",
    ]
    (told,) = json.loads(run("policies", "diff", "-f", str(file), "-o", "json").out)
    assert (told["namespace"], told["new"], told["problem"]) == (SPACE, False, "")


def test_what_differs_is_applied_in_one_update_and_then_nothing_is_left_to_do(
    run: Run, client: Client, file: Path
) -> None:
    file.write_text(file.read_text().replace("10080", "20160").replace("owner: ann", "owner: bob"))
    before = client.namespace_history(SPACE).entries
    tried = run("policies", "apply", "-f", str(file), "--dry-run", "--no-progress")
    assert (tried.code, tried.err) == (0, "would change 1 namespace: 2 changed; 0 would be refused\n")
    assert client.namespace_history(SPACE).entries == before
    done = run("policies", "apply", "-f", str(file), "--reason", "review")
    assert (done.code, done.err.splitlines()[-1]) == (0, "changed 1 namespace, 0 failed")
    entries = client.namespace_history(SPACE).entries
    assert (len(entries), entries[0].made_by[0].reason) == (len(before) + 1, "review")
    assert run("policies", "apply", "-f", str(file)).err == "changed 0 topics, 0 failed\n"
    assert client.namespace_history(SPACE).entries == entries


def test_what_a_file_does_not_say_of_a_namespace_stays(run: Run, client: Client, tmp_path: Path, file: Path) -> None:
    some = tmp_path / "some.yaml"
    some.write_text("namespaces: [{name: public/default, properties: {}}]")
    assert run("policies", "apply", "-f", str(some)).code == 0
    record = client.get_namespace_record(SPACE)
    assert (record.properties, record.policies) == ({}, {"retentionPolicies": KEPT})
    some.write_text("topics: [{name: orders, labels: {team: ship}}]")
    assert run("policies", "apply", "-f", str(some)).err.endswith("changed 1 topic, 0 failed\n")
    assert client.get_namespace_record(SPACE) == record


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_a_retention_that_may_keep_less_is_told(run: Run, client: Client, file: Path, options: list[str]) -> None:
    text = file.read_text()
    file.write_text(text.replace("10080", "60"))
    assert f"retention of 1 namespace: 'topicfold enforce' writes it into Kafka, while that runs; {DELETES}\n" in (
        run("policies", "apply", "-f", str(file), *options).err
    )
    client.set_namespace_policy(SPACE, "retentionPolicies", KEPT)
    file.write_text(text.replace("10080", "20160").replace("ann", "bob"))
    assert "Kafka" not in run("policies", "apply", "-f", str(file), *options).err
    client.set_policy("orders", "retentionPolicies", KEPT)
    wanted = "{retentionTimeInMinutes: 60, retentionSizeInMB: -1}"
    file.write_text(f"topics: [{{name: orders, policies: {{local: {{retentionPolicies: {wanted}}}}}}}]")
    assert "retention of 1 topic: 'topicfold" in run("policies", "apply", "-f", str(file), *options).err


def test_a_namespace_that_is_refused_stays_whole_and_the_others_are_done(run: Run, client: Client, file: Path) -> None:
    text = file.read_text().replace("owner: ann", "owner: bob").replace("team: pay", "team: ship")
    file.write_text(text.replace("policies: {", "policies: {replicationClusters: [nosuch], ", 1))
    if "nosuch" not in file.read_text():
        file.write_text(text.replace("  policies:\n", "  policies:\n    replicationClusters: [nosuch]\n", 1))
    tried, done = (run("policies", "apply", "-f", str(file), *words) for words in (["--dry-run"], ["--no-progress"]))
    assert (tried.code, done.code) == (7, 7)
    assert [line for line in tried.err.splitlines() if line.startswith("error: ")] == [
        line for line in done.err.splitlines() if line.startswith("error: ")
    ]
    assert "changed 1 topic, 1 failed" in done.err
    assert client.get_namespace_record(SPACE).properties == {"owner": "ann"}
    assert client.get_labels("orders") == {"team": "ship"}


def test_a_namespace_that_somebody_changes_meanwhile_is_left_alone(
    run: Run, client: Client, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from topicfold.client.applying import apply_steps

    def late(*arguments: object) -> object:
        client.patch_namespace(SPACE, {"properties": {"owner": "eve"}})
        return apply_steps(*arguments)  # type: ignore[arg-type]

    file.write_text(file.read_text().replace("owner: ann", "owner: bob"))
    monkeypatch.setattr("topicfold.client.applying.apply_steps", late)
    done = run("policies", "apply", "-f", str(file))
    assert (done.code, f"error: {SPACE} has another version now\n" in done.err) == (7, True)
    assert client.get_namespace_record(SPACE).properties == {"owner": "eve"}


def test_an_export_of_then_brings_a_deleted_namespace_back(run: Run, client: Client, tmp_path: Path) -> None:
    client.create_namespace("public/pay")
    client.patch_namespace("public/pay", {"policies": {"retentionPolicies": KEPT}})
    client.create_topic("public/pay/orders", labels={"team": "pay"})
    then = client.find_topics(namespaces=["public/pay"]).position
    client.delete_namespace("public/pay", force=True)
    file = tmp_path / "then.yaml"
    assert run("policies", "export", "public/pay", "--at", then, "-f", str(file)).code == 0
    refused = run("policies", "apply", "-f", str(file))
    assert (refused.code, "topicfold namespaces create public/pay" in refused.err) == (3, True)
    client.create_namespace("public/pay")
    assert "\ncreated 1 topic, changed 1 namespace, 0 failed\n" in run("policies", "apply", "-f", str(file)).err
    assert client.get_namespace_record("public/pay").policies == {"retentionPolicies": KEPT}


def test_a_namespace_that_did_not_exist_then_is_no_part_of_what_was(run: Run, client: Client, file: Path) -> None:
    then = client.find_topics(namespaces="*").position
    client.create_namespace("public/later")
    told = json.loads(run("policies", "export", "public/*", "--at", then, "-o", "json").out)
    assert [each["name"] for each in told["namespaces"]] == [SPACE]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("namespaces: [{name: acme/pay, labels: {}}]", "namespace 1 (acme/pay): labels is not known here"),
        ("namespaces: [{name: acme/pay, policies: {local: {}}}]", "namespace 1 (acme/pay): policies.local: is not a"),
        ("namespaces: [{name: acme/pay, policies: {maxMessageSize: 5}}]",
         "policies.maxMessageSize: cannot be set for a whole namespace; set it on topics"),
        ("namespaces: [{name: orders}]", "namespace 1 (orders): "),
        ("namespaces: [{name: acme/pay, policies: {messageTTLInSeconds: 010}}]", "010 would be taken for 8"),
        ("namespaces: [{name: a/b}, {name: a/b}]", "all of a namespace is in one entry"),
        ("namespaces: {}", "expected a list of topics as the member topics, or one of namespaces, or both"),
        ("tenants: []", "expected a list of topics as the member topics, or one of namespaces, or both"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_before_anything_is_asked(run: Run, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    refused = run("policies", "diff", "-f", str(file))
    assert (refused.code, said in refused.err) == (2, True), refused.err


def test_a_namespace_whose_policies_may_not_be_read_is_left_out_and_told(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise Forbidden("no")

    monkeypatch.setattr(Client, "get_namespace_record", refused)
    told = run("policies", "export", SPACE, "-o", "json")
    assert (told.code, json.loads(told.out)["namespaces"], len(json.loads(told.out)["topics"])) == (0, [], 1)
    assert f"left out namespace {SPACE}: to read its policies needs read-policies on it\n" in told.err
