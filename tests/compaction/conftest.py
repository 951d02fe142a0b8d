"""One Spark session for all tests of a process, which takes seconds to start, and where logs and snapshots lie."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.compaction.connector import connector
from tests.compaction.logs import settings_of
from tests.prerequisites import CHECKOUT, SHORT_LIVED_JVM, needed
from topicfold.compaction.spark.session import open_session
from topicfold.settings import Settings


def spark_settings(master: str = "local[2]") -> dict[str, str]:
    """Return the settings of a small session on this machine."""
    with needed():
        jars = connector()
    return {
        "spark.master": master,
        "spark.jars": jars,
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "700m",
        "spark.executor.defaultJavaOptions": SHORT_LIVED_JVM,
        "spark.sql.shuffle.partitions": "2",
    }


@pytest.fixture(scope="session")
def spark() -> Iterator[dict[str, str]]:
    """The settings of this process's session, which runs."""
    os.environ["PYTHONPATH"] = str(CHECKOUT / "engine") + os.pathsep + os.environ.get("PYTHONPATH", "")
    settings = spark_settings()
    session: SparkSession = open_session(settings, needs_kafka=True)
    yield settings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.stop()


@pytest.fixture
def log(log_place: Mapping[str, Any]) -> Settings:
    """A log of two partitions that is not made yet, in a file and on Kafka."""
    return settings_of(**log_place)


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Settings:
    """A log of two partitions in a file that is not made yet."""
    return settings_of(log_file=tmp_path / "log.db")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where the snapshot is to be."""
    return tmp_path / "snapshot"
