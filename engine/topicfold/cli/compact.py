"""`topicfold compact`: the log, folded into a snapshot by Spark. What it does is in `topicfold.compaction`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from topicfold.cli.arguments import KafkaBootstrap, KafkaSettings, KafkaTopic, LogFile, read_settings
from topicfold.cli.compact_telling import telling
from topicfold.cli.exit_codes import ExitCode
from topicfold.cli.server_settings import given_settings, named_snapshot, needed_packages, server_settings
from topicfold.cli.session import Session
from topicfold.cli.trim import Grace, read_grace
from topicfold.errors import InvalidRequest

if TYPE_CHECKING:
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
    trims = partial(run_trim, settings, root, grace_seconds, lambda text: None) if trim else None
    with telling(session, root / CLAIMS, trims) as told:
        listener = Listener(
            commits=told.commits,
            loses=told.loses,
            alters=told.alters,
            begins=told.begins,
            folds=told.folds,
            waits=told.waits,
            late=told.late,
            overtaken=told.overtaken,
            away=told.away,
            stops=told.stops,
        )
        newest = run(settings, options, listener)
    if not told.has_new:
        session.output.note("no new commit was made")
    if newest is not None:
        _show(session, newest)
    if told.differs:
        raise typer.Exit(ExitCode.FAILED)


def _show(session: Session, commit: Commit) -> None:
    told = {
        "sequence": commit.sequence, "positions": list(commit.to), "digests": list(commit.digests),
        **{name: commit.counts[name] for name in ("topics", "namespaces", "tenants", "history")},
    }  # fmt: skip
    row = [str(told[name]) for name in ("sequence", "topics", "namespaces", "history")]
    session.output.show(told, [str(commit.sequence)], ("SEQUENCE", "TOPICS", "NAMESPACES", "HISTORY"), [row])
