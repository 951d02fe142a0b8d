"""`topicfold policies apply --prune`: topics that no file names lose what files would give them, once confirmed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.terminal import Terminal
from topicfold.client import Client

pytestmark = pytest.mark.usefixtures("nobody")
ORDERS = "persistent://public/default/orders"


def test_pruning_needs_a_selector_and_the_other_way_round(run: Run, exported: Path) -> None:
    empty = ("", " ", "\t", "{}", ' {"matchLabels":{}}', '{"matchLabels":{},"matchExpressions":[]}')
    for words in (("--prune",), ("-l", "team=pay"), *(("--prune", "-l", selector) for selector in empty)):
        refused = run("policies", "apply", "-f", str(exported), *words)
        assert (refused.code, "selector" in refused.err) == (2, True)
    refusals = [run("policies", "apply", "-f", str(exported), *words).err for words in (("--prune",), ("-l", "a=b"))]
    assert [each.splitlines()[0] for each in refusals] == [
        "error: --prune needs a selector",
        "error: a selector is for --prune",
    ]


@pytest.mark.parametrize("words", [(), ("--confirm-count", "2")])
def test_nothing_is_changed_if_the_count_is_not_confirmed(
    run: Run, client: Client, changed: Path, words: tuple[str, ...]
) -> None:
    text = changed.read_text()
    changed.write_text("topics:\n" + text[text.index(f"- name: {ORDERS}") :])
    refused = run("policies", "apply", "-f", str(changed), "--prune", "-l", "team=pay", *words)
    assert refused.code == 2
    assert "1 topic in public/default would be pruned" in refused.err
    assert (client.get_topic("orders").labels["tier"], client.get_labels("old")) == ("gold", {"team": "pay"})


@pytest.mark.parametrize(("typed", "code", "said"), [("1\n", 0, ""), ("2\n", 1, ""), ("", 1, "\n")])
def test_pruning_asks_for_the_number_and_what_is_said_next_begins_a_line(
    run: Run, changed: Path, monkeypatch: pytest.MonkeyPatch, typed: str, code: int, said: str
) -> None:
    text = changed.read_text()
    changed.write_text("topics:\n" + text[text.index(f"- name: {ORDERS}") :])
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    asked = run("policies", "apply", "-f", str(changed), "--prune", "-l", "team=pay", "--no-progress")
    _, _, after = asked.err.partition("Type how many topics that are: ")
    assert asked.code == code
    told = "changed 1 topic, pruned 1 topic in" if code == 0 else "not confirmed; nothing was changed\n"
    assert after.startswith(said + told)


@pytest.mark.parametrize(("sample", "these"), [(2, "These"), (1, "These 1 and others")])
def test_pruning_shows_what_loses_its_labels_before_it_asks(
    run: Run, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: int, these: str
) -> None:
    for name in ("a", "b"):
        client.create_topic(name, labels={"team": "pay"})
    file = tmp_path / "some.yaml"
    file.write_text("topics: [{name: orders}]")
    monkeypatch.setattr("topicfold.cli.policies.files.SAMPLE", sample)
    monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
    asked = run("policies", "apply", "-f", str(file), "--prune", "-l", "team=pay", "--no-progress").err.splitlines()
    assert asked[:sample] == [f"  persistent://public/default/{name}" for name in "ab"[:sample]]
    assert asked[sample].startswith(f"{these} lose their labels and policies. ")


def test_pruning_names_some_of_many_namespaces_and_says_how_many_more(run: Run, client: Client, tmp_path: Path) -> None:
    file = tmp_path / "some.yaml"
    for number in range(4):
        client.create_namespace(f"public/n{number}")
    for count, where in ((3, "n0, public/n1, public/n2; "), (4, "n0, public/n1, public/n2 and 1 more; ")):
        file.write_text(f"topics: [{', '.join(f'{{name: public/n{number}/orders}}' for number in range(count))}]")
        words = ("policies", "apply", "-f", str(file), "--prune", "-l", "team=pay", "--dry-run")
        assert f", prune 0 topics in public/{where}" in run(*words).err


def test_pruning_takes_labels_off_topics_that_no_file_names(run: Run, client: Client, tmp_path: Path) -> None:
    client.create_topic("old", labels={"team": "pay"})
    client.create_topic("other", labels={"team": "ship"})
    file = tmp_path / "some.yaml"
    file.write_text("topics: [{name: orders, labels: {team: pay}}]")
    words = ("policies", "apply", "-f", str(file), "--prune", "-l", "team=pay")
    assert "would create 1 topic, prune 1 topic in public/default: " in run(*words, "--dry-run").err
    pruned = run(*words, "--confirm-count", "1")
    assert pruned.code == 0
    assert pruned.err.endswith("\ncreated 1 topic, pruned 1 topic in public/default, 0 failed\n")
    assert [client.get_labels(name) for name in ("orders", "old", "other")] == [{"team": "pay"}, {}, {"team": "ship"}]


def test_pruning_says_where_it_looked(run: Run, client: Client, tmp_path: Path) -> None:
    client.create_namespace("public/other")
    client.create_topic("public/other/old", labels={"team": "pay"})
    file = tmp_path / "some.yaml"
    file.write_text("topics: [{name: orders}]")
    words = ("policies", "apply", "-f", str(file), "--prune", "-l", "team=pay")
    assert "prune 0 topics in public/default" in run(*words, "--dry-run").err
    done = run(*words, "--confirm-count", "1")
    assert (done.code, client.get_labels("public/other/old")) == (0, {"team": "pay"})
    assert done.err.endswith("created 1 topic, pruned 0 topics in public/default, 0 failed\n")
