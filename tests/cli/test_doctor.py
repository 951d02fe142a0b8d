"""`topicfold doctor`: ends with 0 where all is well, else with 1, what is wrong, and what to do."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests import plain_http
from tests.cli.conftest import Run
from tests.client.served import serving
from tests.markdown import code_blocks
from topicfold.client import Client
from topicfold.settings import Settings

DOCUMENT = (Path(__file__).parents[2] / "docs" / "health.md").read_text()


def test_a_server_that_is_well_shows_its_partitions(run: Run, client: Client) -> None:
    client.create_topic("orders")
    shown = run("doctor")
    assert shown.code == 0
    header, *rows = shown.out.splitlines()
    assert header.split() == [
        "PARTITION", "STATE", "POSITION", "DIGEST", "COMPARED", "WITH", "DIFFERENT", "UNDECODABLE",
    ]  # fmt: skip
    assert [row.split()[:2] for row in rows] == [["0", "ready"], ["1", "ready"]]
    not_compared, memory, well = shown.err.splitlines()
    assert not_compared == "not compared yet: nodes compare after changes, and a node alone has none to compare with"
    assert (memory, well.startswith("node ")) == ("memory has not been checked yet", True)
    assert shown.err.endswith(" is well\n")


def test_what_is_known_of_a_partition_and_of_memory_is_shown(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = client.diagnosis()
    told["partitions"][0] |= {
        "ready": False, "position": 7, "digest": "ab" * 16, "differences": {"n2": 1, "n3": 4}, "undecodableTopics": 5,
        "compared": {"at": "2026-01-02T03:04:05Z", "node": "n2"},
    }  # fmt: skip
    told["scrub"] = {"at": "2026-01-02T03:04:05Z", "topics": 1_234, "found": 0}
    monkeypatch.setattr(Client, "diagnosis", lambda _: told)
    shown = run("doctor")
    row = ["0", "not ready", "7", "ab" * 6, "2026-01-02T03:04:05Z", "n2", "1 × n2, 4 × n3", "5"]
    assert re.split("  +", shown.out.splitlines()[1].strip()) == row
    assert re.split("  +", shown.out.splitlines()[2].strip())[4:] == ["–", "–", "–", "0"]
    assert shown.err.startswith("memory was checked at 2026-01-02T03:04:05Z: 1,234 topics, nothing wrong\n")
    told["scrub"]["found"] = 2
    assert "1,234 topics, 2 wrong\n" in run("doctor").err


def test_the_document_shows_what_it_prints(run: Run) -> None:
    shown = run("doctor")
    example, _ = code_blocks(DOCUMENT, "console")
    assert example.splitlines()[1].split() == shown.out.splitlines()[0].split()
    assert example.splitlines()[-1].split()[-2:] == shown.err.splitlines()[-1].split()[-2:]
    for name in ("digest_within_seconds", "scrub_every_seconds", "advertised_url"):
        assert f"TOPICFOLD_{name.upper()}" in DOCUMENT
        assert name in Settings.model_fields


def test_the_metrics_that_the_document_names_are_there(server_url: str) -> None:
    told = plain_http.get(f"{server_url}/metrics").text
    named = set(re.findall(r"^\| `(topicfold_\w+)", DOCUMENT, re.MULTILINE))
    # Only a node that has looked through its memory says when; of a certificate, a cluster or a snapshot, only one that
    # is told of it.
    assert {name for name in named if f"# TYPE {name.removesuffix('_total')}" not in told} == {
        "topicfold_certificate_expiry_timestamp_seconds",
        "topicfold_scrubbed_timestamp_seconds",
        "topicfold_cluster_info",
        "topicfold_cluster_reachable",
        "topicfold_cluster_topics",
        "topicfold_snapshot_age_seconds",
    }


def test_its_json_has_whole_digests_and_everything_else(run: Run) -> None:
    found = json.loads(run("doctor", "-o", "json").out)
    assert found["healthy"] is True
    assert {len(each["digest"]) for each in found["partitions"]} == {32}
    assert run("doctor", "-o", "name").out == "0\n1\n"


def test_what_is_wrong_is_said_with_what_to_do_and_ends_with_one(bare_run: Run, tmp_path: Path) -> None:
    with serving(snapshot=tmp_path / "none") as (url,):
        shown = bare_run("doctor", "--url", url, "-q")
    assert (shown.code, shown.err.splitlines()) == (
        1,
        [
            f"error: there is no commit in the snapshot {tmp_path / 'none'}",
            f"hint: topicfold compact --once --log {Path('topicfold.db').absolute()} --snapshot {tmp_path / 'none'}",
        ],
    )


def test_a_warning_is_shown_with_what_to_do_and_all_is_well(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings = [
        {"what": f"the log's {setting} is 1, it should be 3", "next": "add a broker"}
        for setting in ("replication.factor", "min.insync.replicas")
    ]
    told = Client.diagnosis
    monkeypatch.setattr(Client, "diagnosis", lambda self: {**told(self), "warnings": warnings})
    shown = run("doctor")
    assert shown.code == 0
    assert shown.err.splitlines()[2:5] == [
        "warning: the log's replication.factor is 1, it should be 3",
        "warning: the log's min.insync.replicas is 1, it should be 3",
        "hint: add a broker",
    ]
    assert shown.err.endswith(" is well\n")


@pytest.mark.parametrize(
    ("seconds", "age"), [(12.0, "12 s"), (300.0, "5 min"), (5_400.0, "1.5 h"), (180_000.0, "2.1 d")]
)
def test_the_age_of_a_snapshot_is_told_in_a_unit_that_fits(
    run: Run, monkeypatch: pytest.MonkeyPatch, seconds: float, age: str
) -> None:
    snapshot = {"path": "/snapshot", "sequence": 7, "ageSeconds": seconds}
    told = Client.diagnosis
    monkeypatch.setattr(Client, "diagnosis", lambda self: {**told(self), "snapshot": snapshot})
    assert f"the newest commit of the snapshot /snapshot is 7, {age} old\n" in run("doctor").err


def test_a_snapshot_without_a_commit_that_can_be_read_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = {"path": "/snapshot", "sequence": None, "ageSeconds": None}
    told = Client.diagnosis
    monkeypatch.setattr(Client, "diagnosis", lambda self: {**told(self), "snapshot": snapshot})
    assert "\nthe snapshot /snapshot holds no commit that can be read\n" in run("doctor").err


def test_a_server_that_does_not_answer_is_unreachable(bare_run: Run) -> None:
    assert bare_run("doctor", "--url", "http://127.0.0.1:1").code == 6


def test_nobody_but_a_superuser_is_told(bare_run: Run, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("ann-token ann\nroot-token root\n")
    with serving(auth_static_tokens_file=tokens, superusers=("root",)) as (url,):
        refused = bare_run("doctor", "--url", url, "--token", "ann-token")
        assert bare_run("doctor", "--url", url, "--token", "root-token").code == 0
    assert (refused.code, refused.err.splitlines()) == (
        5,
        [
            "error: ann is not a superuser",
            "hint: Ask a superuser, or whoever runs the server: they name such roles with --superusers.",
        ],
    )
