"""`topicfold enforce`: effective policies, written into Kafka's own configuration of topics.

What it does is in `topicfold.enforcement`; here is what it is told, and how it tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from topicfold.cli.arguments import KafkaBootstrap, KafkaSettings, KafkaTopic, LogFile
from topicfold.cli.config import OutputFormat
from topicfold.cli.exit_codes import ExitCode
from topicfold.cli.progress import progress
from topicfold.cli.serve import ClusterBootstrap, ClusterSettings, Snapshot
from topicfold.cli.server_settings import given_settings, needed_packages, server_settings
from topicfold.cli.session import Session

if TYPE_CHECKING:
    from topicfold.enforcement.reports import Report

Once = Annotated[bool, typer.Option("--once", help="Check every topic once, then end.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what differs, change nothing, and end.")]


def enforce(
    session: Session,
    log: LogFile = None,
    kafka: KafkaBootstrap = None,
    kafka_topic: KafkaTopic = None,
    snapshot: Snapshot = None,
    kafka_setting: KafkaSettings = None,
    cluster_bootstrap: ClusterBootstrap = None,
    cluster_setting: ClusterSettings = None,
    once: Once = False,
    dry_run: DryRun = False,
) -> None:
    """Write effective policies into Kafka's topics.

    It does so now and whenever policies change. It reads the server's log itself, so the server need not run. Retention
    becomes retention.ms and retention.bytes (per partition), the maximum message size max.message.bytes, and the
    compaction threshold cleanup.policy (above 0: compact, or compact,delete with a retention; Kafka then refuses
    messages without a key). Only settings that a topic, a namespace or policy_defaults has a policy for are touched;
    once the policy is removed, the setting is removed again. Retention 0 and 0 is not enforced.

    With --dry-run it exits with 1 if there are differences. -o json prints one object per line, as things happen.

    \b
    Examples:
      topicfold enforce --kafka broker:9092 --dry-run
      topicfold enforce --log topicfold.db --cluster-bootstrap broker:9092 --once -o json
    """
    flags = {
        "log_file": log, "kafka_bootstrap": kafka, "kafka_topic": kafka_topic, "snapshot": snapshot,
        "cluster_bootstrap": cluster_bootstrap,
    }  # fmt: skip
    given = given_settings(flags, kafka_setting, cluster_setting)
    with needed_packages("enforcing policies", given, "kafka"):
        from topicfold.enforcement.run import enforce_for_ever, enforce_once

        settings = server_settings(session.config, given, "enforcing policies")
    is_shown = session.is_progress_shown
    shown = partial(progress, "enforce", is_shown=is_shown)
    if not (once or dry_run):
        enforce_for_ever(settings, partial(_tell, session), shown, is_quiet=session.output.is_quiet)
        return
    reports: list[Report] = []
    topics = enforce_once(settings, reports.append, shown, only_shows=dry_run)
    raise typer.Exit(_end(session, reports, topics))


_PASSED_OVER_SHOWN = 10
"""Topics of one state that a table names of those that were passed over, which may be nearly all."""


def _tell(session: Session, report: Report) -> None:
    """Print one report at once, for people with the time."""
    session.output.show_event(report.data, report.name, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {report.line}")


def _end(session: Session, reports: list[Report], topics: int) -> ExitCode:
    """Print all reports of one look, sum them up, and return how it ended."""
    from topicfold.enforcement.reports import HEADER

    reports.sort(key=lambda report: report.name)
    if session.output.format is OutputFormat.TABLE:
        session.output.show(None, [], HEADER, list(_rows(reports)))
    else:
        for report in reports:
            _tell(session, report)
    counts = Counter(report.state.value for report in reports)
    session.output.note(
        f"topics {topics:,}, skipped {counts['skipped']:,}; settings changed {counts['changed']:,}, "
        f"differing {counts['differs']:,}, failed {counts['failed']:,}"
    )
    if counts["failed"]:
        return ExitCode.PARTLY_FAILED
    return ExitCode.FAILED if counts["differs"] else ExitCode.OK


def _rows(reports: list[Report]) -> Iterator[tuple[str, ...]]:
    """Yield a table's rows: of topics that were passed over some, then all differences."""
    from topicfold.enforcement.reports import State

    for state in (State.SKIPPED, State.FAILED):
        rows = [report.row for report in reports if report.difference is None and report.state is state]
        yield from rows[:_PASSED_OVER_SHOWN]
        if len(rows) > _PASSED_OVER_SHOWN:
            yield (state.value, f"{len(rows) - _PASSED_OVER_SHOWN:,} more", "", "", "", "-o json names all of them")
    for report in reports:
        if report.difference is not None:
            yield report.row
