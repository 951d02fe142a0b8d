"""`topicfold trim`: what it is told, and how it tells. Trimming itself is shown in `tests/compaction` and beyond."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.terminal import Terminal
from topicfold.errors import SnapshotDamaged, TrimRefused

SPAN = SimpleNamespace(partition=0, start=2, floor=12, end=40, records=10)
SEVEN, SIX = SimpleNamespace(sequence=7), SimpleNamespace(sequence=6)
PLAN = SimpleNamespace(newest=SEVEN, second=SIX, below=SIX, spans=(SPAN,), records=10, damaged=())
WHERE = ("--log", "a.db", "--snapshot", "s")


class Trimming:
    """Stands for trimming; answers with a plan, or with an error."""

    def __init__(self) -> None:
        self.answer: Any = PLAN
        self.asked: dict[str, Any] = {}

    def trim(
        self, settings: Any, root: Path, grace_seconds: float, tell: Callable[[str], None], *, only_plans: bool = False
    ) -> Any:
        self.asked = {"log": settings.log_file, "root": root, "grace": grace_seconds, "only_plans": only_plans}
        tell("loading commit 7")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def trimming(monkeypatch: pytest.MonkeyPatch) -> Trimming:
    stand_in, module = Trimming(), ModuleType("topicfold.compaction.trim")
    module.trim = stand_in.trim  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "topicfold.compaction.trim", module)
    return stand_in


@pytest.mark.parametrize(("grace", "seconds"), [((), 86_400), (("--grace", "0"), 0), (("--grace", "2h"), 7_200)])
def test_a_day_is_kept_unless_it_is_told_otherwise(
    bare_run: Run, trimming: Trimming, grace: tuple[str, ...], seconds: int
) -> None:
    assert bare_run("trim", *WHERE, *grace).code == 0
    assert trimming.asked == {"log": Path("a.db"), "root": Path("s"), "grace": seconds, "only_plans": False}


def test_the_snapshot_is_the_one_that_servers_start_from_unless_another_is_named(
    bare_run: Run, trimming: Trimming, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOPICFOLD_SNAPSHOT", "there")
    assert bare_run("trim", "--log", "a.db").code == 0
    assert trimming.asked["root"] == Path("there")
    assert bare_run("trim", *WHERE).code == 0
    assert trimming.asked["root"] == Path("s")


def test_a_table_says_what_went_and_a_line_why(bare_run: Run, trimming: Trimming) -> None:
    done = bare_run("trim", *WHERE)
    assert [line.split() for line in done.out.splitlines()] == [
        ["PARTITION", "FROM", "TO", "RECORDS", "LEFT"], ["0", "2", "12", "10", "28"]
    ]  # fmt: skip
    assert done.err.splitlines() == [
        "loading commit 7",
        "commits 7 and 6 are verified; what lies below commit 6, which is older than 1d, is gone: 10 records",
    ]


@pytest.mark.parametrize(("start", "words", "said"), [
    (0, (), "warning: from now on, a server needs --snapshot to start"),
    (0, ("--dry-run",), "warning: once that is gone, a server needs --snapshot to start"),
    (2, (), ""),
])  # fmt: skip
def test_when_the_logs_beginning_goes_servers_need_the_snapshot(
    bare_run: Run, trimming: Trimming, start: int, words: tuple[str, ...], said: str
) -> None:
    trimming.answer = SimpleNamespace(**{**vars(PLAN), "spans": (SimpleNamespace(**{**vars(SPAN), "start": start}),)})
    warned = [line for line in bare_run("trim", *WHERE, *words).err.splitlines() if line.startswith("warning")]
    assert [line.partition(":")[2].partition(":")[0] for line in warned] == [said.partition(":")[2]] * bool(said)


def test_a_dry_run_is_passed_on_and_said(bare_run: Run, trimming: Trimming) -> None:
    done = bare_run("trim", *WHERE, "--dry-run", "--grace", "0", "-o", "json")
    assert trimming.asked["only_plans"] is True
    span = {"partition": 0, "from": 2, "to": 12, "end": 40}
    assert json.loads(done.out) == {"deleted": False, "commits": [7, 6], "below": 6, "partitions": [span]}
    assert "what lies below commit 6 would go: 10 records" in done.err


def test_where_no_commit_is_old_enough_that_is_said(bare_run: Run, trimming: Trimming) -> None:
    trimming.answer = SimpleNamespace(**{**vars(PLAN), "below": None, "records": 0})
    done = bare_run("trim", *WHERE, "--no-progress")
    assert done.err == "commits 7 and 6 are verified; no commit is older than 1d yet, so nothing is deleted\n"


def test_a_damaged_commit_is_a_warning(bare_run: Run, trimming: Trimming) -> None:
    trimming.answer = SimpleNamespace(**{**vars(PLAN), "damaged": (SnapshotDamaged("x is damaged"),)})
    done = bare_run("trim", *WHERE, "-q")
    assert (done.code, done.err) == (0, "warning: passed over: x is damaged\n")


def test_a_refusal_says_what_to_do(bare_run: Run, trimming: Trimming) -> None:
    trimming.answer = TrimRefused("two are needed", hint="Compact again.")
    done = bare_run("trim", *WHERE, "-q")
    assert (done.code, done.out, done.err) == (1, "", "error: two are needed\nhint: Compact again.\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("trim", *WHERE, "--grace", "-1"), "--grace: without a limit nothing would ever be deleted"),
        (("trim", *WHERE, "--grace", "soon"), "--grace: 'soon' is not a time"),
        (("trim", "--log", "a.db"), "no snapshot is named\nhint: Name its directory: --snapshot DIR"),
        (("compact", "--log", "a.db"), "no snapshot is named\nhint: Name its directory: --snapshot DIR"),
        (("trim", "--log", "a.db", "--snapshot", __file__), "is a file"),
        (("trim", *WHERE, "--kafka", "b:9092"), "the log is either in a file or on Kafka"),
        (("compact", *WHERE, "--grace", "1d"), "--grace is for --trim"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    bare_run: Run, trimming: Trimming, arguments: tuple[str, ...], says: str
) -> None:
    done = bare_run(*arguments)
    assert done.code == 2
    assert says in done.err
    assert trimming.asked == {}


class Compacting:
    """Stands for the job: commits `batches` of them, each with these `differences`."""

    def __init__(self, batches: int) -> None:
        self.batches = batches
        self.differences: tuple[str, ...] = ()
        self.altered: tuple[str, ...] = ()
        self.altered_before: tuple[str, ...] = ()
        self.away: list[str] = []

    def compact(self, settings: Any, options: Any, listener: Any) -> None:
        counts = dict.fromkeys(("topics", "namespaces", "tenants", "history"), 1)
        commit = SimpleNamespace(sequence=3, counts=counts, to=(5,), digests=("ab",))
        listener.begins(5 * self.batches)
        listener.folds()
        for each in self.altered_before:
            listener.alters(each)
        for reason in self.away:
            listener.away(reason)
        for _ in range(self.batches):
            seconds = {"batch": 1.0, "committing": 0.5}
            done = SimpleNamespace(
                commit=commit, events=5, accepted=4, differences=self.differences, altered=self.altered, seconds=seconds
            )
            listener.commits(done, SimpleNamespace(end=(5,)))


@pytest.fixture
def compacting(monkeypatch: pytest.MonkeyPatch, trimming: Trimming) -> Compacting:
    stand_in, module = Compacting(2), ModuleType("topicfold.compaction.job")
    module.compact = stand_in.compact  # type: ignore[attr-defined]
    module.Listener = SimpleNamespace  # type: ignore[attr-defined]
    module.CompactOptions = lambda *given: given  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "topicfold.compaction.job", module)
    return stand_in


def test_compacting_trims_behind_each_batch_if_it_is_told_to(
    bare_run: Run, compacting: Compacting, trimming: Trimming
) -> None:
    assert bare_run("compact", *WHERE).code == 0
    assert trimming.asked == {}
    done = bare_run("compact", *WHERE, "--trim", "--grace", "0")
    assert done.code == 0
    assert trimming.asked["grace"] == 0
    assert done.err.count("trimmed records=10 below=6") == 2
    assert "no new commit" not in done.err


def test_compacting_shows_on_a_terminal_what_there_is_to_fold_while_spark_starts(
    bare_run: Run, compacting: Compacting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert bare_run("compact", *WHERE).code == 0
    starting, folding = (
        next(line for line in terminal.getvalue().splitlines() if doing in line)
        for doing in ("starting Spark", "folding")
    )
    assert ("0/10" in starting, "0:00:00" in starting, "0/10" in folding) == (True, True, True)


def test_compacting_says_that_the_log_is_away_and_that_it_is_back(bare_run: Run, compacting: Compacting) -> None:
    compacting.away = ["no broker answers", ""]
    done = bare_run("compact", *WHERE)
    assert "warning: the log is away: no broker answers. The job waits for it\nthe log is back\n" in done.err
    done = bare_run("compact", *WHERE, "--quiet")
    assert done.err == "warning: the log is away: no broker answers. The job waits for it\n"


def test_compacting_goes_on_where_nothing_may_be_trimmed_and_fails_only_for_another_digest(
    bare_run: Run, compacting: Compacting, trimming: Trimming
) -> None:
    trimming.answer = TrimRefused("two are needed", hint="Compact again.")
    done = bare_run("compact", *WHERE, "--trim")
    assert done.code == 0
    assert done.err.count("warning: not trimmed: two are needed. Compact again.") == 2
    trimming.answer = TrimRefused("another digest", hint="Keep the log.", sequence=3)
    done = bare_run("compact", *WHERE, "--trim")
    assert done.code == 1
    assert "error: another digest" in done.err


def test_compacting_tells_of_another_digest_when_it_is_met_for_a_job_may_go_on_for_ever(
    bare_run: Run, compacting: Compacting
) -> None:
    compacting.differences = ("commit 3 has another digest than node n",)
    done = bare_run("compact", *WHERE)
    told = (
        "error: commit 3 has another digest than node n\nhint: 'topicfold doctor' asks a node which of them is right\n"
    )
    assert done.code == 1
    assert done.err.startswith("compacting records=10\ncompacted ")
    assert [part.count("compacted ") for part in done.err.split(told)] == [1, 1, 0]


def test_compacting_tells_what_others_did_to_its_tables_though_there_is_no_batch(
    bare_run: Run, compacting: Compacting
) -> None:
    compacting.batches, compacting.altered_before = 0, ("somebody else changed rows of the table history",)
    done = bare_run("compact", *WHERE, "--quiet")
    assert (done.code, done.err) == (0, "warning: somebody else changed rows of the table history\n")


def test_compacting_tells_what_others_did_to_its_tables(bare_run: Run, compacting: Compacting) -> None:
    compacting.altered = ("somebody else changed rows of the table history",)
    done = bare_run("compact", *WHERE)
    assert done.code == 0
    assert done.err.count("warning: somebody else changed rows of the table history\n") == 2
