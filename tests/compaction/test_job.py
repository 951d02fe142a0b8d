"""The job itself, on Spark: from a log on SQLite or Kafka to tables, whatever comes between."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import traceback
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

from tests.builders import namespace_put
from tests.client.waiting import eventually
from tests.compaction.folds import run_here
from tests.compaction.logs import PARTITION, append, random_values, replayed, settings_of
from tests.compaction.tables import require_equal
from tests.compaction.trimming import grow, trimmed
from tests.snapshot.making import compacted_further
from topicfold.compaction import job as jobs
from topicfold.compaction import log_facts
from topicfold.compaction.compactor import Compactor, Done
from topicfold.compaction.comparison import Difference
from topicfold.compaction.job import CompactOptions, Listener, compact
from topicfold.compaction.log_facts import LogFacts
from topicfold.compaction.stop import Stop
from topicfold.compaction.trim import trim
from topicfold.errors import (
    BadSetting,
    LevelUnsupported,
    LogGap,
    LogUnavailable,
    SnapshotUnwritable,
    WrongLog,
    WrongSnapshot,
)
from topicfold.log.codec import encode_event
from topicfold.log.digest_record import Statement, digest_value
from topicfold.log.identity import recognise_identity
from topicfold.log.port import Log, LogIdentity
from topicfold.model.events import Kind
from topicfold.settings import Settings
from topicfold.snapshot.commits import read_commit, sequences
from topicfold.starting import opened_log

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]
ROWS = 25


def job(
    log: Settings, root: Path, spark: dict[str, str], *, batch_rows: int = ROWS, checkpoint: Path | None = None
) -> list[Done]:
    """Run the job once and return its batches."""
    done: list[Done] = []
    options = CompactOptions(root, once=True, batch_rows=batch_rows, slices=2, checkpoint=checkpoint, spark=spark)
    compact(log, options, Listener(lambda each, facts: done.append(each)))
    return done


def test_a_log_in_ten_batches_comes_to_what_the_engine_folds(
    log: Settings, tmp_path: Path, spark: dict[str, str]
) -> None:
    append(log, random_values(1, 10 * ROWS))
    done = job(log, tmp_path / "snapshot", spark)
    assert len(done) >= 10
    assert max(each.events for each in done) <= 2 * ROWS
    require_equal(tmp_path / "snapshot", replayed(log))


def test_the_next_run_goes_on_and_a_lost_checkpoint_changes_nothing(
    log: Settings, tmp_path: Path, spark: dict[str, str]
) -> None:
    root, values = tmp_path / "snapshot", random_values(2, 90)
    append(log, values[:40])
    job(log, root, spark, batch_rows=1000)
    append(log, values[40:60])
    assert [each.events for each in job(log, root, spark, batch_rows=1000)] == [20]
    shutil.rmtree(root / "checkpoint")
    append(log, values[60:])
    assert [each.events for each in job(log, root, spark, batch_rows=1000)] == [30]
    assert job(log, root, spark) == []
    require_equal(root, replayed(log))


def test_how_much_there_is_to_fold_is_told_before_spark_starts(tmp_path: Path, spark: dict[str, str]) -> None:
    log, values = settings_of(log_file=tmp_path / "log.db"), random_values(3, 60)
    told: list[str] = []
    listener = Listener(
        lambda done, facts: told.append(f"committed {done.events}"),
        begins=lambda records: told.append(f"begins {records}"),
        folds=lambda: told.append("folds"),
    )
    for some in (values[:40], values[40:], []):
        append(log, some)
        compact(log, CompactOptions(tmp_path / "snapshot", once=True, slices=2, spark=spark), listener)
    # The first time two headers, too, one of each partition.
    assert told == ["begins 42", "folds", "committed 42", "begins 20", "folds", "committed 20"]


def test_a_log_that_lost_its_end_and_grew_again_is_refused(tmp_path: Path, spark: dict[str, str]) -> None:
    log, restored = (settings_of(log_file=tmp_path / f"{name}.db") for name in ("log", "restored"))
    values = random_values(4, 40)
    append(log, values)
    (done,) = job(log, tmp_path / "snapshot", spark, batch_rows=1000)
    append(restored, [*values[:20], *random_values(5, 60)])
    with pytest.raises(LogGap, match="has another record at offset"):
        job(restored, tmp_path / "snapshot", spark)
    assert sequences(tmp_path / "snapshot") == [done.commit.sequence]


def test_a_job_that_is_refused_makes_no_directory(tmp_path: Path) -> None:
    log = settings_of(log_file=tmp_path / "log.db")
    grow(log, tmp_path / "snapshot")
    trimmed(log, tmp_path / "snapshot")
    with pytest.raises(WrongSnapshot, match="holds no commit"):
        job(log, tmp_path / "other", {})
    assert not (tmp_path / "other").exists()


def test_a_snapshot_that_cannot_be_made_is_named_before_spark_is_started(tmp_path: Path) -> None:
    log = settings_of(log_file=tmp_path / "log.db")
    append(log, random_values(1, 10))
    with pytest.raises(SnapshotUnwritable, match="the snapshot /proc/none cannot be written: "):
        compact(log, CompactOptions(Path("/proc/none"), once=True), Listener(print, begins=pytest.fail))


def test_a_log_that_is_moved_away_while_the_job_runs_is_said_to_be_gone(tmp_path: Path, spark: dict[str, str]) -> None:
    log = settings_of(log_file=tmp_path / "log.db")
    append(log, random_values(4, 60))
    options = CompactOptions(tmp_path / "snapshot", once=True, batch_rows=20, slices=2, spark=spark)
    with pytest.raises(LogUnavailable, match=r"there is no log .*/log\.db any more"):
        compact(log, options, Listener(lambda done, facts: log.log_file.rename(tmp_path / "moved.db")))
    assert not log.log_file.exists()


def test_a_log_that_is_replaced_while_the_job_runs_is_never_folded_in(tmp_path: Path, spark: dict[str, str]) -> None:
    log, other, root = settings_of(log_file=tmp_path / "log.db"), tmp_path / "other.db", tmp_path / "snapshot"
    append(log, random_values(4, 60))
    append(settings_of(log_file=other), random_values(5, 60), incarnation=b"M" * 16)

    def replace_log(done: Done, facts: LogFacts) -> None:
        with contextlib.suppress(FileNotFoundError):
            other.replace(tmp_path / "log.db")

    with pytest.raises(WrongLog, match="another log"):
        compact(log, CompactOptions(root, once=True, batch_rows=ROWS, slices=2, spark=spark), Listener(replace_log))
    assert sequences(root) == [1]


@pytest.mark.kafka
def test_a_shorter_log_that_takes_the_name_while_the_job_runs_is_said_to_be_another(
    kafka_bootstrap: str, tmp_path: Path, spark: dict[str, str]
) -> None:
    log = settings_of(kafka_bootstrap=kafka_bootstrap, kafka_topic=f"t-{uuid.uuid4().hex}")
    append(log, random_values(4, 60))
    admin = AdminClient({"bootstrap.servers": kafka_bootstrap})

    def replace_log(done: Done, facts: LogFacts) -> None:
        admin.delete_topics([log.kafka_topic])[log.kafka_topic].result(20)
        eventually(lambda: log.kafka_topic not in admin.list_topics(timeout=10).topics)
        append(log, random_values(5, 10), incarnation=b"M" * 16)

    options = CompactOptions(tmp_path / "snapshot", once=True, batch_rows=ROWS, slices=2, spark=spark)
    with pytest.raises(WrongLog, match="another log"):
        compact(log, options, Listener(replace_log))
    assert sequences(tmp_path / "snapshot") == [1]


def test_an_older_copy_of_the_log_that_grows_while_the_job_runs_is_never_folded_in(
    tmp_path: Path, spark: dict[str, str]
) -> None:
    log, copy, root = settings_of(log_file=tmp_path / "log.db"), tmp_path / "copy.db", tmp_path / "snapshot"
    values = random_values(4, 60)
    append(log, values)
    append(settings_of(log_file=copy), [*values[:10], *random_values(5, 60)])

    def restore_log(done: Done, facts: LogFacts) -> None:
        with contextlib.suppress(FileNotFoundError):
            copy.replace(tmp_path / "log.db")

    with pytest.raises(LogGap, match="has another record at offset"):
        compact(log, CompactOptions(root, once=True, batch_rows=ROWS, slices=2, spark=spark), Listener(restore_log))
    assert sequences(root) == [1]


def test_a_log_that_becomes_shorter_while_the_job_waits_for_more_is_refused(
    tmp_path: Path, spark: dict[str, str]
) -> None:
    log, copy = settings_of(log_file=tmp_path / "log.db"), settings_of(log_file=tmp_path / "copy.db")
    values = random_values(4, 60)
    append(log, values)
    append(copy, values[:10])
    options = CompactOptions(tmp_path / "snapshot", once=False, every_seconds=0.1, slices=2, spark=spark)
    with pytest.raises(WrongLog, match=r"partition 1 of the log ends at offset 11, the snapshot at 61"):
        compact(log, options, Listener(lambda done, facts: copy.log_file.replace(log.log_file) and None))
    assert sequences(tmp_path / "snapshot") == [1]


def test_a_job_that_goes_on_tells_with_each_batch_where_the_log_ends_by_then(
    tmp_path: Path, spark: dict[str, str]
) -> None:
    log, shorter = settings_of(log_file=tmp_path / "log.db"), settings_of(log_file=tmp_path / "shorter.db")
    values = random_values(4, 60)
    append(log, values[:20])
    append(shorter, [])
    ends: list[int] = []

    def commits(done: Done, facts: LogFacts) -> None:
        ends.append(facts.end[PARTITION])
        if len(ends) == 1:
            append(log, values[20:])
        else:
            shorter.log_file.replace(log.log_file)

    options = CompactOptions(tmp_path / "snapshot", once=False, every_seconds=0.1, slices=2, spark=spark)
    with pytest.raises(WrongLog, match="ends at offset"):
        compact(log, options, Listener(commits))
    assert ends == [21, 61]


@pytest.mark.parametrize(
    "lost",
    [
        Py4JNetworkError("Answer from Java side is empty"),
        Py4JError("An error occurred while calling o1.awaitTermination"),
        ConnectionRefusedError(111, "no"),
    ],
)
def test_where_the_jvm_was_killed_it_is_said_to_be_gone(
    tmp_path: Path, spark: dict[str, str], monkeypatch: pytest.MonkeyPatch, lost: Exception
) -> None:
    log = settings_of(log_file=tmp_path / "log.db")
    append(log, random_values(6, 20))

    def keys(session: object, slices: int) -> list[int]:
        raise lost

    monkeypatch.setattr(jobs, "slice_keys", keys)
    with pytest.raises(LogUnavailable, match="Spark's JVM is gone") as caught:
        job(log, tmp_path / "snapshot", spark)
    assert "memory" in caught.value.hint


def test_a_log_that_is_away_for_a_moment_behind_a_batch_is_waited_for(
    tmp_path: Path, spark: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log, asked = settings_of(log_file=tmp_path / "log.db"), []
    append(log, random_values(6, 20))

    async def recognise(log: Log) -> LogIdentity:
        asked.append(log)
        if len(asked) in {2, 3}:
            raise LogUnavailable("no answer")
        return await recognise_identity(log)

    monkeypatch.setattr(log_facts, "recognise_identity", recognise)
    monkeypatch.setattr(jobs, "_PAUSE_SECONDS", 0.0)
    job(log, tmp_path / "snapshot", spark)
    assert sequences(tmp_path / "snapshot") == [1]
    assert len(asked) == 4
    asked.clear()
    append(log, random_values(7, 20))
    monkeypatch.setattr(jobs, "_AWAY_SECONDS", -1.0)
    with pytest.raises(LogUnavailable, match="no answer"):
        job(log, tmp_path / "snapshot", spark)
    assert sequences(tmp_path / "snapshot") == [1]


def test_a_checkpoint_that_is_behind_is_passed_over(log: Settings, tmp_path: Path, spark: dict[str, str]) -> None:
    root, values = tmp_path / "snapshot", random_values(3, 60)
    append(log, values[:20])
    job(log, root, spark)
    shutil.copytree(root / "checkpoint", tmp_path / "older")
    append(log, values[20:40])
    job(log, root, spark)
    shutil.rmtree(root / "checkpoint")
    shutil.copytree(tmp_path / "older", root / "checkpoint")
    append(log, values[40:])
    assert sum(each.events for each in job(log, root, spark)) == 20
    require_equal(root, replayed(log))


def test_a_commit_that_was_given_up_is_read_again_whatever_the_checkpoint_says(
    log: Settings, tmp_path: Path, spark: dict[str, str]
) -> None:
    root, values = tmp_path / "snapshot", random_values(3, 60)
    for start in (0, 20):
        append(log, values[start : start + 20])
        job(log, root, spark, batch_rows=1000)
    newest = read_commit(root, sequences(root)[0])
    (root / newest.files_of("namespaces")[0].path).write_bytes(b"flipped")
    append(log, values[40:])
    assert sum(each.events for each in job(log, root, spark)) == 40
    append(log, values[:10])
    assert sum(each.events for each in job(log, root, spark)) == 10
    require_equal(root, replayed(log))


def test_a_snapshot_that_was_removed_is_made_anew_whatever_the_checkpoint_says(
    log: Settings, tmp_path: Path, spark: dict[str, str]
) -> None:
    root, elsewhere = tmp_path / "snapshot", tmp_path / "checkpoint"
    append(log, random_values(3, 20))
    first = sum(each.events for each in job(log, root, spark, checkpoint=elsewhere))
    shutil.rmtree(root)
    assert sum(each.events for each in job(log, root, spark, checkpoint=elsewhere)) == first >= 20
    require_equal(root, replayed(log))


def test_a_level_beyond_this_version_stops_the_job_and_keeps_what_lies_below(
    tmp_path: Path, spark: dict[str, str]
) -> None:
    log = settings_of(log_file=tmp_path / "log.db")
    values = random_values(4, 20)
    append(log, values)
    raised = encode_event(namespace_put(999)._replace(kind=Kind.LEVEL))
    append(log, [raised, *values])
    with pytest.raises(LevelUnsupported, match="offset 21"):
        job(log, tmp_path / "snapshot", spark, batch_rows=1000)
    assert read_commit(tmp_path / "snapshot", 1).to[PARTITION] == 21
    with pytest.raises(LevelUnsupported, match="offset 21"):
        job(log, tmp_path / "snapshot", spark, batch_rows=1000)


@pytest.mark.kafka
def test_what_an_aborted_transaction_wrote_is_never_folded(
    kafka_bootstrap: str, tmp_path: Path, spark: dict[str, str]
) -> None:
    log = settings_of(kafka_bootstrap=kafka_bootstrap, kafka_topic=f"t-{uuid.uuid4().hex}")
    values = random_values(5, 30)
    append(log, values[:20])
    producer = Producer({"bootstrap.servers": kafka_bootstrap, "transactional.id": uuid.uuid4().hex, "log_level": 0})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(log.kafka_topic, values[20], partition=PARTITION)
    producer.flush(20)
    producer.abort_transaction(20)
    append(log, values[21:])
    with pytest.raises(LogGap, match="partition 1"):
        job(log, tmp_path / "snapshot", spark, batch_rows=1000)
    assert sequences(tmp_path / "snapshot") == []


def test_spark_is_told_next_to_nothing_of_a_batch_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        base = None

        def take(self, run: object, slices: int, waiting: object) -> None:
            raise Py4JError("at java.base/java.util.regex.Pattern" * 1_000)

    monkeypatch.setattr(jobs, "slice_keys", lambda session, slices: [])
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(setLogLevel=lambda level: None))
    facts = LogFacts(LogIdentity(b"L" * 16, 2, "sha256-be32"), (0, 0), (0, 0))
    compactor: Any = Failing()
    running = jobs._Job(
        spark, settings_of(log_file=tmp_path / "log.db"), CompactOptions(tmp_path, once=True, slices=2), facts,
        compactor, {}, Listener(commits=print), Stop(lambda: None),
    )  # fmt: skip
    with pytest.raises(Exception) as failed:
        running._take(spark, 0)
    assert len("".join(traceback.format_exception(failed.value))) < 1_000
    assert isinstance(running._error, LogUnavailable)


def idle(log: Settings, root: Path, monkeypatch: pytest.MonkeyPatch, listener: Listener | None = None) -> jobs._Job:
    """Return a job that has read who the log is and what there is of a snapshot, and was given no batch."""
    monkeypatch.setattr(jobs, "slice_keys", lambda session, slices: [])
    facts = asyncio.run(log_facts.log_facts(log))
    nothing: Any = None
    return jobs._Job(
        nothing, log, CompactOptions(root, once=False, slices=2), facts, Compactor(root, facts.identity), {},
        listener or Listener(commits=print), Stop(lambda: None),
    )  # fmt: skip


def test_a_stream_that_cannot_start_ends_the_job_with_what_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PySparkException('Cannot run program "/nonexistent/python"')

    log = settings_of(log_file=tmp_path / "log.db")
    append(log, random_values(3, 5))
    monkeypatch.setattr(jobs, "stream_of", refused)
    with pytest.raises(BadSetting, match="/nonexistent/python"):
        idle(log, tmp_path / "snapshot", monkeypatch).run()


@pytest.mark.parametrize(
    ("late", "error", "reason", "starts"),
    [(2, BadSetting, "/nonexistent/python", 3), (9, LogUnavailable, "a Python worker of Spark did not", 4)],
)
def test_a_stream_whose_python_worker_is_late_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: int, error: type[Exception], reason: str, starts: int
) -> None:
    started: list[int] = []

    def refused(*_: object, **__: object) -> None:
        started.append(1)
        raise PySparkException(
            "SparkException: Python worker failed to connect back."
            if len(started) <= late
            else 'Cannot run program "/nonexistent/python"'
        )

    log = settings_of(log_file=tmp_path / "log.db")
    append(log, random_values(3, 5))
    monkeypatch.setattr(jobs, "stream_of", refused)
    told: list[int] = []
    listener = Listener(commits=print, late=lambda: told.append(len(started)))
    with pytest.raises(error, match=reason):
        idle(log, tmp_path / "snapshot", monkeypatch, listener).run()
    assert (len(started), told) == (starts, [*range(1, starts)])


@pytest.mark.parametrize("late", [1, 4])
def test_who_stops_a_job_whose_python_worker_is_late_is_told_of_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: int
) -> None:
    started: list[int] = []

    def refused(*_: object, **__: object) -> None:
        started.append(1)
        if len(started) == late:
            stopping._stop.say()
        raise PySparkException("SparkException: Python worker failed to connect back.")

    log = settings_of(log_file=tmp_path / "log.db")
    append(log, random_values(3, 5))
    monkeypatch.setattr(jobs, "stream_of", refused)
    stopping = idle(log, tmp_path / "snapshot", monkeypatch)
    assert stopping.run()
    assert len(started) == late


def test_once_a_stream_runs_nothing_is_left_of_the_worker_that_was_late_for_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late: list[Exception] = [StreamingQueryException("SparkException: Python worker failed to connect back.")]

    def ends(seconds: float) -> bool:
        if late:
            raise late.pop()
        return True

    writer = SimpleNamespace(start=lambda: SimpleNamespace(awaitTermination=ends))
    writer.foreachBatch = writer.trigger = writer.option = lambda *_, **__: writer
    log = settings_of(log_file=tmp_path / "log.db")
    append(log, random_values(3, 5))
    monkeypatch.setattr(jobs, "stream_of", lambda *_, **__: SimpleNamespace(writeStream=writer))
    assert idle(log, tmp_path / "snapshot", monkeypatch).run()


def test_a_job_that_another_left_behind_does_not_take_a_trim_for_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, root, values = settings_of(log_file=tmp_path / "log.db"), tmp_path / "snapshot", random_values(3, 80)
    append(log, values[:20])
    further(log, root)
    sleeping = idle(log, root, monkeypatch)
    for first in (20, 40, 60):
        append(log, values[first : first + 20])
        further(log, root)
    trim(log, root, 0, lambda text: None)
    said = PySparkException("offset out of range")
    ended = sleeping._translated(said)
    assert isinstance(ended, LogUnavailable)
    assert "--debug" in ended.hint
    assert ended.__cause__ is said


def test_a_batch_for_which_another_job_was_faster_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, root, told = settings_of(log_file=tmp_path / "log.db"), tmp_path / "snapshot", []
    append(log, random_values(3, 20))
    running = idle(log, root, monkeypatch, Listener(commits=lambda *_: None, overtaken=told.append))
    monkeypatch.setattr(jobs, "run_on_spark", lambda records, keys, plan: run_here([])(plan))
    further(log, root)
    for _ in range(2):
        running._take(Any, 0)
    assert told == [1]


def further(log: Settings, root: Path) -> None:
    """Make a commit up to the log's end, without Spark."""

    async def make() -> None:
        async with opened_log(log) as opened:
            await compacted_further(opened, root)

    asyncio.run(make())


def test_a_checkpoint_that_cannot_be_written_is_named(tmp_path: Path, spark: dict[str, str]) -> None:
    log, a_file = settings_of(log_file=tmp_path / "log.db"), tmp_path / "file"
    append(log, random_values(10, 10))
    a_file.touch()
    options = CompactOptions(tmp_path / "snapshot", once=True, checkpoint=a_file / "below", spark=spark)
    with pytest.raises(SnapshotUnwritable, match=r"the checkpoint .*/file/below cannot be written: "):
        compact(log, options, Listener(print))


def test_a_checkpoint_that_can_be_written_no_more_is_named_too(tmp_path: Path, spark: dict[str, str]) -> None:
    log, checkpoint = settings_of(log_file=tmp_path / "log.db"), tmp_path / "checkpoint"
    append(log, random_values(10, 60))

    def put_in_the_way(done: Done, facts: LogFacts) -> None:
        (taken,) = (each for each in checkpoint.iterdir() if each.is_dir())
        shutil.rmtree(taken)
        taken.touch()

    options = CompactOptions(tmp_path / "snapshot", once=True, batch_rows=20, checkpoint=checkpoint, spark=spark)
    with pytest.raises(SnapshotUnwritable, match=r"the checkpoint .*/checkpoint cannot be written: "):
        compact(log, options, Listener(put_in_the_way))


def test_a_checkpoint_in_which_no_stream_can_begin_is_named_too(
    tmp_path: Path, spark: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log, checkpoint = settings_of(log_file=tmp_path / "log.db"), tmp_path / "checkpoint"
    append(log, random_values(10, 10))
    checkpoint.touch()
    monkeypatch.setattr(jobs, "own_checkpoint", lambda root, name: contextlib.nullcontext(root / name))
    with pytest.raises(SnapshotUnwritable, match=r"the checkpoint .*/checkpoint cannot be written: "):
        job(log, tmp_path / "snapshot", spark, checkpoint=checkpoint)


def test_plans_lie_where_it_is_said_though_bare_paths_are_of_a_cluster_s_own_file_system(
    tmp_path: Path, spark: dict[str, str]
) -> None:
    log, checkpoint = settings_of(log_file=tmp_path / "log.db"), tmp_path / "plans of 100 % übung"
    append(log, random_values(10, 10))
    try:
        job(log, tmp_path / "snapshot", {**spark, "fs.defaultFS": "hdfs://127.0.0.1:1"}, checkpoint=checkpoint)
    finally:
        SparkSession.builder.getOrCreate().conf.unset("fs.defaultFS")
    assert len([*checkpoint.glob("*/commits/0")]) == 1


def test_a_node_that_states_another_digest_where_a_batch_ends_is_named(
    log: Settings, tmp_path: Path, spark: dict[str, str]
) -> None:
    values = random_values(5, 20)
    append(log, values)
    append(log, [digest_value(1, b"D" * 16, "node2", PARTITION, (Statement(len(values) + 1, bytes(16)),))])
    (done,) = job(log, tmp_path / "snapshot", spark, batch_rows=1000)
    assert done.differences == [Difference(done.commit.sequence, PARTITION, len(values) + 1, "node2")]
    require_equal(tmp_path / "snapshot", replayed(log))
