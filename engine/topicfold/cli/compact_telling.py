"""What `topicfold compact` tells of its job: what the job's listener is called with, and the exit code it comes to."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topicfold.cli.output import say
from topicfold.cli.progress import Update, bar
from topicfold.cli.session import Session
from topicfold.errors import TopicfoldError

if TYPE_CHECKING:
    from topicfold.compaction.compactor import Done
    from topicfold.compaction.delta.alterations import Alteration
    from topicfold.compaction.log_facts import LogFacts
    from topicfold.compaction.trim import Plan

Trim = Callable[[], "Plan"]
"""Deletes from the log what the snapshot covers by now."""


@contextmanager
def telling(session: Session, claims: Path, trim: Trim | None) -> Iterator[CompactTelling]:
    """Yield who tells of a job until the block ends. A job names its machine and process in a file of `claims`."""
    if session.is_progress_shown and sys.stderr.isatty():
        with bar("reading the log", None) as update:
            yield CompactTelling(session, claims, trim, update)
    else:
        yield CompactTelling(session, claims, trim, None)


class CompactTelling:
    """Tells of a job with a bar (`update`), else in one structured line a batch; and trims behind each batch.

    Its methods are the callbacks of `topicfold.compaction.job.Listener`.
    """

    def __init__(self, session: Session, claims: Path, trim: Trim | None, update: Update | None) -> None:
        self.has_new = False
        self.differs = False
        """Whether tables and log differ, or a digest does: the command fails for it once the job has ended."""
        self._session = session
        self._claims = claims
        self._trim = trim
        self._update = update
        self._done = 0

    def loses(self, path: Path) -> None:
        self._session.output.warning(
            f"{path} is gone or was cut short, and the job cannot make all of its rows again: the table "
            f"{path.parent.name} lacks them from now on"
        )

    def alters(self, alteration: Alteration) -> None:
        self._session.output.warning(str(alteration))

    def begins(self, records: int) -> None:
        if self._update is None:
            self._say(f"compacting records={records}")
        self._show(description="starting Spark", total=records, refresh=True)

    def folds(self) -> None:
        self._show(description="folding", refresh=True)

    def commits(self, done: Done, facts: LogFacts) -> None:
        self.has_new = True
        self._done += done.events
        self._show(completed=self._done, total=self._done + _behind(done, facts))
        if self._update is None:
            self._say(line_of(done, facts))
        for alteration in done.altered:
            self.alters(alteration)
        for difference in done.differences:
            self._differ(str(difference))
        if self._trim is not None:
            self._trim_behind(self._trim)

    def waits(self, sequence: int) -> None:
        self._note(f"another job is at commit {sequence}: waiting for it")

    def late(self) -> None:
        self._note(
            "a Python worker of Spark did not start within ten seconds, as this machine is busy: starting the stream "
            "again"
        )

    def overtaken(self, sequence: int) -> None:
        self._note(
            f"another job made commit {sequence}, with all of this batch: one job is enough. While one works, "
            f"a file in {self._claims} names its machine and process"
        )

    def away(self, reason: str) -> None:
        if reason:
            self._session.output.warning(f"the log is away: {reason}. The job waits for it")
        else:
            self._session.output.note("the log is back")

    def stops(self) -> None:
        self._note("stopping as soon as Spark can; interrupt again to stop at once")

    def _trim_behind(self, trim: Trim) -> None:
        try:
            plan = trim()
        except TopicfoldError as error:
            self._session.output.warning(f"not trimmed: {error.reason}. {error.hint}")
            # A digest that differs is a failure, and nothing else: what it waits for comes with the next commits.
            if "sequence" in error.values:
                self._differ(error.reason)
        else:
            if plan.below and plan.records:
                self._say(f"trimmed records={plan.records} below={plan.below.sequence}")

    def _differ(self, reason: str) -> None:
        """Tell of a difference at once: a job may go on for months, and is asked for its exit code then."""
        self.differs = True
        self._session.output.failure(reason, "'topicfold doctor' asks a node which of them is right")

    def _show(self, **now: Any) -> None:
        if self._update is not None:
            self._update(**now)

    def _note(self, text: str) -> None:
        if self._session.is_progress_shown:
            self._session.output.note(text)

    def _say(self, line: str) -> None:
        if self._session.is_progress_shown:
            say(line)


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
