"""The command `topicfold compact` in processes of its own: what it says, and how signals end it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import pyspark
import pytest

from tests.client.waiting import eventually
from tests.compaction.conftest import spark_settings
from tests.compaction.logs import append, random_values, replayed, settings_of
from tests.compaction.tables import require_equal
from tests.prerequisites import CHECKOUT
from topicfold.settings import Settings
from topicfold.snapshot.claims import CLAIMS, Claims
from topicfold.snapshot.commits import GENESIS_COMMIT, sequences

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(CHECKOUT / "engine")}


def test_the_command_runs_on_executors_of_their_own(tmp_path: Path) -> None:
    log = settings_of(log_file=tmp_path / "log.db")
    append(log, random_values(6, 60))
    settings = spark_settings("local-cluster[2,1,1024]")
    options = [part for name, value in settings.items() for part in ("--spark-setting", f"{name}={value}")]
    command = command_of(log, tmp_path / "snapshot", "--once", *options, "--batch-rows", "40", "-o", "json")
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT, timeout=200)
    assert ran.returncode == 0, ran.stderr
    assert '"sequence": 2' in ran.stdout
    assert "compacted sequence=1 events=" in ran.stderr
    require_equal(tmp_path / "snapshot", replayed(log))


def test_what_spark_submit_is_told_is_not_overruled(tmp_path: Path) -> None:
    script, home = tmp_path / "script.py", Path(pyspark.__file__).parent
    script.write_text(
        "from topicfold.compaction.spark.session import open_session\n"
        'conf = open_session({"spark.sql.caseSensitive": "true"}, needs_kafka=False).conf\n'
        'for name in ("caseSensitive", "adaptive.enabled", "streaming.metricsEnabled"):\n'
        '    print(name, conf.get(f"spark.sql.{name}"))\n'
        'print(conf.get("spark.app.name"))\n'
    )
    told = {**spark_settings("local[1]"), "spark.sql.caseSensitive": "false", "spark.sql.adaptive.enabled": "true"}
    options = ["--name", "nightly", *(part for each in told.items() for part in ("--conf", "=".join(each)))]
    environment = {**ENVIRONMENT, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    ran = subprocess.run([home / "bin" / "spark-submit", *options, script], capture_output=True, text=True, check=False,
                         env=environment, timeout=200)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "caseSensitive true", "adaptive.enabled true", "streaming.metricsEnabled false", "nightly",
    ]  # fmt: skip


def test_two_jobs_at_once_both_end_well_and_say_no_more_than_what_they_did(tmp_path: Path) -> None:
    log, root = settings_of(log_file=tmp_path / "log.db"), tmp_path / "snapshot"
    append(log, random_values(7, 60))
    command = command_of(log, root, "--once", "--batch-rows", "20", "--slices", "2")
    jobs = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) for _ in range(2)]
    told = [line for job in jobs for line in job.communicate(timeout=200)[1].splitlines()]
    assert [job.returncode for job in jobs] == [0, 0]
    expected = (BEGINNING, "compacted ", "no new commit", "another job is at commit", "another job made commit")
    assert [line for line in told if not line.startswith(expected)] == []
    assert sum(line.startswith("compacted ") for line in told) == len(sequences(root))
    require_equal(root, replayed(log))
    without_java = {**ENVIRONMENT, "JAVA_HOME": str(tmp_path), "PATH": ""}
    again = subprocess.run([*command, "-o", "json"], capture_output=True, text=True, check=True, env=without_java)
    assert json.loads(again.stdout)["sequence"] == sequences(root)[0]
    assert again.stderr == "no new commit was made\n"


def test_the_command_needs_no_room_where_it_is_called(tmp_path: Path) -> None:
    log = settings_of(log_file=tmp_path / "log.db")
    append(log, random_values(9, 10))
    here = tmp_path / "here"
    here.mkdir()
    for number, place in enumerate((Path("/proc"), here)):
        ran = commanded(log, tmp_path / f"snapshot-{number}", cwd=place)
        assert (ran.returncode, ran.stdout.count("SEQUENCE")) == (0, 1), ran.stderr
    assert list(here.iterdir()) == []


BEGINNING = "compacting records="
ENDING = "stopping as soon as Spark can; interrupt again to stop at once\n"


@pytest.mark.parametrize(("number", "to"), [(signal.SIGINT, os.kill), (signal.SIGTERM, os.killpg)])
def test_a_signal_while_spark_starts_leaves_nothing_behind(
    tmp_path: Path, number: signal.Signals, to: Callable[[int, signal.Signals], None]
) -> None:
    log, mark = settings_of(log_file=tmp_path / "log.db"), f"mark-{uuid.uuid4().hex}"
    append(log, random_values(11, 10))
    command = command_of(log, tmp_path / "snapshot", "--once", "--spark-setting", f"spark.app.id={mark}")
    starting = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, start_new_session=True)
    eventually(lambda: any(mark in each and is_spark(each) for each in commands_that_run()), 60)
    to(starting.pid, number)
    beginning, *told = starting.communicate(timeout=100)[1].splitlines(keepends=True)
    assert beginning.startswith(BEGINNING)
    assert told == [ENDING]
    assert starting.returncode == 130
    eventually(lambda: not any(mark in each for each in commands_that_run()))


@pytest.mark.parametrize(("options", "code"), [(["--every", "5"], 0), (["--once"], 130)])
def test_a_signal_in_the_middle_of_a_batch_is_no_failure_to_tell(
    tmp_path: Path, options: Sequence[str], code: int
) -> None:
    log, root = settings_of(log_file=tmp_path / "log.db"), tmp_path / "snapshot"
    append(log, random_values(12, 2_000))
    running = subprocess.Popen(
        command_of(log, root, *options), stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, start_new_session=True
    )
    while running.poll() is None and not any((root / CLAIMS).glob("*.json")):
        time.sleep(0.005)
    os.killpg(running.pid, signal.SIGINT)
    told = running.communicate(timeout=100)[1].splitlines(keepends=True)
    expected = (BEGINNING, ENDING, "compacted ", "no new commit was made", "WARNING: Using incubator modules")
    assert [line for line in told if not line.startswith(expected)] == []
    assert running.returncode == code


def is_spark(command: str) -> bool:
    """Return whether that is its JVM, and not what finds out how to start it."""
    return " -cp " in command and "launcher" not in command


def commands_that_run() -> list[str]:
    """Return the command lines of all processes, without those that end while they are read."""
    found = []
    for each in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            found.append((each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


def test_a_snapshot_that_cannot_be_is_named_last_and_without_a_trace(tmp_path: Path) -> None:
    log = settings_of(log_file=tmp_path / "log.db")
    append(log, random_values(10, 10))
    a_file = tmp_path / "file"
    a_file.touch()
    in_the_way = tmp_path / "snapshot"
    in_the_way.mkdir()
    (in_the_way / "history").touch()
    for root, what, next_step in (
        (a_file / "below", "read", "Name a readable directory"),
        (in_the_way, "written", "Free some space or grant write permission"),
    ):
        ran = commanded(log, root, cwd=tmp_path)
        assert ran.returncode == 1
        assert "Traceback" not in ran.stderr
        said, hint = ran.stderr.splitlines()[-2:]
        assert said.startswith(f"error: the snapshot {root} cannot be {what}: ")
        assert "Not a directory" in said
        assert hint.startswith(f"hint: {next_step}")


def test_of_a_log_that_goes_while_the_job_runs_it_is_told_so_and_no_trace_of_java_s(tmp_path: Path) -> None:
    log, root = settings_of(log_file=tmp_path / "log.db"), tmp_path / "snapshot"
    append(log, random_values(10, 10))
    running = subprocess.Popen(
        command_of(log, root, "--every", "0.1"), stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    assert running.stderr is not None
    assert running.stderr.readline().startswith(BEGINNING)
    assert running.stderr.readline().startswith("compacted sequence=1 ")
    log.log_file.unlink()
    said, hint = running.communicate(timeout=200)[1].splitlines()
    assert said == f"error: there is no log {log.log_file}, and the snapshot {root} is of one"
    assert hint.startswith("hint: Restore the log, or name the one that the snapshot is of. Nodes that still run know ")
    assert running.returncode == 1


def command_of(log: Settings, root: Path, *options: str) -> list[str]:
    """Return what compacts `log`, to be run with `ENVIRONMENT`."""
    places = ["--log", str(log.log_file), "--snapshot", str(root)]
    return [sys.executable, "-m", "topicfold", "compact", *places, *options]


def commanded(log: Settings, root: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command once, in a process of its own."""
    command = command_of(log, root, "--once", "--slices", "2")
    return subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT, cwd=cwd, timeout=200)


def test_a_job_that_waits_for_another_says_so_and_can_be_stopped(tmp_path: Path) -> None:
    log, root = settings_of(log_file=tmp_path / "log.db"), tmp_path / "snapshot"
    append(log, random_values(8, 10))
    claims = Claims(root)
    assert claims.take(1, GENESIS_COMMIT, (0, 0))
    command = command_of(log, root)
    waiting = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert waiting.stderr is not None
    assert waiting.stderr.readline().startswith(BEGINNING)
    assert waiting.stderr.readline() == "another job is at commit 1: waiting for it\n"
    waiting.terminate()
    assert waiting.communicate(timeout=60)[1] == f"{ENDING}no new commit was made\n"
    assert waiting.returncode == 0
    claims.drop()
