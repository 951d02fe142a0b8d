"""`topicfold report labels`: from a server and from a snapshot, as tables, as data and as a picture."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Run
from tests.client.served import serving
from tests.memory_log import MemoryLog, MemoryStore
from tests.snapshot.loaded import snapshot_of, topics
from tests.snapshot.making import compacted
from topicfold.client import Client
from topicfold.client.answers import Readiness
from topicfold.model.records import TopicRecord
from topicfold.snapshot.commits import MANIFESTS

LABELS = [*[{"team": "payments", "tier": "gold"}] * 10, {"team": "paymnts"}, {}]


@pytest.fixture(scope="module")
def store() -> MemoryStore:
    return MemoryStore(partitions=2)


@pytest.fixture(scope="module")
def server_url(store: MemoryStore) -> Iterator[str]:
    with serving(store=store) as (url,):
        with Client(url) as client:
            client.create_tenant("acme")
            client.create_namespace("acme/pay")
            for number, labels in enumerate(LABELS):
                place = "acme/pay" if number % 2 else "public/default"
                client.create_topic(f"{place}/t{number}", labels=labels)
        yield url


@pytest.fixture(scope="module")
def snapshot(server_url: str, store: MemoryStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("snapshot")
    asyncio.run(compacted(MemoryLog(store), root))
    return root


def test_topics_that_the_server_cannot_read_are_told_of(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    partitions = {"0": {"undecodableTopics": 2}, "1": {"undecodableTopics": 1}}
    monkeypatch.setattr(Client, "readiness", lambda _: Readiness(True, {"partitions": partitions}))
    for words in (["report", "labels"], ["explain", "!team", "-A"]):
        shown = run(*words, "-o", "json")
        assert json.loads(shown.out)["topics"] == 12
        assert "warning: the server cannot read the records of 3 topics, wherever; counted without labels" in shown.err


def test_tables_show_coverage_owners_and_what_looks_misspelt(run: Run) -> None:
    shown = run("report", "labels")
    assert shown.err == "12 topics in 2 namespaces\ntopicfold topics list -A -l '!team' lists those without team\n"
    assert (
        shown.out
        == """\
LABEL  TOPICS  COVERAGE                  VALUES
team   11       92% ██████████████████▍  2
tier   10       83% ████████████████▋    1

TEAM       TOPICS  SHARE                   IN
payments   10       83% ████████████████▋  acme/pay 5, public/default 5
paymnts    1         8% █▋                 public/default 1
(no team)  1         8% █▋                 acme/pay 1

LOOKS MISSPELT  TOPICS  MEANT?         TOPICS
team=paymnts    1       team=payments  10
"""
    )


def test_where_a_terminal_shows_no_more_than_ascii_bars_are_made_of_that(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.cli.report.is_unicode", lambda: False)
    first = run("report", "labels").out.splitlines()[1]
    assert first.split() == ["team", "11", "92%", "#" * 18, "2"]


def test_of_what_there_is_none_no_heading_is_shown(run: Run) -> None:
    shown = run("report", "labels", "-n", "acme/pay").out
    assert "TEAM" in shown
    assert "LOOKS MISSPELT" not in shown


def test_a_snapshot_says_the_same_as_its_server_and_takes_none(
    run: Run, snapshot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = run("report", "labels", "-o", "json").out
    monkeypatch.setenv("TOPICFOLD_URL", "http://127.0.0.1:1")
    assert run("report", "labels", "--snapshot", str(snapshot), "-o", "json") == (0, told, "")
    report = json.loads(told)
    assert (report["topics"], report["by"]) == (12, "team")
    assert report["keys"][0] == {"key": "team", "topics": 11, "share": 11 / 12, "values": 2}


def test_namespaces_and_the_key_can_be_chosen(run: Run, snapshot: Path) -> None:
    for source in ([], ["--snapshot", str(snapshot)]):
        told = json.loads(run("report", "labels", "-n", "acme/pay", "--by", "tier", "-o", "json", *source).out)
        assert told["owners"] == [
            {"value": "gold", "topics": 5, "namespaces": {"acme/pay": 5}},
            {"value": None, "topics": 1, "namespaces": {"acme/pay": 1}},
        ]
    unknown = run("report", "labels", "--by", "colour")
    assert "no topic has the label colour" in unknown.err
    assert "(no colour)" in unknown.out


def test_an_empty_value_is_an_owner_that_can_be_seen(bare_run: Run, tmp_path: Path) -> None:
    with serving() as (url,), Client(url) as client:
        client.create_topic("a", labels={"team": ""})
        client.create_topic("b")
        shown = bare_run("report", "labels", "--url", url)
        told = json.loads(bare_run("report", "labels", "--url", url, "-o", "json").out)
        plot = tmp_path / "labels.svg"
        assert bare_run("report", "labels", "--url", url, "--plot", str(plot)).code == 0
    owners = shown.out.split("\n\n")[1].splitlines()[1:]
    assert sorted(line.split("  ")[0] for line in owners) == ['""', "(no team)"]
    assert {each["value"] for each in told["owners"]} == {"", None}
    assert '<!-- "" -->' in plot.read_text()


def test_a_long_table_is_cut_and_says_so(run: Run) -> None:
    shown = run("report", "labels", "--top", "1")
    assert "paymnts" not in shown.out.partition("LOOKS")[0]
    assert "and 1 more; --top 3 shows all" in shown.err
    assert "tier" not in shown.out
    assert "and 1 more; --top 2 shows all" in shown.err


def test_how_many_topics_nobody_owns_is_shown_however_many_owners_there_are_and_how_to_list_them(
    run: Run, server_url: str, snapshot: Path
) -> None:
    shown = run("report", "labels", "--top", "1")
    assert shown.out.count("\n(no team)  1 ") == 1
    assert "\ntopicfold topics list -A -l '!team' lists those without team\n" in shown.err
    listed = run("topics", "list", "-A", "-l", "!team", "-o", "name")
    assert listed.out == "persistent://acme/pay/t11\n"
    some = run("report", "labels", "-n", "acme/*", "--by", "tier", "--url", server_url)
    assert f"topicfold --url {server_url} topics list -n 'acme/*' -l '!tier' lists those without tier\n" in some.err
    for words in (["-n", "public/default"], ["-q"], ["-o", "json"], ["-o", "name"], ["--snapshot", str(snapshot)]):
        assert "lists those" not in run("report", "labels", *words).err


def test_where_only_names_are_wanted_it_is_not_said_that_there_are_more(run: Run) -> None:
    assert "more" not in run("report", "labels", "--top", "1", "-o", "name").err


@pytest.mark.parametrize("name", ["labels.png", "labels.svg"])
def test_a_picture_is_drawn(run: Run, snapshot: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    drawn = run("report", "labels", "--snapshot", str(snapshot), "--plot", str(path))
    assert drawn.code == 0
    assert f"drew {path}" in drawn.err
    if name.endswith(".svg"):
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
    else:
        assert path.read_bytes().startswith(b"\x89PNG")


def test_a_key_that_would_be_a_formula_is_drawn_as_it_is(run: Run, snapshot: Path, tmp_path: Path) -> None:
    drawn = run("report", "labels", "--snapshot", str(snapshot), "--by", r"$\x$", "--plot", str(tmp_path / "a.png"))
    assert (drawn.code, "drew" in drawn.err) == (0, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--plot", "labels.pdf"], "ends in .png or .svg"),
        (["--snapshot", "/nowhere"], "holds no commit"),
        (["--snapshot", __file__], "is a file"),
        (["-n", "no/where"], "not found"),
        (["-n", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_reported_is_said(run: Run, words: list[str], said: str) -> None:
    refused = run("report", "labels", *words)
    assert refused.code not in (0, 70)
    assert said in refused.err
    assert "Traceback" not in refused.err


@pytest.mark.parametrize(
    ("path", "said"),
    [("/nowhere/labels.png", "there is no directory /nowhere"), ("labels.pdf", "ends in .png or .svg")],
)
def test_where_no_picture_can_be_drawn_is_said_before_anything_is_asked(bare_run: Run, path: str, said: str) -> None:
    refused = bare_run("report", "labels", "--plot", path, "--url", "http://127.0.0.1:1")
    assert (refused.code, refused.out, said in refused.err) == (2, "", True)


def test_what_is_not_installed_is_named(
    run: Run, snapshot: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "topicfold[report]" in run("report", "labels", "--plot", str(tmp_path / "a.png")).err
    monkeypatch.delitem(sys.modules, "topicfold.snapshot.label_counts", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "topicfold[snapshot]" in run("report", "labels", "--snapshot", str(snapshot)).err


def test_a_snapshot_whose_newest_commit_is_damaged_says_which_it_counts(bare_run: Run, tmp_path: Path) -> None:
    log = topics(*(TopicRecord() for _ in range(4)))
    snapshot_of(log, tmp_path, [3])
    (tmp_path / MANIFESTS / "000000000002.json").write_bytes(b"{}")
    told = bare_run("report", "labels", "--snapshot", str(tmp_path))
    assert told.code == 0
    assert told.err.startswith("warning: passed over: ")
    assert "000000000002" in told.err
    assert "\ncounted in commit 1 of a snapshot, " in told.err


def test_all_namespaces_may_be_asked_for_as_elsewhere_but_not_beside_some(run: Run) -> None:
    assert run("report", "labels", "-A", "-o", "json") == run("report", "labels", "-o", "json")
    both = run("report", "labels", "-A", "-n", "acme/pay")
    assert both.code == 2
    assert both.err.splitlines()[-1] == "hint: Leave one of them out."
