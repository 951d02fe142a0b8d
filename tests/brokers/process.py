"""One Kafka broker (KRaft, broker and controller in one) as a process of its own, to be treated badly.

Ports and data stay the same over restarts, so clients find it again.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.brokers.data import make_data
from tests.brokers.jars import java_command
from tests.ports import free_ports
from tests.prerequisites import Unavailable

_START_SECONDS = 60.0
_STOP_SECONDS = 60.0
# Three or four brokers idle for most of a run of the tests. At Kafka's own 500 ms between two records that say nothing,
# and as long between two heartbeats, each took 20 ms of the processor a second, and takes 11 to 14.
_PROPERTIES = """
process.roles=broker,controller
node.id={node}
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={data}
auto.create.topics.enable=false
broker.session.timeout.ms={session_ms}
broker.heartbeat.interval.ms={heartbeat_ms}
metadata.max.idle.interval.ms=0
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
log.cleaner.dedupe.buffer.size=8388608
group.initial.rebalance.delay.ms=0
"""


class KafkaProcess:
    """A broker on 127.0.0.1; a context manager that starts and stops it."""

    node = 1
    """Its number in the cluster."""

    def __init__(self, directory: Path, session_seconds: int = 2) -> None:
        """Choose ports and make the data directory; nothing runs yet.

        For so long the controller, which is the same process, waits for a sign of the broker. After a kill that is how
        long a restart takes; where a busy machine halts the process for longer, no partition has a leader.
        """
        self._directory = directory
        self._session_seconds = session_seconds
        self._port, self._controller_port = free_ports(2)
        self._process: subprocess.Popen[bytes] | None = None
        self.is_paused = False
        """Whether it sleeps since `pause`."""

    @property
    def bootstrap(self) -> str:
        """Where clients find it."""
        return f"127.0.0.1:{self._port}"

    @property
    def controller_port(self) -> int:
        """Where other brokers of its cluster find it."""
        return self._controller_port

    @property
    def properties(self) -> str:
        """What the broker is told; of a property that is given twice the last counts."""
        return _PROPERTIES.format(
            node=self.node,
            port=self._port,
            controller_port=self._controller_port,
            data=self._directory / "data",
            session_ms=1000 * self._session_seconds,
            heartbeat_ms=min(250 * self._session_seconds, 2000),
        )

    @property
    def java_command(self) -> Sequence[str]:
        """How its JVM begins."""
        return java_command("-Xmx512m")

    @property
    def pid(self) -> int:
        """The process; only while it runs."""
        assert self._process
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process has been started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Return once the broker answers.

        Raises:
            Unavailable: it did not within a minute, or there is no Java or no jars.
        """
        properties = self._directory / "server.properties"
        if not properties.exists():
            make_data(self._directory / "data", self.node)
            properties.write_text(self.properties)
        log = (self._directory / "broker.log").open("ab")
        command = [*self.java_command, "kafka.Kafka", str(properties)]
        self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        log.close()
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise Unavailable(f"Kafka did not start:\n{(self._directory / 'broker.log').read_text()[-2000:]}")

    def stop(self) -> None:
        """Shut the broker down in an orderly way."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the broker as a power cut would end it."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Start it again after `stop` or `kill`, on the same port, with the same data."""
        self.start()

    def pause(self) -> None:
        """Let it neither answer nor close a connection."""
        assert self._process
        self._process.send_signal(signal.SIGSTOP)
        # Until all its threads have stopped, it answers.
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self.is_paused = True

    def resume(self) -> None:
        """Go on after `pause`."""
        assert self._process
        self._process.send_signal(signal.SIGCONT)
        self.is_paused = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def _answers(self) -> bool:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", self._port)):
                time.sleep(0.05)
                return False
        try:
            client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
            return bool(client.list_topics(timeout=1).brokers)
        except KafkaException:
            return False

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self.resume()
        self._process.send_signal(how)
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
