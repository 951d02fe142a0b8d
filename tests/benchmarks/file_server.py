"""A server on a log file, as its users run it, and topics put into that file by the million."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests import plain_http
from tests.benchmarks.population import key_of, topic_event
from tests.benchmarks.site import Site
from tests.benchmarks.workers import Worker
from tests.integration.node import Node, running
from topicfold.errors import Overloaded, TopicfoldError
from topicfold.log.codec import encode_event
from topicfold.log.sqlite import SqliteLog
from topicfold.model.names import DEFAULT_NAMESPACE
from topicfold.runtime.engine import Engine

_FULL_SECONDS = 0.002
_FOLD_SECONDS = 300.0


class LogFile(NamedTuple):
    """A log, and what an event about a topic of the default namespace must say."""

    log: SqliteLog
    partition: int
    namespace_id: bytes


@contextmanager
def file_server(site: Site, name: str, **settings: str) -> Iterator[Node]:
    """Run a server on a log file of its own."""
    directory = site.directory / name
    directory.mkdir()
    with running(["--log", str(directory / "log.db")], directory, settings=settings) as (node,):
        yield node


def populate(site: Site, node: Node, count: int) -> None:
    """Put `count` topics into the log of a server that has none; return when it has folded them."""
    site.say(f"loading {count:,} topics")
    with Worker(log_file, node.output.parent / "log.db") as loader:
        loader.run(load, count)
    last = f"{node.url}/api/v1/topics/public/default/{key_of(count - 1)}"
    until = time.monotonic() + _FOLD_SECONDS
    while plain_http.get(last, timeout=60).status_code != 200:
        assert time.monotonic() < until, "the server does not fold what is in its log"
        time.sleep(0.2)


@asynccontextmanager
async def log_file(path: Path) -> AsyncIterator[LogFile]:
    """Give the log file of a server, opened beside it."""
    engine = await Engine.start(await SqliteLog.open(path))
    partition = engine.partition(DEFAULT_NAMESPACE)
    await engine.readiness.wait(engine.states, _FOLD_SECONDS)
    namespace_id = engine.states[partition].namespaces[DEFAULT_NAMESPACE].incarnation
    await engine.stop()
    log = await SqliteLog.open(path)
    try:
        yield LogFile(log, partition, namespace_id)
    finally:
        await log.close()


async def load(file: LogFile, count: int) -> None:
    """Append the events that make `count` topics."""
    for number in range(count):
        value = encode_event(topic_event(DEFAULT_NAMESPACE, number, file.namespace_id))
        while True:
            try:
                file.log.append(file.partition, value, _raise)
                break
            except Overloaded:
                await asyncio.sleep(_FULL_SECONDS)


def _raise(error: TopicfoldError) -> None:
    raise error
