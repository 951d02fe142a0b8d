"""The jars of Pulsar's Java admin tool, kept in `.pulsar/` of the checkout.

`python -m tests.pulsar.admin_jars` fetches them ahead of the tests.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests import prerequisites
from tests.prerequisites import CHECKOUT, Unavailable, fetched

TOOLS = "4.0.8"
SCRIPT = "scripts/prepare-pulsar"


def java() -> str:
    """Return the command that runs Java, and a source file too.

    Raises:
        Unavailable: there is none, an old one, or one without a compiler.
    """
    command = prerequisites.java(SCRIPT)
    modules = subprocess.run([command, "--list-modules"], capture_output=True, text=True, check=False).stdout
    if "jdk.compiler@" not in modules:
        raise Unavailable(f"{command} has no compiler: run {SCRIPT}")
    return command


def jars() -> Path:
    """Return the directory of the jars, fetched now if they are not there.

    Raises:
        Unavailable: Maven is missing or could not fetch them.
    """
    coordinates = [f"org.apache.pulsar:pulsar-client-tools:{TOOLS}"]
    return prerequisites.jars(CHECKOUT / ".pulsar" / f"tools-{TOOLS}", coordinates, SCRIPT)


if __name__ == "__main__":
    try:
        java()
        print(fetched(jars))
    except Unavailable as reason:
        sys.exit(str(reason))
