"""`topicfold policies` with topics that have shadow topics: which are made first, and what is refused."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run
from topicfold.cli.exit_codes import ExitCode
from topicfold.client import Client


def test_an_export_makes_topics_before_those_whose_shadows_they_are(run: Run, client: Client, tmp_path: Path) -> None:
    shadows = {"shadowTopics": ["orders-b", "persistent://public/default/orders-c"]}
    for name in ("orders-b", "orders-c"):
        client.create_topic(name)
    client.create_topic("orders", policies={"local": shadows})
    file = str(tmp_path / "policies.yaml")
    assert run("policies", "export", "public/default", "-f", file).code == 0
    for name in ("orders", "orders-b"):
        client.delete_topic(name)
    tried = run("policies", "apply", "-f", file, "--dry-run")
    assert (tried.code, tried.err.splitlines()[-1]) == (0, "would create 2 topics: 1 added; 0 would be refused")
    assert run("policies", "apply", "-f", file).code == 0
    assert client.get_policy("orders", "shadowTopics") == shadows["shadowTopics"]


def test_topics_whose_shadows_have_shadows_themselves_are_made_at_once(
    run: Run, client: Client, tmp_path: Path
) -> None:
    file = tmp_path / "policies.yaml"
    shadows = {"a": "b", "b": "c", "c": "d"}
    entries = [f"{{name: {name}, policies: {{local: {{shadowTopics: [{each}]}}}}}}" for name, each in shadows.items()]
    file.write_text(f"topics: [{', '.join(entries)}, {{name: d}}]")
    assert run("policies", "apply", "-f", str(file), "--dry-run").code == 0
    assert run("policies", "apply", "-f", str(file)).code == 0
    assert client.get_policy("a", "shadowTopics") == ["b"]


def test_a_ring_of_new_shadow_topics_is_refused_in_a_dry_run_as_in_earnest(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "policies.yaml"
    shadows = {"a": "b", "b": "a", "c": "a"}
    entries = [f"{{name: {name}, policies: {{local: {{shadowTopics: [{each}]}}}}}}" for name, each in shadows.items()]
    file.write_text(f"topics: [{', '.join(entries)}]")
    for options in (["--dry-run"], []):
        ended = run("policies", "apply", "-f", str(file), *options)
        assert (ended.code, ended.err.count("Shadow topic [")) == (ExitCode.PARTLY_FAILED, 3)


def test_a_shadow_that_no_file_makes_is_missed_in_a_dry_run_and_in_earnest(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "policies.yaml"
    file.write_text("topics: [{name: b}, {name: a, policies: {local: {shadowTopics: [b, nosuch]}}}]")
    for options in (["--dry-run"], []):
        refused = run("policies", "apply", "-f", str(file), *options)
        assert (refused.code, "Shadow topic [nosuch] not exists" in refused.err) == (ExitCode.PARTLY_FAILED, True)


def test_what_else_is_said_of_a_topic_with_shadows_is_tried_in_a_dry_run(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "policies.yaml"
    policies = "{local: {shadowTopics: [b], replicationClusters: [nowhere]}}"
    file.write_text(f"topics: [{{name: b}}, {{name: a, policies: {policies}}}]")
    for options in (["--dry-run"], []):
        refused = run("policies", "apply", "-f", str(file), *options)
        assert (refused.code, "must be among the replication clusters" in refused.err) == (ExitCode.PARTLY_FAILED, True)


def test_a_shadow_that_is_no_name_of_a_topic_is_refused_and_other_topics_are_not(
    run: Run, client: Client, tmp_path: Path
) -> None:
    file = tmp_path / "policies.yaml"
    file.write_text("topics: [{name: b}, {name: a, policies: {local: {shadowTopics: [a/b]}}}]")
    for options in (["--dry-run"], []):
        refused = run("policies", "apply", "-f", str(file), *options)
        assert (refused.code, refused.err.count("a/b")) == (ExitCode.PARTLY_FAILED, 1)
    assert client.get_topic("b").name == "persistent://public/default/b"
