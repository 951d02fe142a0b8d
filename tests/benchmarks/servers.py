"""A server on Kafka, a load generator on it, and topics behind it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests import plain_http
from tests.benchmarks.load import CLIENT, NUMBER, Flow, Load, drive, load_on
from tests.benchmarks.nodes import kafka_node, load_topics
from tests.benchmarks.population import key_of
from tests.benchmarks.site import Site
from tests.benchmarks.workers import Worker
from tests.integration.node import Node, running
from tests.ports import free_ports

CONNECTIONS = 8
_READY_SECONDS = 60.0

READ = Flow("GET", f"/api/v1/topics/public/default/{key_of(0)}", connections=CONNECTIONS)
WRITE = Flow(
    "POST",
    f"/admin/v2/persistent/public/default/{key_of(0)[:-1]}{CLIENT}/custom-labels",
    f'{{"labels": {{"tier": "silver-{NUMBER}"}}}}',
    connections=CONNECTIONS,
)
"""Each connection writes to a topic of its own."""


class Server:
    """One server process, and its load generator."""

    def __init__(
        self,
        site: Site,
        kafka_topic: str,
        url: str,
        process: subprocess.Popen[bytes],
        output: Path,
        load: Worker[Load],
    ) -> None:
        self._site = site
        self.kafka_topic = kafka_topic
        self.url = url
        self._process = process
        self._output = output
        self.load = load
        self.topics = 0

    def grow_to(self, topics: int) -> None:
        """Load topics straight into the log until there are so many, and wait until the server has folded them."""
        self._site.say(f"loading topics up to {topics:,}")
        with Worker(kafka_node, self._site.broker.bootstrap, self.kafka_topic) as loader:
            loader.run(load_topics, range(self.topics, topics))
        self.topics = topics
        _wait_for(f"{self.url}/api/v1/topics/public/default/{key_of(topics - 1)}", self._process, self._output)

    def per_second(self, flow: Flow, *beside: Flow) -> float:
        """Return the rate of `flow`, while the flows of `beside` run too."""
        return self.load.run(drive, self._site.sizes.rest_seconds, flow, *beside)[0].per_second


@contextmanager
def server_on(site: Site, kafka_topic: str = "", *more: str) -> Iterator[Server]:
    """Run a server on a log, a new one unless it is named, as its users do: a process of its own."""
    topic, (port,) = kafka_topic or site.fresh_topic(), free_ports(1)
    output = site.directory / f"{topic}-{port}.txt"
    with output.open("wb") as out:
        options = ["--kafka", site.broker.bootstrap, "--adopt-only", "--port", str(port), *more]
        process = subprocess.Popen(
            [sys.executable, "-m", "topicfold", "serve", *options],
            stdout=out,
            stderr=out,
            env={**os.environ, "TOPICFOLD_KAFKA_TOPIC": topic},
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{url}/readyz", process, output)
        with Worker(load_on, port) as load:
            yield Server(site, topic, url, process, output, load)
    finally:
        process.kill()
        process.wait()


@contextmanager
def kafka_server(site: Site, name: str) -> Iterator[Node]:
    """Run a server on a log in Kafka of its own, with no load generator."""
    directory = site.directory / f"{name}-kafka"
    directory.mkdir()
    options = ["--kafka", site.broker.bootstrap, "--adopt-only"]
    with running(options, directory, settings={"kafka_topic": site.fresh_topic()}) as (node,):
        yield node


def _wait_for(url: str, process: subprocess.Popen[bytes], output: Path) -> None:
    """Return once `url` answers 200."""
    deadline = time.monotonic() + _READY_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(httpx2.TransportError):
            if plain_http.get(url).status_code == 200:
                return
        time.sleep(0.05)
    raise AssertionError(f"the server is not ready; it said:\n{output.read_text()}")
