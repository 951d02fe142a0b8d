"""What a broker finds in its data directory when it starts for the first time.

Kafka's own tool, which takes a JVM, writes it into `.kafka/` once for a checkout: the tests make two dozen brokers.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import uuid
from pathlib import Path

from tests.brokers.jars import KAFKA, java_command
from tests.prerequisites import CHECKOUT, made_once

_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"
_FEATURES = "bootstrap.checkpoint"
"""Which features the cluster begins with; the same on each of its nodes."""
_NODE = "meta.properties"
_META = "version=1\ncluster.id={cluster}\nnode.id={node}\ndirectory.id={directory}\n"
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:1
listeners=PLAINTEXT://127.0.0.1:2,CONTROLLER://127.0.0.1:1
controller.listener.names=CONTROLLER
log.dirs={data}
"""


def make_data(directory: Path, node: int) -> None:
    """Make the data directory of a new broker of that number.

    Raises:
        Unavailable: there is no Java or no jars.
    """
    directory.mkdir(parents=True)
    shutil.copy(formatted() / _FEATURES, directory)
    unique = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    (directory / _NODE).write_text(_META.format(cluster=_CLUSTER, node=node, directory=unique))


def formatted() -> Path:
    """Return a directory that Kafka's tool has formatted; no broker runs in it.

    Raises:
        Unavailable: there is no Java or no jars.
    """
    return made_once(CHECKOUT / ".kafka" / f"data-{KAFKA}", _format)


def _format(directory: Path) -> None:
    directory.mkdir()
    properties = directory / "server.properties"
    properties.write_text(_PROPERTIES.format(data=directory))
    tool = [*java_command("-Xmx128m"), "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(properties)]
    subprocess.run(tool, check=True, capture_output=True)
