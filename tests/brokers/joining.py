"""A broker that joins another's cluster, to be treated badly while the other one, which is the controller, goes on."""

from __future__ import annotations

from pathlib import Path

from tests.brokers.process import KafkaProcess

_PROPERTIES = """
process.roles=broker
node.id=2
listeners=PLAINTEXT://127.0.0.1:{port}
"""


class JoiningProcess(KafkaProcess):
    """Broker 2 of the cluster of `first`, which has to run."""

    def __init__(self, directory: Path, first: KafkaProcess) -> None:
        """Choose a port and make the data directory; nothing runs yet."""
        super().__init__(directory)
        self._controller_port = first.controller_port

    @property
    def properties(self) -> str:
        """Those of a broker that is no controller."""
        return super().properties + _PROPERTIES.format(port=self._port)
