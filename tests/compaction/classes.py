"""The classes that Spark loads, kept in `.spark/` of the checkout, ready for its JVM.

`python -m tests.compaction.classes` puts them there ahead of the tests, by a job of its own. Without them Spark starts
all the same, and takes six more seconds of the processor.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from tests.prerequisites import CHECKOUT, SHORT_LIVED_JVM, made_once
from topicfold.errors import TopicfoldError

_DIRECTORY = CHECKOUT / ".spark" / f"classes-{version('pyspark')}"
_ARCHIVE = "spark.jsa"
_SILENT = "-Xlog:cds=off -Xlog:cds+dynamic=off"
"""Classes of another Java or of another place do not fit, and that is all: the tests look at what a job prints."""


def jvm_options() -> str:
    """Return what Spark's JVM is told, in the words of `SPARK_SUBMIT_OPTS`."""
    archive = _DIRECTORY / _ARCHIVE
    return f'{SHORT_LIVED_JVM} {_SILENT} "-XX:SharedArchiveFile={archive}"' if archive.exists() else SHORT_LIVED_JVM


def _archive(directory: Path) -> None:
    """Have a small job run, whose JVM writes down as it ends which classes it has loaded."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from tests.compaction.logs import append, random_values, settings_of
    from topicfold.compaction.job import CompactOptions, Listener, compact

    directory.mkdir()
    os.environ["SPARK_SUBMIT_OPTS"] = f'{SHORT_LIVED_JVM} {_SILENT} "-XX:ArchiveClassesAtExit={directory / _ARCHIVE}"'
    with tempfile.TemporaryDirectory() as place:
        log = settings_of(log_file=Path(place) / "log.db")
        append(log, random_values(seed=1, length=60))
        options = CompactOptions(Path(place) / "snapshot", once=True, slices=2, spark={"spark.master": "local[2]"})
        compact(log, options, Listener(lambda *_: None))
        SparkSession.active().stop()
        # The JVM ends when nobody can tell it anything any more.
        jvm = SparkContext._gateway.proc  # type: ignore[union-attr]
        jvm.stdin.close()
        jvm.wait()


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = str(CHECKOUT / "engine")
    try:
        made_once(_DIRECTORY, _archive)
    except TopicfoldError as reason:
        print(f"Spark will start without its classes made ready: {reason}", file=sys.stderr)
