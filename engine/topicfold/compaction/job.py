"""The job `topicfold compact`: streams the log, batch by batch, into a snapshot, until it is told to stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from topicfold.compaction.batch import Base
from topicfold.compaction.compactor import Compactor, Done
from topicfold.compaction.delta.alterations import Alteration
from topicfold.compaction.delta.vacuum import KEPT_COMMITS
from topicfold.compaction.folding.prior import newest_events
from topicfold.compaction.log_facts import (
    LogFacts,
    facts_of,
    log_facts,
    require_beginning,
    require_end,
    require_overlap,
)
from topicfold.compaction.plan import Plan, SliceResult
from topicfold.compaction.silence import EVERY_SECONDS, Silence
from topicfold.compaction.spark.checkpoint import own_checkpoint
from topicfold.compaction.spark.errors import (
    AGAIN_HINT,
    cause_in,
    is_late_worker,
    is_of_checkpoint,
    known_error,
    naming_lost_jvm,
    text_of,
)
from topicfold.compaction.spark.run import run_on_spark, slice_keys
from topicfold.compaction.spark.session import open_session
from topicfold.compaction.spark.sources import stream_of
from topicfold.compaction.stop import Stop, stopping_on_signals
from topicfold.errors import BadSetting, ClusterUnavailable, LogUnavailable, TopicfoldError, WrongLog
from topicfold.log.same_records import require_same_records
from topicfold.settings import Settings
from topicfold.snapshot.commits import Commit
from topicfold.snapshot.files.unwritable import naming_unwritable, unwritable
from topicfold.starting import opened_log, require_log

CHECKPOINT = "checkpoint"

_AWAY_SECONDS = 120.0
"""How long to wait, between two batches, for a log that does not answer; the same as Spark's
`kafkaConsumer.pollTimeoutMs` within a batch."""
_PAUSE_SECONDS = 1.0
_MOST_STARTS = 4
"""How often to start a stream whose Python worker is late. Spark waits ten seconds, which no setting changes, for the
worker that looks for a file's end. That is part of no task, and Spark starts only tasks again."""


@dataclass(frozen=True, slots=True)
class CompactOptions:
    """The job's options, apart from where the log is. With `once` it ends where the log ended when the job started."""

    root: Path
    once: bool
    every_seconds: float = 60.0
    batch_rows: int = 1_000_000
    slices: int | None = None
    keep: int = KEPT_COMMITS
    checkpoint: Path | None = None
    spark: Mapping[str, str] = field(default_factory=dict)


Events = Mapping[int, tuple[int, bytes]]
"""Offset and id of the last folded event, by partition."""


def _take_no_notice(*_: object) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Listener:
    """Callbacks about the job's progress. They may be called in any thread.

    - `loses`: at the start, with each file whose rows its table lacks from now on.
    - `alters`: at the start, with each change by somebody else to rows of the tables that was found then.
    - `begins`: before Spark is started, with the number of records beyond the snapshot.
    - `folds`: once Spark has started.
    - `commits`: for each committed batch, with the log's facts at that time; with `once`, those at the start.
    - `waits`: once for each commit that another job is working on, with its number.
    - `late`: each time the stream is started again because a Python worker of Spark did not start in time.
    - `overtaken`: for each batch that was for nothing, as another job made a commit with all of it; with its number.
    - `away`: with the reason why the log does not answer; with "" once it does again.
    - `stops`: at the first signal.
    """

    commits: Callable[[Done, LogFacts], None]
    loses: Callable[[Path], None] = _take_no_notice
    alters: Callable[[Alteration], None] = _take_no_notice
    begins: Callable[[int], None] = _take_no_notice
    folds: Callable[[], None] = _take_no_notice
    waits: Callable[[int], None] = _take_no_notice
    late: Callable[[], None] = _take_no_notice
    overtaken: Callable[[int], None] = _take_no_notice
    away: Callable[[str], None] = _take_no_notice
    stops: Callable[[], None] = _take_no_notice


class _Stopped(Exception):
    """The job was told to stop while it waited for another job, or in a batch."""


class _BatchFailed(Exception):
    """The only error that Spark gets to see when a batch fails.

    Spark 4.0.0 matches tracebacks with a regex that recurses for each character. A traceback that includes Java's
    errors ends in a StackOverflowError, for which Java prints a thousand lines.
    """


def compact(settings: Settings, options: CompactOptions, listener: Listener) -> Commit | None:
    """Bring the snapshot up to the log's end and, without `once`, keep it there until SIGTERM or SIGINT.

    Returns the newest commit, whichever job made it, or None if there is none. With `once`, Spark is started only if
    there is something to fold. A signal ends the job as soon as Spark has started; a batch in progress may be given
    up. A second signal ends it at once.

    Raises:
        BadSetting: there is no such log and no snapshot of one, the directory cannot hold a snapshot, or Spark's
            Python does not start.
        WrongLog: it is not one of our logs, or shorter than the snapshot, or was replaced by another one meanwhile.
        WrongSnapshot: the snapshot is of another log or of one that is gone, or ends before the log begins.
        SnapshotDamaged: there are commits, but all are damaged.
        SnapshotUnreadable, SnapshotUnwritable: there is no right to read or write the snapshot, or no space.
        LogGap: the log's records differ from those that the snapshot was made from, or some are missing.
        LevelUnsupported: a record raises the level beyond what this version knows; everything before it is in the
            snapshot.
        TooLarge: a slice of a batch exceeds the 2 GB that it can hold.
        LogUnavailable, ClusterUnavailable: the log does not answer.
        KeyboardInterrupt: with `once`, a signal came before the end was reached.
    """
    facts = asyncio.run(log_facts(settings))
    stop = Stop(listener.stops)
    with stopping_on_signals(stop.say):
        with naming_unwritable(options.root):
            compactor = Compactor(options.root, facts.identity, keep=options.keep, log_start=facts.start)
            events = _require_continuation(settings, options.root, facts, compactor.base)
            # Whether it can be is worth knowing before Spark is started.
            options.root.mkdir(parents=True, exist_ok=True)
        for path in compactor.lost:
            listener.loses(path)
        for alteration in compactor.altered:
            listener.alters(alteration)
        has_all = options.once and compactor.base.start == facts.end
        if not has_all and not stop.is_said:
            listener.begins(sum(facts.end) - sum(compactor.base.start))
            session = open_session(options.spark, needs_kafka=settings.kafka_bootstrap is not None)
            listener.folds()
            with naming_unwritable(options.root), naming_lost_jvm(), closing(compactor):
                while not _Job(session, settings, options, facts, compactor, events, listener, stop).run():
                    # The log has grown since, and the other job may have gone beyond its former end.
                    facts = _of_same_log(asyncio.run(log_facts(settings)), facts)
                    events = _require_continuation(settings, options.root, facts, compactor.base)
    if stop.is_said and options.once:
        raise KeyboardInterrupt
    return compactor.base.commit


def _require_continuation(settings: Settings, root: Path, facts: LogFacts, base: Base) -> Events:
    """Return the last event of each partition that `base` was made from, after checking that the log continues them.

    Raises:
        WrongLog, WrongSnapshot, LogGap: the log does not continue them.
        LogUnavailable, ClusterUnavailable: the log does not answer.
    """
    if base.commit is None:
        require_beginning(facts, root)
        return {}
    require_overlap(facts, base.start)
    events = newest_events(root, base.commit.files)
    asyncio.run(_require_same_records(settings, events))
    return events


def _of_same_log(now: LogFacts, before: LogFacts) -> LogFacts:
    """Return `now`, after checking that both are facts of the same log.

    Raises:
        WrongLog: they are not.
    """
    if now.identity != before.identity:
        raise WrongLog(
            f"the log was replaced by another log, {now.identity.incarnation.hex()}: it was "
            f"{before.identity.incarnation.hex()} when this job started",
            hint="Restore the log. To compact the other one, name another directory for its snapshot.",
        )
    return now


async def _require_same_records(settings: Settings, events: Events) -> None:
    async with opened_log(settings) as log:
        await require_same_records(log, events)


class _Job:
    """One run of the stream."""

    def __init__(
        self, session: SparkSession, settings: Settings, options: CompactOptions, facts: LogFacts,
        compactor: Compactor, events: Events, listener: Listener, stop: Stop,
    ) -> None:  # fmt: skip
        self._session = session
        self._settings = settings
        self._options = options
        self._facts = facts
        self._compactor = compactor
        self._events = events
        self._keys = slice_keys(session, options.slices or max(2, session.sparkContext.defaultParallelism))
        self._listener = listener
        self._waited_for = 0
        self._stop = stop
        self._error: BaseException | None = None
        self._base = compactor.base

    def run(self) -> bool:
        """Run until the stream ends. Return True if nothing is left to do, False if another run has to continue.

        That is so if another job overtook this one and the log was then trimmed: the other run starts from its commit.
        A stream whose Python worker did not start in time is started again, unless the job was told to stop.

        Raises:
            TopicfoldError: what stopped a batch or kept the stream from starting, or LogUnavailable for any other
                failure of Spark's.
        """
        starts = 1
        while True:
            try:
                return self._run_stream()
            except LogUnavailable as error:
                if not is_late_worker(error):
                    raise
                if self._stop.is_said:
                    return True
                if starts == _MOST_STARTS:
                    raise
            starts += 1
            self._error = None
            self._listener.late()

    def _run_stream(self) -> bool:
        """Run one stream, as `run` does."""
        options, is_on_kafka = self._options, self._settings.kafka_bootstrap is not None
        try:
            writer = self._records().writeStream.foreachBatch(self._take)
        except (PySparkException, Py4JJavaError) as error:
            raise self._translated(error) from error
        if options.once and is_on_kafka:
            writer = writer.trigger(availableNow=True)
        elif not options.once:
            writer = writer.trigger(processingTime=f"{round(options.every_seconds * 1000)} milliseconds")
        root = self._options.checkpoint or self._options.root / CHECKPOINT
        try:
            named = naming_unwritable(root, "checkpoint")
            with named, own_checkpoint(root.absolute(), self._checkpoint_name()) as path:
                # A cluster would take a bare path for one of its own file system's, such as HDFS.
                query = writer.option("checkpointLocation", f"file://{path}").start()
                self._stop.ends(query)
                if options.once and not is_on_kafka and not self._stop.is_said:
                    # Under availableNow Spark asks a Python source for its end only once, so there would be one batch.
                    query.processAllAvailable()
                    query.stop()
                silence = Silence(lambda: asyncio.run(require_log(self._settings)), self._listener.away)
                while not query.awaitTermination(EVERY_SECONDS):
                    silence.check()
        except (StreamingQueryException, Py4JJavaError) as error:
            if self._error is None:
                cause = cause_in(text_of(error))
                if is_of_checkpoint(cause, root):
                    raise unwritable(root, cause, "checkpoint") from error
                self._error = self._translated(error)
        if isinstance(self._error, LogUnavailable) and self._is_overtaken() and not self._stop.is_said:
            return False
        if self._error is not None and not isinstance(self._error, _Stopped):
            raise self._error
        return True

    def _records(self) -> DataFrame:
        """Return the stream of what the snapshot lacks of the log."""
        return stream_of(
            self._session, self._settings, self._facts, self._compactor.base.start,
            rows=self._options.batch_rows, slices=len(self._keys), ends=self._options.once,
        )  # fmt: skip

    def _is_overtaken(self) -> bool:
        """Return whether this job found a newer commit, made by another job, after its own last one."""
        return self._compactor.base is not self._base

    def _take(self, records: DataFrame, batch: int) -> None:
        """Take one batch; Spark's number for it is ignored."""
        try:
            done = self._compactor.take(partial(self._fold, records), len(self._keys), self._wait)
        except Exception as error:  # noqa: BLE001 -- `run` raises it
            if self._stop.is_said:
                # Stopping a stream makes the batch that it is working on fail.
                self._error = _Stopped()
            elif isinstance(error, PySparkException | Py4JError):
                self._error = self._translated(error)
            else:
                self._error = error
            # The caller reports the error; Spark would log it at length.
            with suppress(Py4JError, ConnectionError):
                self._session.sparkContext.setLogLevel("OFF")
            raise _BatchFailed from None
        newest, is_overtaken = self._compactor.base.commit, self._is_overtaken()
        self._base = self._compactor.base
        if done is None and newest is not None and is_overtaken:
            self._listener.overtaken(newest.sequence)
        if done is not None:
            self._events = {**self._events, **newest_events(self._options.root, done.commit.own_files)}
            self._listener.commits(done, self._facts)

    def _fold(self, records: DataFrame, plan: Plan) -> list[SliceResult]:
        """Fold one batch, then check that the records came from the log that the job started with.

        Checking afterwards suffices, because a log's incarnation never comes back.
        """
        results = run_on_spark(records, self._keys, plan)
        self._require_same_log()
        return results

    def _require_same_log(self) -> None:
        """Check that the log is still the one that the job started with: Spark would read any log of that name.

        Raises:
            BadSetting, WrongSnapshot: the log is gone.
            WrongLog: it is another log, or ends before the end of what was folded.
            LogGap: it is an older copy that has grown since.
            LogUnavailable, ClusterUnavailable: it has not answered for two minutes, or until a stop was requested.

        Cost: reads up to the first copy of the header; in a trimmed log that is at most about 100,000 records.
        """
        until = time.monotonic() + _AWAY_SECONDS
        while True:
            try:
                facts = asyncio.run(self._look_at_log())
                if not self._options.once:
                    self._facts = facts
                return
            except (LogUnavailable, ClusterUnavailable):
                if self._stop.is_said or time.monotonic() > until:
                    raise
                time.sleep(_PAUSE_SECONDS)

    async def _look_at_log(self) -> LogFacts:
        """Return the log's facts, after checking that it is the same log and still has what was folded."""
        async with opened_log(self._settings) as log:
            facts = _of_same_log(await facts_of(log), self._facts)
            require_end(facts, self._compactor.base.start)
            await require_same_records(log, self._events)
        return facts

    def _fault_of_log(self) -> TopicfoldError | None:
        """Return why the job cannot continue with the log as it is now; None if it can, or if the log does not answer.

        If a log lost records, or was replaced by another of the same name, Spark only says that it cannot read some.
        """
        try:
            facts = asyncio.run(self._look_at_log())
            # Another job may have committed more meanwhile, and the log may have been trimmed by that commit.
            self._compactor.look_again()
            require_overlap(facts, self._compactor.base.start)
        except (LogUnavailable, ClusterUnavailable, BadSetting):
            return None
        except TopicfoldError as fault:
            return fault
        return None

    def _translated(self, error: Exception) -> TopicfoldError:
        """Return our own error for one of Spark's, which is its cause."""
        text = text_of(error)
        known = known_error(text, self._options.root) or self._fault_of_log()
        ours = known or LogUnavailable(f"the stream ended: {cause_in(text)[:500]}", hint=AGAIN_HINT)
        ours.__cause__ = error
        return ours

    def _wait(self, sequence: int) -> None:
        if self._stop.is_said:
            raise _Stopped
        if sequence != self._waited_for:
            self._waited_for = sequence
            self._listener.waits(sequence)

    def _checkpoint_name(self) -> str:
        """Return the name of the checkpoint: different for each log, as jobs of several logs may share a directory."""
        kind = "sqlite" if self._settings.kafka_bootstrap is None else "kafka"
        return f"{kind}-{self._facts.identity.incarnation.hex()}"
