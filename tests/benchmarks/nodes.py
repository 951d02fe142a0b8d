"""An engine on Kafka for a worker's process, and topics in it, by the hundred thousand where a benchmark wants them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.benchmarks.population import key_of, labels_of, topic_event
from topicfold.errors import Overloaded, TopicfoldError
from topicfold.log.codec import encode_event
from topicfold.log.kafka import KafkaLog
from topicfold.model.events import Event
from topicfold.model.labels import LabelRules
from topicfold.model.names import DEFAULT_NAMESPACE, TopicName, parse_topic
from topicfold.model.records import NamespaceRecord, TopicRecord, frozen
from topicfold.runtime.asking import Asked
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.runtime.reading import Reading
from topicfold.runtime.writing.writing import Writing

_MOST_LABELS = 256
_REQUEST_SECONDS = 30.0
_FULL_SECONDS = 0.002
_LOAD_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Node:
    """One engine with the clients that use it."""

    engine: Engine
    writing: Writing
    reading: Reading

    def asked(self) -> Asked:
        """Return the circumstances of a request that begins now."""
        return Asked(deadline=asyncio.get_running_loop().time() + _REQUEST_SECONDS)


@asynccontextmanager
async def kafka_node(bootstrap: str, topic: str) -> AsyncIterator[Node]:
    """Give a node on that log, folded up to its end."""
    engine = await Engine.start(
        await KafkaLog.open(bootstrap, topic), EngineOptions(label_rules=LabelRules(max_labels=_MOST_LABELS))
    )
    try:
        await engine.readiness.wait(engine.states, _REQUEST_SECONDS)
        yield Node(engine, Writing(engine), Reading(engine))
    finally:
        await engine.stop()


def topic_name(number: int, namespace: str = DEFAULT_NAMESPACE) -> TopicName:
    """Return the name of topic `number`."""
    return parse_topic(f"persistent://{namespace}/{key_of(number)}")


async def create_topics(node: Node, count: int) -> None:
    """Make the first `count` topics of the default namespace, with the labels that `labels_of` gives them."""
    for number in range(count):
        record = TopicRecord(labels=frozen(labels_of(number)))
        await node.writing.create_topic(topic_name(number), record, node.asked())


async def create_namespaces(node: Node, names: list[str]) -> None:
    """Make these namespaces of the default tenant."""
    for name in names:
        await node.writing.create_namespace(name, NamespaceRecord(), node.asked())


async def load_topics(node: Node, numbers: range, versions: int = 1, namespace: str = DEFAULT_NAMESPACE) -> None:
    """Append the events of these topics straight to the log, `versions` to each; return once they are folded."""
    state = node.engine.states[node.engine.partition(namespace)]
    namespace_id = state.namespaces[namespace].incarnation
    awaited = len(state.topics[namespace]) + len(numbers)
    for number in numbers:
        event = topic_event(namespace, number, namespace_id)
        await _append(node.engine, state.partition, event)
        for version in range(1, versions):
            event = topic_event(namespace, number, namespace_id, base=event.event_id, version=version)
            await _append(node.engine, state.partition, event)
    position = max((await node.engine.barriers.ends())[state.partition], state.position)
    async with asyncio.timeout(_LOAD_SECONDS):
        while len(state.topics[namespace]) < awaited or state.position < position:
            await asyncio.sleep(0.01)
            position = (await node.engine.barriers.ends())[state.partition]
    assert len(state.topics[namespace]) == awaited


async def paced_write_seconds(node: Node, count: int, every_seconds: float) -> list[float]:
    """Return how long each of `count` updates of one topic took, begun so far apart, or late where one took longer."""
    name, due, taken = topic_name(0), time.perf_counter(), []
    for number in range(count):
        due += every_seconds
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        start = time.perf_counter()
        await node.writing.set_labels(name, {"tier": f"silver-{number:06d}"}, node.asked())
        taken.append(time.perf_counter() - start)
    return taken


async def last_value_bytes(node: Node, namespace: str = DEFAULT_NAMESPACE) -> int:
    """Return the size of the last record of a namespace's partition."""
    partition = node.engine.partition(namespace)
    position = node.engine.states[partition].position
    return len((await node.engine.log.read(partition, position - 1, 1))[0].value)


async def _append(engine: Engine, partition: int, event: Event) -> None:
    value = encode_event(event)
    while True:
        try:
            engine.log.append(partition, value, _raise)
            return
        except Overloaded:
            await asyncio.sleep(_FULL_SECONDS)


def _raise(error: TopicfoldError) -> None:
    raise error
