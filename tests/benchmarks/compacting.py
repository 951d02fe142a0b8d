"""A Spark session in a process of its own, that compacts logs and counts bare records of the same topics.

Its memory is that of the whole tree: this process, the JVM, and Python's workers.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from tests.compaction.connector import connector
from tests.prerequisites import CHECKOUT
from topicfold.compaction.compactor import Done
from topicfold.compaction.job import CompactOptions, Listener, compact
from topicfold.compaction.spark.session import open_session
from topicfold.compaction.spark.sources import FETCHING
from topicfold.settings import Settings

_WATCH_SECONDS = 0.25
_CORES = 2
_AUTOGROUP = Path("/proc/self/autogroup")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Compacted:
    """One run to the log's end. `parts` are seconds of processors, slices added up; `peak_bytes` of memory."""

    events: int
    seconds: float
    batches: int
    parts: dict[str, float]
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Spark:
    """The session and its settings."""

    session: SparkSession
    settings: dict[str, str]
    bootstrap: str


@asynccontextmanager
async def spark_on(bootstrap: str, niceness: int) -> AsyncIterator[Spark]:
    """Give a session on two cores; it gives way to whatever else runs, so far."""
    _give_way(niceness)
    os.environ["PYTHONPATH"] = str(CHECKOUT / "engine")
    settings = {"spark.master": f"local[{_CORES}]", "spark.jars": connector()}
    session = await asyncio.to_thread(open_session, settings, needs_kafka=True)
    yield Spark(session, settings, bootstrap)
    session.stop()


def _give_way(niceness: int) -> None:
    """Run when nobody else wants to, as the document on compaction says how; in whatever session the others are."""
    os.setsid()
    os.nice(niceness - os.nice(0))
    if _AUTOGROUP.exists():
        _AUTOGROUP.write_text(str(niceness))


async def count_bare(spark: Spark, topic: str, rows: int) -> float:
    """Return how many records a second Spark reads and counts of a topic, doing nothing else.

    As in the job a batch has `rows` records, and all cores read, however few partitions these lie in.
    """
    reader = spark.session.readStream.format("kafka").option("kafka.bootstrap.servers", spark.bootstrap)
    records = reader.option("subscribe", topic).option("startingOffsets", "earliest")
    records = records.option("maxOffsetsPerTrigger", rows).option("maxRecordsPerPartition", -(-rows // _CORES))
    for name, value in FETCHING.items():
        records = records.option(f"kafka.{name}", value)
    found: list[int] = []
    checkpoint = Path(f"/tmp/topicfold-bench-{os.getpid()}-{time.monotonic_ns()}")
    since = time.perf_counter()
    query = (
        records.load()
        .writeStream.foreachBatch(
            lambda batch, _: found.append(batch.selectExpr("sum(length(value))", "count(*)").collect()[0][1])
        )
        .trigger(availableNow=True)
        .option("checkpointLocation", str(checkpoint))
        .start()
    )
    query.awaitTermination()
    taken = time.perf_counter() - since
    shutil.rmtree(checkpoint, ignore_errors=True)
    return sum(found) / taken


async def compact_once(spark: Spark, topic: str, root: str, batch_rows: int) -> Compacted:
    """Bring the snapshot at `root` up to the log's end."""
    done: list[Done] = []
    settings = Settings(kafka_bootstrap=spark.bootstrap, kafka_topic=topic)
    options = CompactOptions(Path(root), once=True, batch_rows=batch_rows, slices=_CORES, spark=spark.settings)
    with _Memory() as memory:
        since = time.perf_counter()
        await asyncio.to_thread(compact, settings, options, Listener(lambda each, facts: done.append(each)))
        seconds = time.perf_counter() - since
    parts: dict[str, float] = {}
    for each in done:
        for part, taken in each.seconds.items():
            parts[part] = parts.get(part, 0.0) + taken
    return Compacted(sum(each.events for each in done), seconds, len(done), parts, memory.peak_bytes)


class _Memory:
    """Looks at the memory of this process and all below it, and keeps the highest sum."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> _Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(_WATCH_SECONDS):
            self.peak_bytes = max(self.peak_bytes, sum(map(_resident_bytes, _tree(os.getpid()))))


def _tree(root: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for each in Path("/proc").iterdir():
        if each.name.isdecimal():
            try:
                parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(each.name))
    found = [root]
    for process in found:
        found += parents.get(process, [])
    return found


def _resident_bytes(process: int) -> int:
    """Return what a process has in memory but for files. To walk all its pages for more would slow what is measured."""
    try:
        fields = Path(f"/proc/{process}/statm").read_text().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * _PAGE_BYTES
