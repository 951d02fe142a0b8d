"""What Spark says of a failure, and what is told of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from topicfold.compaction.spark.errors import cause_in, is_of_checkpoint, known_error, text_of
from topicfold.errors import BadSetting, LogUnavailable, SnapshotUnwritable, TooLarge

ROOT = Path("/snapshot")


def test_a_slice_that_is_too_large_is_told_with_what_helps() -> None:
    error = known_error(
        "An exception was thrown from the Python worker. Please see the stack trace below.\n"
        'Traceback (most recent call last):\n  File "spans.py", line 1, in spans_of\n'
        "topicfold.errors.TooLarge: a slice of the batch has 9 bytes, at most 3 are possible\n",
        ROOT,
    )
    assert isinstance(error, TooLarge)
    assert error.reason == "a slice of the batch has 9 bytes, at most 3 are possible"
    assert "--batch-rows" in error.hint


@pytest.mark.parametrize(
    ("said", "reason", "hint"),
    [
        (
            "org.apache.spark.SparkException: Python worker failed to connect back.\n"
            "\tat org.apache.spark.api.python.PythonWorkerFactory.createSimpleWorker(PythonWorkerFactory.scala:221)\n"
            "Caused by: java.net.SocketTimeoutException: Timed out while waiting for the Python worker\n",
            "a Python worker of Spark did not start in time",
            "--slices",
        ),
        (
            "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)\n"
            "Caused by: java.io.EOFException\n",
            "a Python worker of Spark is gone",
            "--batch-rows",
        ),
    ],
)
def test_of_a_worker_that_is_not_there_it_is_said_what_helps(said: str, reason: str, hint: str) -> None:
    error = known_error(said, ROOT)
    assert isinstance(error, LogUnavailable)
    assert error.reason == f"the stream ended: {reason}"
    assert hint in error.hint


@pytest.mark.parametrize(
    "said",
    [
        'Cannot run program "/nonexistent/python"',
        "EOFException occurred while reading the port number from pyspark.daemon's stdout",
    ],
)
def test_of_a_python_that_does_not_start_it_is_said_what_names_it(said: str) -> None:
    error = known_error(
        f"java.io.IOException: {said}: error=2\n\tat org.apache.spark.SparkEnv.create(SparkEnv.scala)\n", ROOT
    )
    assert isinstance(error, BadSetting)
    assert error.reason == f"Spark's Python workers do not start: {said}"
    assert "PYSPARK_PYTHON" in error.hint


@pytest.mark.parametrize(
    ("said", "is_of_files"),
    [
        ("OSError: [Errno 28] No space left on device: '/snapshot/topics/1.parquet'", True),
        ("PermissionError: [Errno 13] Permission denied: '/snapshot/topics'", True),
        ("BrokenPipeError: [Errno 32] Broken pipe", False),
        ("OSError: [Errno 24] Too many open files", False),
        ("ConnectionRefusedError: [Errno 111] Connection refused", False),
    ],
)
def test_a_task_that_failed_is_a_snapshot_that_cannot_be_written_only_where_it_says_so(
    said: str, is_of_files: bool
) -> None:
    error = known_error(f"Traceback (most recent call last):\n  File 'x'\n{said}\n", ROOT)
    assert isinstance(error, SnapshotUnwritable) is is_of_files


def test_a_batch_for_which_java_has_no_room_names_sparks_own_files() -> None:
    error = known_error(
        "Job aborted due to stage failure: Task 1 in stage 4.0 failed 1 times, most recent failure: Lost task:"
        " java.io.IOException: No space left on device\n\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native)\n"
        "Caused by: java.io.IOException: No space left on device\n",
        ROOT,
    )
    assert isinstance(error, LogUnavailable)
    assert error.reason == "the stream ended: Spark cannot write files of its own: No space left on device"
    assert "TMPDIR" in error.hint


@pytest.mark.parametrize(
    ("says", "is_told_of"),
    [
        ("java.io.IOException: No space left on device SQLSTATE: XXKST", True),
        ("File file:/snapshot/checkpoint/sqlite-00/offsets does not exist SQLSTATE: XXKST", True),
        ("org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node", False),
        ("java.io.FileNotFoundException: /etc/ca.pem (Permission denied)", False),
    ],
)
def test_a_stream_that_ended_is_a_checkpoint_that_cannot_be_written_only_where_it_says_so(
    says: str, is_told_of: bool
) -> None:
    assert is_told_of is is_of_checkpoint(says, ROOT / "checkpoint")


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (
            "An error occurred while calling o233.getResult.\n"
            ": org.apache.spark.SparkException: Exception thrown in awaitResult: \n"
            "\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:53)\n"
            "Caused by: org.apache.kafka.OffsetOutOfRangeException: Fetch position 61 is out of range\n"
            "\tat org.apache.kafka.Fetcher.fetch(Fetcher.java:1)\n",
            "org.apache.kafka.OffsetOutOfRangeException: Fetch position 61 is out of range",
        ),
        (
            "Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
            '  File "worker.py", line 1, in main\n'
            "OSError: [Errno 5] Input/output error\n\n"
            "\tat org.apache.spark.api.python.BasePythonRunner(PythonRunner.scala:1)\n",
            "OSError: [Errno 5] Input/output error",
        ),
        (
            "An error occurred while calling o112.start.\n"
            ": org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device\n"
            "\tat org.apache.hadoop.fs.RawLocalFileSystem.write(RawLocalFileSystem.java:486)\n",
            "org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device",
        ),
        ("[STREAM_FAILED] terminated with exception: no room\n", "[STREAM_FAILED] terminated with exception: no room"),
        (
            "[PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when it performs latestOffset: Traceback:\n"
            "topicfold.errors.LogUnavailable: there is no log a.db any more\n SQLSTATE: 38000\n",
            "there is no log a.db any more",
        ),
        ("", "Spark failed"),
    ],
)
def test_of_all_that_spark_says_the_last_cause_is_told(says: str, reason: str) -> None:
    assert cause_in(says) == reason


def test_a_message_without_a_cause_is_told_with_the_one_that_java_names() -> None:
    class Captured(Exception):
        _stackTrace = (  # noqa: N815 -- as Spark calls it
            "org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query terminated\n"
            "Caused by: org.apache.kafka.common.KafkaException: Failed to create new KafkaAdminClient\n"
            "\tat org.apache.kafka.clients.admin.KafkaAdminClient.createInternal(KafkaAdminClient.java:558)\n"
            "Caused by: java.security.NoSuchAlgorithmException: PBES2 SecretKeyFactory not available\n"
        )

    silent, told = Captured("[STREAM_FAILED] Query terminated"), Captured("OSError: [Errno 28] No space left on device")
    assert cause_in(text_of(silent)) == "java.security.NoSuchAlgorithmException: PBES2 SecretKeyFactory not available"
    assert text_of(told) == str(told)
