"""`topicfold trim`: delete from the log what a snapshot stands for. What it does is in `topicfold.compaction.trim`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from topicfold.cli.arguments import KafkaBootstrap, KafkaSettings, KafkaTopic, LogFile
from topicfold.cli.server_settings import given_settings, named_snapshot, needed_packages, server_settings
from topicfold.cli.session import Session
from topicfold.cli.units import read_seconds
from topicfold.errors import InvalidRequest
from topicfold.text.counting import counted

if TYPE_CHECKING:
    from topicfold.compaction.trim import Plan

DEFAULT_GRACE = "1d"

Snapshot = Annotated[
    Path | None,
    typer.Option(
        "--snapshot", metavar="DIR", file_okay=False, help="Snapshot that 'topicfold compact' makes of that log."
    ),
]
Grace = Annotated[
    str | None,
    typer.Option(
        "--grace", metavar="TIME", help=f"Keep what commits younger than this added (default {DEFAULT_GRACE})."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be deleted, and delete nothing.")]

_HEADER = ("PARTITION", "FROM", "TO", "RECORDS", "LEFT")


def trim(
    session: Session,
    snapshot: Snapshot = None,
    log: LogFile = None,
    kafka: KafkaBootstrap = None,
    kafka_topic: KafkaTopic = None,
    kafka_setting: KafkaSettings = None,
    grace: Grace = None,
    dry_run: DryRun = False,
) -> None:
    """Delete from the log what its snapshot covers.

    It deletes all records below the second newest verified commit, for ever. To verify a commit, it loads the newest
    commit verified before (the first time, it folds the log from its beginning), folds the log on from there, and
    compares the digests. So two commits remain from which nodes can start (serve --snapshot). If verification fails,
    nothing is deleted, and it says what to do. Servers may run; neither Spark nor Java is needed.

    From then on a server needs --snapshot to start. This command cannot know of servers that run without it.

    In a file, the free space is reused, but the file does not shrink. On Kafka, the principal needs Delete on the
    topic.

    \b
    Examples:
      topicfold trim --log topicfold.db --snapshot /var/lib/topicfold/snapshot --dry-run
      topicfold trim --log topicfold.db --snapshot /var/lib/topicfold/snapshot --grace 2h
      topicfold trim --kafka broker:9092 --snapshot /mnt/snapshot --grace 7d
    """
    grace_seconds = read_grace(grace)
    flags = {"log_file": log, "kafka_bootstrap": kafka, "kafka_topic": kafka_topic, "snapshot": snapshot}
    given = given_settings(flags, kafka_setting, None)
    with needed_packages("trimming", given, "snapshot"):
        from topicfold.compaction.trim import trim as run

        settings = server_settings(session.config, given, "trimming")
    is_shown = session.is_progress_shown
    tell = session.output.note if is_shown else _tell_nothing
    plan = run(settings, named_snapshot(settings), grace_seconds, tell, only_plans=dry_run)
    _show(session, plan, grace or DEFAULT_GRACE, is_dry=dry_run)


def read_grace(grace: str | None) -> int:
    """Return the seconds that `--grace` says.

    Raises:
        InvalidRequest: it is no time, or none that passes.
    """
    seconds = read_seconds(grace or DEFAULT_GRACE, "--grace")
    if seconds < 0:
        raise InvalidRequest("--grace: without a limit nothing would ever be deleted", hint="Write a time: 0, 2h, 7d.")
    return seconds


def _show(session: Session, plan: Plan, grace_text: str, *, is_dry: bool) -> None:
    """Print what goes of each partition, and why no more and no less."""
    told = {
        "deleted": not is_dry,
        "commits": [plan.newest.sequence, plan.second.sequence],
        "below": plan.below.sequence if plan.below else None,
        "partitions": [
            {"partition": each.partition, "from": each.start, "to": each.floor, "end": each.end} for each in plan.spans
        ],
    }
    rows = [
        tuple(map(str, (each.partition, each.start, each.floor, each.records, each.end - each.floor)))
        for each in plan.spans
    ]
    names = [str(each.partition) for each in plan.spans if each.records]
    session.output.show(told, names, _HEADER, rows)
    for error in plan.damaged:
        session.output.warning(f"passed over: {error.reason}")
    if any(each.records and not each.start for each in plan.spans):
        once = "once that is gone" if is_dry else "from now on"
        why = "the log does not hold its beginning any more"
        session.output.warning(f"{once}, a server needs --snapshot to start: {why}")
    session.output.note(
        f"commits {plan.newest.sequence} and {plan.second.sequence} are verified; {_why(plan, grace_text, is_dry)}"
    )


def _why(plan: Plan, grace_text: str, is_dry: bool) -> str:
    if plan.below is None:
        return f"no commit is older than {grace_text} yet, so nothing is deleted"
    age = f", which is older than {grace_text}," if read_grace(grace_text) else ""
    outcome = "would go" if is_dry else "is gone"
    return f"what lies below commit {plan.below.sequence}{age} {outcome}: {counted(plan.records, 'record')}"


def _tell_nothing(text: str) -> None:
    """Stand for telling where nobody wants to know."""
