"""The Spark session that the job runs in: made here, or the one that `spark-submit` has made ready."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import pyspark
from pyspark.sql import SparkSession

_SCALA = "2.13"
_EXCLUDES = "org.slf4j:slf4j-api,org.apache.hadoop:hadoop-client-api,org.apache.hadoop:hadoop-client-runtime"
_SETTINGS: Mapping[str, str] = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.python.worker.reuse": "true",
    # Arrow's own allocator gives memory back between batches: to get it again takes a slice a quarter of its time.
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
}
_ALONE: Mapping[str, str] = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
"""Where no cluster is named: nothing listens but on this machine."""


def kafka_package() -> str:
    """Return the Maven coordinate of Spark's Kafka source, of the version of the PySpark that is installed."""
    return f"org.apache.spark:spark-sql-kafka-0-10_{_SCALA}:{pyspark.__version__}"


def open_session(settings: Mapping[str, str], *, needs_kafka: bool) -> SparkSession:
    """Return a session with `settings`, which are Spark's own; ours give way to them.

    Kafka's connector is fetched by its Maven coordinate where `settings` name neither `spark.jars` nor
    `spark.jars.packages`.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    submitted = dict(SparkSession.builder._options) if "SPARK_ENV_LOADED" in os.environ else {}
    chosen = {**_SETTINGS, **submitted}
    if "spark.master" not in settings and "SPARK_ENV_LOADED" not in os.environ:
        chosen |= {"spark.master": "local[*]", **_ALONE}
    if needs_kafka and not {"spark.jars", "spark.jars.packages"} & settings.keys():
        chosen |= {"spark.jars.packages": kafka_package(), "spark.jars.excludes": _EXCLUDES}
    chosen |= settings
    builder = SparkSession.builder.appName("topicfold-compact")
    for name, value in chosen.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
