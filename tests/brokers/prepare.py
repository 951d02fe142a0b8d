"""Has in `.kafka/` of the checkout what a broker needs, ahead of the tests: `python -m tests.brokers.prepare`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.brokers.data import formatted
from tests.brokers.jars import ARCHIVE, CLASSES, jars, java
from tests.brokers.process import KafkaProcess
from tests.prerequisites import Unavailable, fetched, made_once


class _Archiving(KafkaProcess):
    """A broker whose JVM writes down which classes it has loaded, as it ends."""

    archive = Path()

    @property
    def java_command(self) -> Sequence[str]:
        java, *rest = super().java_command
        return [java, f"-XX:ArchiveClassesAtExit={self.archive}", *rest]


def _archive(directory: Path) -> None:
    directory.mkdir()
    with tempfile.TemporaryDirectory() as data:
        broker = _Archiving(Path(data))
        broker.archive = directory / ARCHIVE
        broker.start()
        broker.stop()


if __name__ == "__main__":
    try:
        java()
        print(fetched(jars))
        formatted()
        made_once(CLASSES, _archive)
    except Unavailable as reason:
        sys.exit(str(reason))
