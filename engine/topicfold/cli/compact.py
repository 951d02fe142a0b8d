"""`topicfold compact`: the log, folded into a snapshot by Spark. What it does is in `topicfold.compaction`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicfold.cli.arguments import KafkaBootstrap, KafkaSettings, KafkaTopic, LogFile, read_settings
from topicfold.cli.exit_codes import ExitCode
from topicfold.cli.output import say
from topicfold.cli.progress import Update, bar
from topicfold.cli.server_settings import given_settings, named_snapshot, needed_packages, server_settings
from topicfold.cli.session import Session
from topicfold.cli.trim import Grace, read_grace
from topicfold.errors import InvalidRequest, TopicfoldError

if TYPE_CHECKING:
    from topicfold.compaction.compactor import Done
    from topicfold.compaction.log_facts import LogFacts
    from topicfold.snapshot.commits import Commit

MAX_EVERY_SECONDS = 86_400.0

Snapshot = Annotated[
    Path | None, typer.Option("--snapshot", metavar="DIR", file_okay=False, help="Directory of the tables.")
]
Once = Annotated[bool, typer.Option("--once", help="End at the current end of the log.")]
Every = Annotated[
    float,
    typer.Option(
        "--every", metavar="SECONDS", min=0, max=MAX_EVERY_SECONDS, help="How often to fold a batch, without --once."
    ),
]
BatchRows = Annotated[
    int, typer.Option("--batch-rows", metavar="N", min=1, help="Maximum number of log records in one batch.")
]
Slices = Annotated[
    int | None,
    typer.Option("--slices", metavar="N", min=1, help="Parallel parts of a batch (default: Spark's cores)."),
]
Keep = Annotated[
    int, typer.Option("--keep", metavar="N", min=2, help="Commits to keep; files of older ones are deleted.")
]
Checkpoint = Annotated[
    Path | None,
    typer.Option("--checkpoint", metavar="DIR", help="Spark's checkpoint directory (default DIR/checkpoint)."),
]
SparkSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--spark-setting", metavar="KEY=VALUE", help="A Spark setting, such as spark.master=yarn; repeatable."
    ),
]
Trim = Annotated[
    bool,
    typer.Option(
        "--trim", help="After each batch, delete from the log what the snapshot covers: see 'topicfold trim'."
    ),
]


def compact(
    session: Session,
    snapshot: Snapshot = None,
    log: LogFile = None,
    kafka: KafkaBootstrap = None,
    kafka_topic: KafkaTopic = None,
    kafka_setting: KafkaSettings = None,
    once: Once = False,
    every: Every = 60.0,
    batch_rows: BatchRows = 1_000_000,
    slices: Slices = None,
    keep: Keep = 10,
    checkpoint: Checkpoint = None,
    spark_setting: SparkSettings = None,
    trim: Trim = False,
    grace: Grace = None,
) -> None:
    """Fold the log into tables of topics, labels and history.

    It runs on Spark, on this machine or on a cluster. Nodes start from the tables (serve --snapshot), and any tool that
    reads Delta can query them. The job may be stopped and started at any time, and run twice at once: every event is
    folded in once.

    \b
    Examples:
      topicfold compact --log topicfold.db --snapshot /var/lib/topicfold/snapshot --once
      topicfold compact --kafka broker:9092 --snapshot /mnt/snapshot --every 30
      topicfold compact --kafka broker:9092 --snapshot /mnt/snapshot --trim --grace 2d
      topicfold compact --kafka broker:9092 --snapshot /mnt/snapshot --spark-setting spark.master=spark://host:7077
    """
    if grace is not None and not trim:
        raise InvalidRequest("--grace is for --trim", hint="Give --trim too, or leave it out.")
    grace_seconds = read_grace(grace)
    flags = {"log_file": log, "kafka_bootstrap": kafka, "kafka_topic": kafka_topic, "snapshot": snapshot}
    given = given_settings(flags, kafka_setting, None)
    with needed_packages("compacting", given, "spark"):
        from topicfold.compaction.job import CompactOptions, Listener
        from topicfold.compaction.job import compact as run
        from topicfold.compaction.trim import trim as run_trim
        from topicfold.snapshot.claims import CLAIMS

        settings = server_settings(session.config, given, "compacting")
    spark = read_settings(spark_setting, "--spark-setting") if spark_setting else {}
    root = named_snapshot(settings)
    options = CompactOptions(root, once, every, batch_rows, slices, keep, checkpoint, spark)
    has_new = differs = False
    is_shown = session.is_progress_shown
    with _telling(is_shown=is_shown) as telling:

        def differ(reason: str) -> None:
            # At once: a job may go on for months, and is asked for its exit code then.
            nonlocal differs
            differs = True
            session.output.failure(reason, "'topicfold doctor' asks a node which of them is right")

        def commits(done: Done, facts: LogFacts) -> None:
            nonlocal has_new
            has_new = True
            telling.commits(done, facts)
            for alteration in done.altered:
                session.output.warning(str(alteration))
            for each in done.differences:
                differ(str(each))
            if not trim:
                return
            try:
                plan = run_trim(settings, root, grace_seconds, lambda text: None)
            except TopicfoldError as error:
                session.output.warning(f"not trimmed: {error.reason}. {error.hint}")
                # A digest that differs is a failure, and nothing else: what it waits for comes with the next commits.
                if "sequence" in error.values:
                    differ(error.reason)
            else:
                if is_shown and plan.below and plan.records:
                    say(f"trimmed records={plan.records} below={plan.below.sequence}")

        def loses(path: Path) -> None:
            session.output.warning(
                f"{path} is gone, and the log was trimmed behind it: the table {path.parent.name} lacks its rows from "
                "now on"
            )

        def waits(sequence: int) -> None:
            if is_shown:
                session.output.note(f"another job is at commit {sequence}: waiting for it")

        def overtaken(sequence: int) -> None:
            if is_shown:
                session.output.note(
                    f"another job made commit {sequence}, with all of this batch: one job is enough. While one works, "
                    f"a file in {root / CLAIMS} names its machine and process"
                )

        def away(reason: str) -> None:
            if reason:
                session.output.warning(f"the log is away: {reason}. The job waits for it")
            else:
                session.output.note("the log is back")

        def stops() -> None:
            if is_shown:
                session.output.note("stopping as soon as Spark can; interrupt again to stop at once")

        listener = Listener(
            commits=commits,
            loses=loses,
            begins=telling.begins,
            folds=telling.folds,
            waits=waits,
            overtaken=overtaken,
            away=away,
            stops=stops,
        )
        newest = run(settings, options, listener)
    if not has_new:
        session.output.note("no new commit was made")
    if newest is not None:
        _show(session, newest)
    if differs:
        raise typer.Exit(ExitCode.FAILED)


class _Telling:
    """Tells what the job does: on a terminal with a bar, else in one structured line a batch, or nothing."""

    def __init__(self, update: Update | None, *, tells_lines: bool) -> None:
        self._update = update or (lambda **_: None)
        self._tells_lines = tells_lines
        self._done = 0

    def begins(self, records: int) -> None:
        self._update(description="starting Spark", total=records, refresh=True)

    def folds(self) -> None:
        self._update(description="folding", refresh=True)

    def commits(self, done: Done, facts: LogFacts) -> None:
        self._done += done.events
        self._update(completed=self._done, total=self._done + _behind(done, facts))
        if self._tells_lines:
            say(line_of(done, facts))


@contextmanager
def _telling(*, is_shown: bool) -> Iterator[_Telling]:
    if is_shown and sys.stderr.isatty():
        with bar("reading the log", None) as update:
            yield _Telling(update, tells_lines=False)
    else:
        yield _Telling(None, tells_lines=is_shown)


def line_of(done: Done, facts: LogFacts) -> str:
    """Return one structured line about a batch."""
    told: dict[str, Any] = {
        "sequence": done.commit.sequence,
        "events": done.events,
        "accepted": done.accepted,
        "topics": done.commit.counts["topics"],
        "behind": _behind(done, facts),
        "seconds": round(done.seconds["batch"] + done.seconds["committing"], 3),
    }
    return "compacted " + " ".join(f"{name}={value}" for name, value in told.items())


def _behind(done: Done, facts: LogFacts) -> int:
    """Return how many records are not folded yet of those that `facts` know of: with `--once`, those at the start."""
    return sum(max(end - to, 0) for end, to in zip(facts.end, done.commit.to, strict=True))


def _show(session: Session, commit: Commit) -> None:
    told = {
        "sequence": commit.sequence, "positions": list(commit.to), "digests": list(commit.digests),
        **{name: commit.counts[name] for name in ("topics", "namespaces", "tenants", "history")},
    }  # fmt: skip
    row = [str(told[name]) for name in ("sequence", "topics", "namespaces", "history")]
    session.output.show(told, [str(commit.sequence)], ("SEQUENCE", "TOPICS", "NAMESPACES", "HISTORY"), [row])
