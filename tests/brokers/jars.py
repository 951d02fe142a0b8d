"""Kafka's own jars, kept in `.kafka/` of the checkout, and how a JVM begins on them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests import prerequisites
from tests.prerequisites import CHECKOUT, SHORT_LIVED_JVM

KAFKA = "4.1.1"

CLASSES = CHECKOUT / ".kafka" / f"classes-{KAFKA}"
"""Where the classes that a broker loads lie ready for the JVM, once `prepare` has run: it starts without them too, but
takes a second more of the processor.
"""
ARCHIVE = "broker.jsa"

_COORDINATES = [f"org.apache.kafka:kafka_2.13:{KAFKA}", "org.slf4j:slf4j-simple:1.7.36"]
_SCRIPT = "scripts/prepare-kafka"


@cache
def java() -> str:
    """Return the command that runs Java, which is asked for its version once.

    Raises:
        Unavailable: there is none, or an old one.
    """
    return prerequisites.java(_SCRIPT)


def jars() -> Path:
    """Return the directory of Kafka's jars, fetched now if they are not there.

    Raises:
        Unavailable: Maven is missing or could not fetch them.
    """
    return prerequisites.jars(CHECKOUT / ".kafka" / f"libs-{KAFKA}", _COORDINATES, _SCRIPT)


def java_command(heap: str) -> list[str]:
    """Return how a JVM that does not live long begins on Kafka's classes; what to run follows.

    Raises:
        Unavailable: there is no Java or no jars.
    """
    options = ["-XX:+UseSerialGC", SHORT_LIVED_JVM, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    if (archive := CLASSES / ARCHIVE).exists():
        options.append(f"-XX:SharedArchiveFile={archive}")
    return [java(), heap, *options, "-cp", f"{jars()}/*"]
