"""The Spark session that the job runs in: made here, or the one that `spark-submit` has made ready."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from topicfold.compaction.spark.errors import naming_lost_jvm
from topicfold.compaction.spark.java_output import fatal_in, kept_while_starting
from topicfold.compaction.spark.scratch import own_scratch
from topicfold.errors import BadSetting
from topicfold.process.file_limit import want_files
from topicfold.process.own_thread import call_in_own_thread

_SCALA = "2.13"
_TESTED_PYSPARK = "4.0.0"
"""What the tests run with; its connector is on Maven Central."""
_EXCLUDES = (
    "org.slf4j:slf4j-api",
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "com.google.code.findbugs:jsr305",
    "org.lz4:lz4-java",
    "org.xerial.snappy:snappy-java",
    f"org.scala-lang.modules:scala-parallel-collections_{_SCALA}",
)
"""Dependencies of the connector that PySpark brings. If Maven's local repository has only the description of such a
jar, as other builds leave it, Spark looks for the jar nowhere else, and then fetches nothing at all."""
_SETTINGS: Mapping[str, str] = {
    "spark.app.name": "topicfold-compact",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    # Java builds each batch in memory of its own, in doubling steps: 20,000 records may have 18 GB.
    "spark.sql.execution.arrow.maxBytesPerBatch": "64m",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.python.worker.reuse": "true",
    # So long a worker waits for Java, which may be as slow as itself on a busy machine. After 15 seconds, the default,
    # one that Java had given up would print a traceback.
    "spark.python.authenticate.socketTimeout": "600s",
    # By default Spark keeps the last records read, of every partition and even of ended queries, for five minutes.
    "spark.kafka.consumer.fetchedData.cache.timeout": "5s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "5s",
    # Arrow's own allocator returns memory between batches; getting it again takes a quarter of a slice's time.
    # The C library returns large blocks too, unless it is told not to.
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": "4294967296",
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": "4294967296",
    # Otherwise shuffled records are copied in calls of 8 MB each, during which nobody else gets the processor.
    "spark.file.transferTo": "false",
}
_LOGGING = Path(__file__).with_name("log4j2.properties")
_ALONE: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": f"-Xrs -XX:+UseParallelGC -Dlog4j2.configurationFile={_LOGGING.as_uri()}",
}
"""Settings if no cluster is named: ports are open only on this machine, and Spark logs little.

Pauses do not matter here, so garbage is collected in parallel, which saves a sixth of the JVM's time and memory. A
signal to the whole process group is meant for this process: with -Xrs the JVM keeps signals blocked that were blocked.
"""

_NEEDED_FILES = 512
"""Java keeps each of Spark's jars open: with 256 it starts, and then finds no class in those that it could not open."""
_JAVA_HINT = (
    "It needs Java 17 or newer (PySpark 4.0: 17 to 23, on newer ones getSubject is not supported), in JAVA_HOME or on "
    "the PATH, and settings that it knows."
)
_JAVA_CLASS = re.compile(r"^[\w.$]+: ")
_UNFETCHED = re.compile(r"unresolved dependency|download failed")
"""How Ivy begins what it says of something that it could not fetch."""
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""What `spark-submit` sets for the program that it runs, on whatever machine."""


def kafka_package() -> str:
    """Return the Maven coordinate of Spark's Kafka source, in the version of the installed PySpark."""
    return f"org.apache.spark:spark-sql-kafka-0-10_{_SCALA}:{pyspark.__version__}"


def open_session(settings: Mapping[str, str], *, needs_kafka: bool) -> SparkSession:
    """Return a session with `settings`, which are Spark's own. They and those of `spark-submit` override ours.

    Kafka's connector is fetched by its Maven coordinate if `settings` name neither `spark.jars` nor
    `spark.jars.packages`.

    Raises:
        BadSetting: Java does not start, or not with these settings; or the connector cannot be fetched; or there is no
            directory for temporary files; or too few files may be open.
        LogUnavailable: Java was killed while Spark started.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    chosen = dict(_SETTINGS)
    is_submitted = _SUBMITTED in os.environ
    is_alone = settings.get("spark.master", "local[*]").startswith("local[") and not is_submitted
    if is_alone:
        chosen |= {"spark.master": "local[*]", **_ALONE}
        scratch = own_scratch()
        chosen["spark.driver.extraJavaOptions"] += f' "-Duser.dir={scratch}" "-Djava.io.tmpdir={scratch}"'
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    fetches = needs_kafka and not {"spark.jars", "spark.jars.packages"} & settings.keys()
    if fetches:
        chosen |= {"spark.jars.packages": kafka_package(), "spark.jars.excludes": ",".join(_EXCLUDES)}
    if is_submitted:
        told = _told_to_spark_submit()
        chosen = {name: value for name, value in chosen.items() if name not in told}
    chosen |= settings
    if "spark.jars" in chosen:
        chosen["spark.jars"] = ",".join(map(_absolute, chosen["spark.jars"].split(",")))
    conf = SparkConf().setAll(list(chosen.items()))
    try:
        with naming_lost_jvm():
            # In the main thread Spark would handle Ctrl-C itself, and a JVM abandoned while it starts would run on.
            session: SparkSession = asyncio.run(call_in_own_thread("spark-start", _started, conf, is_alone))
            session.sparkContext.setLogLevel("ERROR")
    except (OSError, PySparkRuntimeError, Py4JJavaError) as error:
        said = _said_of(error)
        packages = chosen.get("spark.jars.packages")
        hint = _fetch_hint(packages) if packages and _UNFETCHED.match(said) else _JAVA_HINT
        raise BadSetting(f"Spark does not start: {said}", hint=hint) from error
    return session


def _told_to_spark_submit() -> Mapping[str, str]:
    """Return the settings of the JVM that `spark-submit` has started.

    This leaves out the application's name if it is the default, which is the name of the script's file.
    """
    SparkContext._ensure_initialized()
    made_up = ("spark.app.name", Path(sys.argv[0]).name)
    return dict(each for each in SparkConf().getAll() if each != made_up)


def _said_of(error: Exception) -> str:
    """Return why Spark does not start, in one line."""
    if isinstance(error, Py4JJavaError):
        first: str = error.java_exception.toString().splitlines()[0]
        return _JAVA_CLASS.sub("", first)
    return str(error) if isinstance(error, OSError) else fatal_in(error) or "what it said is above"


def _fetch_hint(packages: str) -> str:
    """Return the hint if `packages`, or what they need, cannot be fetched."""
    return (
        f"It fetches {packages}, and Maven cannot be reached, or has none for this version of PySpark. Name jars that "
        "are here (--spark-setting spark.jars=a.jar,b.jar); in the second case a PySpark whose connector is there will "
        f"do, too (pip install pyspark=={_TESTED_PYSPARK}). Where a download failed from local-m2-cache, remove "
        "that directory of Maven's repository, which has no jar. --debug shows all that Spark said."
    )


def _started(conf: SparkConf, is_alone: bool) -> SparkSession:
    """Return the session; its JVM keeps what this thread blocks, and ends with this process and not before.

    Raises:
        BadSetting: too few files may be open.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    if is_alone and SparkContext._gateway is None:
        want_files(_NEEDED_FILES)
        with kept_while_starting() as output:
            SparkContext(conf=conf, gateway=launch_gateway(conf, dict(output)))  # type: ignore[no-untyped-call]
    session: SparkSession = SparkSession.builder.config(conf=conf).getOrCreate()
    _keep_quiet(session.sparkContext)
    return session


def _keep_quiet(context: SparkContext) -> None:
    """Have nobody print tracebacks if the JVM is killed: Spark's server of sums, and py4j by way of the root logger."""
    if (server := getattr(context, "_accumulatorServer", None)) is not None:
        server.handle_error = lambda request, address: None
    logging.getLogger().addHandler(logging.NullHandler())


def _absolute(path: str) -> str:
    """Return a path as an absolute one, and a URL unchanged."""
    return path if ":" in path or not path else str(Path(path).absolute())
