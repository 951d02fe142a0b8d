"""Boot: a node that starts from a snapshot, beside pyarrow that reads the same columns, and beside a replay of the log.

Topics in a hundred namespaces, five labels each; the snapshot is made by the job's own fold, without Spark, and loaded
with everything that is checked of it. Each start is in a process of its own, files and log in the machine's memory.
A start and its rival each follow a process that took as much memory and has just given it back: a virtual machine takes
several times as long to come by memory that it does not hold.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.benchmarks.event_log import EventLog
from tests.benchmarks.report import Goal, Row, row
from tests.benchmarks.site import Site
from tests.benchmarks.workers import Worker
from tests.snapshot.making import records_of
from topicfold.compaction.compactor import Compactor
from topicfold.compaction.folding.records import RECORDS
from topicfold.compaction.folding.slices import fold_slice
from topicfold.compaction.plan import Plan, SliceResult
from topicfold.log.identity import recognise_identity
from topicfold.log.kafka import KafkaLog
from topicfold.log.payload import decode_indexed
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.snapshot.commits import read_commit, sequences
from topicfold.snapshot.loading import load
from topicfold.snapshot.rows.topic_rows import TOPIC_COLUMNS
from topicfold.state.fold import PartitionState

_NAMESPACES = 100
_REPLAYED = 10_000_000
_MOST_PAIRS = 3
_READY_SECONDS = 600.0


def run(site: Site) -> Iterator[Row]:
    """Measure seconds from start to ready."""
    topic, topics, root = site.fresh_topic(), site.sizes.topics, str(site.directory / "boot")
    site.say(f"boot: writing {topics:,} events")
    EventLog(site.broker.bootstrap, topic, topics=topics, namespaces=_NAMESPACES).write(topics)
    site.say("boot: making the snapshot")
    with Worker(_nothing) as maker:
        maker.run(make_snapshot, site.broker.bootstrap, topic, root)
    booted, loaded, read = [], [], []
    for pair in range(min(site.sizes.pairs, _MOST_PAIRS)):
        site.say(f"boot: pair {pair + 1}")
        with Worker(_nothing) as fresh:
            loaded.append(fresh.run(load_seconds, root))
        with Worker(_nothing) as fresh:
            booted.append(fresh.run(boot_seconds, site.broker.bootstrap, topic, root))
        with Worker(_nothing) as fresh:
            read.append(fresh.run(read_seconds, root))
    site.say("boot: replaying the log")
    with Worker(_nothing) as fresh:
        replayed = fresh.run(boot_seconds, site.broker.bootstrap, topic, "")
    beside = "pyarrow reads the same columns"
    name = f"boot: {topics:,} topics × 5 labels, "
    yield row(f"{name}until ready", "s", booted, beside, read, Goal("ratio", "≤", 4))
    yield row(f"{name}the snapshot alone", "s", loaded, beside, read)
    scaled = f"replay of {_REPLAYED:,} events, scaled from {topics:,} in {replayed:.1f} s"
    yield row(
        f"{name}from the snapshot", "s", booted, scaled, [replayed * _REPLAYED / topics], Goal("ratio", "≤", 0.05)
    )


@asynccontextmanager
async def _nothing() -> AsyncIterator[None]:
    """Give a process that holds nothing yet."""
    yield


async def make_snapshot(_: None, bootstrap: str, topic: str, root: str) -> None:
    """Fold the log into a snapshot of one commit."""
    log = await KafkaLog.open(bootstrap, topic)
    try:
        records, identity = await records_of(log), await recognise_identity(log)
    finally:
        await log.close()
    columns = [*zip(*records, strict=True), [True] * len(records)]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(each, field.type) for each, field in zip(columns, RECORDS, strict=True)], schema=RECORDS
    )

    def fold(plan: Plan) -> list[SliceResult]:
        return [fold_slice(plan, 0, [batch])]

    await asyncio.to_thread(Compactor(Path(root), identity).take, fold, 1)


async def boot_seconds(_: None, bootstrap: str, topic: str, root: str) -> float:
    """Return how long a node takes until it is ready, from the snapshot at `root` or, for none, the log's beginning."""
    since = time.perf_counter()
    options = EngineOptions(snapshot=Path(root) if root else None, digest_within_seconds=0)
    engine = await Engine.start(await KafkaLog.open(bootstrap, topic), options)
    try:
        await engine.readiness.wait(engine.states, _READY_SECONDS)
        return time.perf_counter() - since
    finally:
        await engine.stop()


async def load_seconds(_: None, root: str) -> float:
    """Return how long the snapshot takes to be checked and built into indexes."""
    commit = read_commit(Path(root), sequences(Path(root))[0])

    def new_state(partition: int) -> PartitionState:
        return PartitionState(partition, commit.partitions, decode=decode_indexed)

    since = time.perf_counter()
    found = load(Path(root), bytes.fromhex(commit.incarnation), commit.partitions, new_state)
    taken = time.perf_counter() - since
    assert found is not None
    return taken


async def read_seconds(_: None, root: str) -> float:
    """Return how long pyarrow takes to read the same columns of the same files, with both of its threads' cores."""
    commit = read_commit(Path(root), sequences(Path(root))[0])
    gc.disable()
    since = time.perf_counter()
    tables = [pq.read_table(Path(root, each.path), columns=list(TOPIC_COLUMNS)) for each in commit.files_of("topics")]
    tables += [pq.read_table(Path(root, each.path)) for each in commit.files_of("rings")]
    taken = time.perf_counter() - since
    assert sum(each.num_rows for each in tables)
    return taken
