"""A broker that joins another's cluster, to be treated badly while the other one, which is the controller, goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from confluent_kafka.admin import AdminClient

from tests.brokers.process import KafkaProcess
from tests.client.waiting import eventually

_PROPERTIES = """
process.roles=broker
listeners=PLAINTEXT://127.0.0.1:{port}
"""
_SECONDS = 60.0


class JoiningProcess(KafkaProcess):
    """Broker 2 of the cluster of `first`, which has to run."""

    node = 2

    def __init__(self, directory: Path, first: KafkaProcess) -> None:
        """Choose a port and make the data directory; nothing runs yet."""
        super().__init__(directory)
        self._controller_port = first.controller_port

    @property
    def properties(self) -> str:
        """Those of a broker that is no controller."""
        return super().properties + _PROPERTIES.format(port=self._port)


@contextmanager
def cluster_of_two(directory: Path) -> Iterator[tuple[str, JoiningProcess]]:
    """Give where both brokers of a new cluster listen, and the one that is no controller."""
    first = KafkaProcess(directory / "first")
    second = JoiningProcess(directory / "second", first)
    try:
        first.start()
        second.start()
        for each in (first, second):
            eventually(partial(_knows_two_brokers, each.bootstrap), _SECONDS)
        yield f"{first.bootstrap},{second.bootstrap}", second
    finally:
        second.kill()
        first.kill()


def _knows_two_brokers(bootstrap: str) -> bool:
    """Return whether the broker there does."""
    return len(AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=10).brokers) == 2
