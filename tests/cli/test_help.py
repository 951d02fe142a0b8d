"""Help: of the whole, of each group and of each command, for a terminal of eighty columns."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.conftest import Run
from topicfold.cli import main as entry


def test_no_arguments_show_the_help(bare_run: Run) -> None:
    shown = bare_run()
    assert shown.code == 0
    assert "First steps" in shown.out


@pytest.mark.parametrize("group", [*entry._GROUPS])
def test_a_group_alone_shows_its_help_with_no_line_cut(
    bare_run: Run, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = bare_run(group)
    assert shown.code == 0
    assert f"Usage: topicfold {group}" in shown.out
    assert "..." not in shown.out.partition("Commands:")[2]


def test_what_is_for_every_day_is_listed_before_what_is_for_operators(bare_run: Run) -> None:
    listed = [
        line.split()[0] for line in bare_run("--help").out.partition("Commands:\n")[2].splitlines() if line[2:3].strip()
    ]
    assert listed.index("topics") < listed.index("watch") < listed.index("enforce") < listed.index("compact")


def test_no_summary_of_a_command_is_cut_where_all_are_listed(bare_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "..." not in bare_run("--help").out.partition("Commands:")[2]


@pytest.mark.parametrize("command", [each.name for each in entry.app.registered_commands])
def test_what_a_help_explains_is_no_wider_than_the_terminal(
    bare_run: Run, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    explained = bare_run(command, "--help").out.partition("Example")[0]
    assert max(map(len, explained.splitlines())) <= 80


def test_misspelt_names_of_the_proposal_are_not_advertised(bare_run: Run) -> None:
    for arguments in (["topics", "list"], ["namespaces"]):
        assert "custome" not in bare_run(*arguments, "--help").out


@pytest.mark.parametrize("arguments", [["--help"], ["topics", "-h"], ["topics", "list", "--help"], ["serve", "--help"]])
def test_every_help_lists_the_exit_codes(bare_run: Run, arguments: list[str]) -> None:
    text = " ".join(bare_run(*arguments).out.split())
    assert "0 ok, 1 failed, 2 usage, 3 not found, 4 conflict" in text
    assert "7 partly failed, 130 interrupted, 141 nobody reads" in text


def test_every_command_has_a_help_with_an_example(bare_run: Run) -> None:
    from importlib import import_module

    from typer.main import get_command

    commands = {
        (group, name)
        for group, (module, _) in entry._GROUPS.items()
        for name in get_command(import_module(module).app).commands  # type: ignore[attr-defined]
    }
    assert len(commands) > 250
    for words in [*commands, ("serve",), ("version",)]:
        shown = bare_run(*words, "--help")
        assert shown.code == 0
        assert f"topicfold {' '.join(words)}".replace("custome", "custom") in shown.out.partition("Example")[2]


def test_a_help_that_python_leaves_out_says_so() -> None:
    asked = [sys.executable, "-OO", "-m", "topicfold", "topics", "create", "--help"]
    shown = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert "PYTHONOPTIMIZE=2" in shown.partition("Options:")[0]
