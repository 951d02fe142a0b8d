"""`topicfold compact`: how it tells of other jobs and of failures. The job itself is shown in `tests/compaction`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.cli.conftest import Run
from topicfold.compaction.job import CompactOptions, Listener
from topicfold.errors import LogUnavailable

WHERE = ("compact", "--log", "a.db", "--snapshot", "s", "--once")


@pytest.fixture
def compacting(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Listener], None]], None]:
    """Has the job do what it is given, and make no commit."""

    def acts(act: Callable[[Listener], None]) -> None:
        module: Any = ModuleType("topicfold.compaction.job")
        module.CompactOptions, module.Listener = CompactOptions, Listener
        module.compact = lambda settings, options, listener: act(listener)
        monkeypatch.setitem(sys.modules, "topicfold.compaction.job", module)

    return acts


def test_a_batch_that_another_job_has_committed_is_told_of_with_where_to_look(
    bare_run: Run, compacting: Callable[[Callable[[Listener], None]], None]
) -> None:
    compacting(lambda listener: listener.overtaken(7))
    done = bare_run(*WHERE)
    assert done.code == 0
    assert done.err.splitlines() == [
        "another job made commit 7, with all of this batch: one job is enough. While one works, a file in "
        f"{Path('s/claims')} names its machine and process",
        "no new commit was made",
    ]
    assert bare_run(*WHERE, "--quiet").err == ""


def test_a_stream_that_is_started_again_is_told_of(
    bare_run: Run, compacting: Callable[[Callable[[Listener], None]], None]
) -> None:
    compacting(lambda listener: listener.late())
    assert bare_run(*WHERE).err.splitlines()[0] == (
        "a Python worker of Spark did not start within ten seconds, as this machine is busy: starting the stream again"
    )


def test_where_no_bar_is_shown_a_line_says_that_the_job_has_begun(
    bare_run: Run, compacting: Callable[[Callable[[Listener], None]], None]
) -> None:
    compacting(lambda listener: listener.begins(70))
    assert bare_run(*WHERE, "--progress").err.splitlines()[0] == "compacting records=70"
    assert bare_run(*WHERE, "--quiet").err == ""


def test_the_tables_are_where_servers_start_from_unless_another_directory_is_named(
    bare_run: Run, compacting: Callable[[Callable[[Listener], None]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    compacting(lambda listener: listener.overtaken(7))
    monkeypatch.setenv("TOPICFOLD_SNAPSHOT", "there")
    assert f"a file in {Path('there/claims')} names" in bare_run("compact", "--log", "a.db", "--once").err
    assert f"a file in {Path('s/claims')} names" in bare_run(*WHERE).err


@pytest.mark.parametrize(("debugged", "is_shown"), [([], False), (["--debug"], True)])
def test_what_spark_said_of_a_failure_is_for_debugging(
    bare_run: Run,
    compacting: Callable[[Callable[[Listener], None]], None],
    debugged: list[str],
    is_shown: bool,
) -> None:
    def fail(listener: Listener) -> None:
        raise LogUnavailable("the stream ended") from ValueError("at org.apache.spark")

    compacting(fail)
    failed = bare_run(*debugged, *WHERE)
    assert failed.code == 6
    assert "error: the stream ended\n" in failed.err
    assert ("ValueError: at org.apache.spark\n" in failed.err) == is_shown


def test_a_grace_without_a_trim_is_refused(
    bare_run: Run, compacting: Callable[[Callable[[Listener], None]], None]
) -> None:
    compacting(lambda listener: listener.overtaken(7))
    refused = bare_run(*WHERE, "--grace", "2d")
    assert (refused.code, refused.err.splitlines()[0]) == (2, "error: --grace is for --trim")
