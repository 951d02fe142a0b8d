"""Where batches come from: streams of a log's records, starting at the positions of a snapshot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from topicfold.compaction.log_facts import LogFacts
from topicfold.compaction.spark import sqlite_source
from topicfold.compaction.spark.java_settings import java_settings
from topicfold.settings import Settings

FETCHING: Mapping[str, str] = {
    "max.poll.records": "20000",
    "max.partition.fetch.bytes": "8388608",
    "fetch.max.bytes": "67108864",
    "fetch.max.wait.ms": "10",
    "receive.buffer.bytes": "1048576",
}
"""Settings of Kafka's Java client. Counting records of 250 B takes half as long as with its defaults (500 a poll).

After each poll Spark asks for the partition's end, on a connection where the next fetch is already waiting. At the
log's end that took half a second in every task.
"""


def stream_of(
    session: SparkSession, settings: Settings, facts: LogFacts, positions: Sequence[int], *,
    rows: int, slices: int, ends: bool,
) -> DataFrame:  # fmt: skip
    """Return the log's records from `positions` on, with the columns `partition`, `offset` and `value`.

    A batch has about `rows` records at most. With `ends`, a stream of SQLite has nothing beyond the end in `facts`;
    for Kafka that takes the trigger `availableNow`.
    """
    if settings.kafka_bootstrap is not None:
        return _kafka(session, settings, facts, positions, rows, slices)
    session.dataSource.register(sqlite_source.SqliteSource)
    reader = session.readStream.format(sqlite_source.NAME)
    reader = reader.option("path", str(Path(settings.log_file).absolute())).option("rows", rows)
    reader = reader.option("start", ",".join(map(str, positions)))
    if ends:
        reader = reader.option("end", ",".join(map(str, facts.end)))
    return reader.load()


def _kafka(
    session: SparkSession, settings: Settings, facts: LogFacts, positions: Sequence[int], rows: int, slices: int
) -> DataFrame:
    topic = settings.kafka_topic
    reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", settings.kafka_bootstrap)
    for name, value in {**FETCHING, **java_settings(settings.kafka_settings)}.items():
        reader = reader.option(f"kafka.{name}", value)
    reader = (
        reader.option("assign", json.dumps({topic: list(range(facts.identity.partitions))}))
        .option("startingOffsets", json.dumps({topic: {str(n): each for n, each in enumerate(positions)}}))
        .option("failOnDataLoss", "true")
        .option("kafka.isolation.level", "read_committed")
        .option("maxOffsetsPerTrigger", rows)
        # So that all cores read even if most of a batch is in one partition.
        .option("maxRecordsPerPartition", -(-rows // slices))
    )
    return reader.load().select("partition", "offset", "value")
