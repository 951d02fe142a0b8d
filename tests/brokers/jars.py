"""Kafka's own jars, kept in `.kafka/` of the checkout.

`python -m tests.brokers.jars` fetches them ahead of the tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests import prerequisites
from tests.prerequisites import CHECKOUT, Unavailable, fetched

KAFKA = "4.1.1"

_COORDINATES = [f"org.apache.kafka:kafka_2.13:{KAFKA}", "org.slf4j:slf4j-simple:1.7.36"]
_SCRIPT = "scripts/prepare-kafka"


def java() -> str:
    """Return the command that runs Java.

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


if __name__ == "__main__":
    try:
        java()
        print(fetched(jars))
    except Unavailable as reason:
        sys.exit(str(reason))
