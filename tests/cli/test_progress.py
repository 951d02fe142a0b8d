"""Progress on a terminal: what is being done is seen from the start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.terminal import Terminal
from topicfold.cli.progress import bar


def looked_at(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return the terminal that stderr is from now on. No fixture: pytest puts its own stderr behind those."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "some.yaml"
    file.write_text("topics: [{name: orders}, {name: pay}]")
    return file


@pytest.mark.parametrize("command", ["diff", "apply"])
def test_what_is_read_and_compared_is_told_before_it_is_done(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    terminal = looked_at(monkeypatch)
    monkeypatch.chdir(file.parent)
    run("policies", command, "-f", file.name)
    shown = terminal.getvalue()
    told = [shown.find(text) for text in ("reading some.yaml", "asking the server for 2 topics", "comparing 2 topics")]
    assert -1 not in told
    assert told == sorted(told)


def test_a_files_name_is_shown_as_it_is(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "[red]a[/b].yaml"
    (tmp_path / "[red]a[").mkdir()
    (tmp_path / name).write_text("topics: [{name: orders}]")
    terminal = looked_at(monkeypatch)
    monkeypatch.chdir(tmp_path)
    run("policies", "diff", "-f", name)
    assert f"reading {name}" in terminal.getvalue()


@pytest.mark.parametrize("option", ["--quiet", "--no-progress"])
def test_where_no_progress_is_wanted_none_is_shown_on_a_terminal(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    terminal = looked_at(monkeypatch)
    run("policies", "diff", "-f", str(file), option)
    assert "reading" not in terminal.getvalue()


def test_a_bar_tells_for_how_long_it_has_been_there(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = looked_at(monkeypatch)
    with bar("fold", 13) as update:
        update(completed=5, refresh=True)
    shown = terminal.getvalue()
    assert "5/13" in shown
    assert "0:00:00" in shown


def test_a_job_goes_on_where_nobody_can_be_told_of_its_progress(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open("/dev/full", "w", buffering=1) as full:
        monkeypatch.setattr(sys, "stderr", full)
        assert run("policies", "apply", "-f", str(file), "--progress").code == 0
