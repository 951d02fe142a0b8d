"""One broker for a whole test session, shared by all its xdist workers.

`TOPICFOLD_TEST_BOOTSTRAP` names one; else a container where a Docker engine answers; else Kafka's own jars. The first
worker that needs it starts it and writes down where it is; the session's controller ends it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from tests.brokers.process import KafkaProcess

_IMAGE = "confluentinc/cp-kafka:7.9.1"
_started: list[KafkaProcess] = []
"""What this very process started; under xdist the controller ends what a worker started."""


def shared_bootstrap(directory: Path) -> str:
    """Return where the session's broker listens; `directory` is the session's.

    Raises:
        Unavailable: there is none, and none can be started.
    """
    named = os.environ.get("TOPICFOLD_TEST_BOOTSTRAP")
    if named:
        return named
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        note = directory / "broker.json"
        if not note.exists():
            note.write_text(json.dumps(_container() or _process(directory)))
        bootstrap: str = json.loads(note.read_text())["bootstrap"]
        return bootstrap


def end_shared(directory: Path) -> None:
    """End the session's broker, where one was started."""
    note = directory / "broker.json"
    if not note.exists():
        return
    broker = json.loads(note.read_text())
    if _started:
        _started.pop().kill()
    elif "pid" in broker:
        _kill(broker["pid"])
    else:
        subprocess.run(["docker", "rm", "--force", broker["container"]], check=False, capture_output=True)


def _kill(pid: int) -> None:
    """End a process that is no child of this one; return once it is gone, or after five seconds."""
    deadline = time.monotonic() + 5
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        while time.monotonic() < deadline:
            os.kill(pid, 0)
            time.sleep(0.02)


def _process(directory: Path) -> dict[str, str | int]:
    broker = KafkaProcess(directory / "broker", session_seconds=120)
    broker.start()
    _started.append(broker)
    return {"bootstrap": broker.bootstrap, "pid": broker.pid}


def _container() -> dict[str, str | int] | None:
    """Start a container and return how to find it, or None where no Docker engine answers."""
    if not shutil.which("docker") or subprocess.run(["docker", "version"], capture_output=True, check=False).returncode:
        return None
    from testcontainers.community.kafka import KafkaContainer
    from testcontainers.core.config import testcontainers_config

    testcontainers_config.ryuk_disabled = True  # it would end the container with the worker that started it
    container = KafkaContainer(_IMAGE).with_kraft()
    container.start()
    return {"bootstrap": container.get_bootstrap_server(), "container": container.get_wrapped_container().id}
