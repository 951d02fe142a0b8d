"""Spark's Kafka connector, kept in `.spark/` of the checkout: what the job itself would fetch by its coordinate.

`python -m tests.compaction.connector` fetches it ahead of the tests.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyspark

from tests.prerequisites import CHECKOUT, Unavailable, Undelivered, fetched, java, made_once

_SCRIPT = "scripts/prepare-spark"
_FETCH = """
import sys
from topicfold.compaction.spark.session import open_session
from topicfold.errors import BadSetting
try:
    open_session({"spark.master": "local[1]", "spark.jars.ivy": sys.argv[1]}, needs_kafka=True)
except BadSetting as reason:
    sys.exit(str(reason))
"""


def connector() -> str:
    """Return the connector's jars as the setting `spark.jars` wants them, fetched now if they are not there.

    Raises:
        Unavailable: Java is missing or old, or the jars could not be fetched.
    """
    java(_SCRIPT)
    found = made_once(CHECKOUT / ".spark" / f"connector-{pyspark.__version__}", _fetch)
    return ",".join(sorted(str(each) for each in (found / "jars").glob("*.jar")))


def _fetch(unfinished: Path) -> None:
    spark = subprocess.run([sys.executable, "-c", _FETCH, str(unfinished)], capture_output=True, text=True, check=False)
    if spark.returncode:
        raise Undelivered(f"Spark could not fetch its Kafka connector, run {_SCRIPT}:\n{spark.stderr[-6000:]}")


if __name__ == "__main__":
    try:
        print(fetched(connector))
    except Unavailable as reason:
        sys.exit(str(reason))
