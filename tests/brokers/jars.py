"""Kafka's own jars, fetched once with Maven into `.kafka/` of the checkout; afterwards nothing is downloaded.

`python -m tests.brokers.jars` fetches them ahead of the tests.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

KAFKA = "4.1.1"
OLDEST_JAVA = 17
DIRECTORY = Path(__file__).parents[2] / ".kafka"

_MAVEN_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_POM = f"""<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>topicfold</groupId>
  <artifactId>kafka-for-tests</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{KAFKA}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
"""


class NoBroker(Exception):
    """There can be no broker here; the text says what to do about it."""


def java() -> str:
    """Return the command that runs Java 17 or newer.

    Raises:
        NoBroker: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else "java"
    if not shutil.which(command):
        raise NoBroker("Java is missing: run scripts/prepare-kafka")
    text = subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', text)
    if version is None or int(version[1]) < OLDEST_JAVA:
        raise NoBroker(f"{command} is older than Java {OLDEST_JAVA}: run scripts/prepare-kafka")
    return command


def jars() -> Path:
    """Return the directory of Kafka's jars, fetched now if they are not there.

    Raises:
        NoBroker: Maven is missing or could not fetch them.
    """
    libraries = DIRECTORY / f"libs-{KAFKA}"
    if libraries.is_dir():
        return libraries
    DIRECTORY.mkdir(exist_ok=True)
    with (DIRECTORY / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not libraries.is_dir():
            _fetch(libraries)
    return libraries


def _fetch(libraries: Path) -> None:
    if not shutil.which("mvn"):
        raise NoBroker("Maven is missing: run scripts/prepare-kafka")
    (DIRECTORY / "pom.xml").write_text(_POM)
    unfinished = libraries.with_suffix(".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    command = ["mvn", "-q", "-B", _MAVEN_GOAL, f"-DoutputDirectory={unfinished}", "-DincludeScope=runtime"]
    maven = subprocess.run(command, cwd=DIRECTORY, capture_output=True, text=True, check=False)
    if maven.returncode:
        raise NoBroker(f"Maven could not fetch Kafka {KAFKA}:\n{maven.stdout[-2000:]}")
    unfinished.rename(libraries)


if __name__ == "__main__":
    try:
        java()
        print(jars())
    except NoBroker as reason:
        sys.exit(str(reason))
