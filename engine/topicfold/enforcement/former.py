"""Former sayings: which settings a topic's policies told Kafka at any time, read from the log's history.

An override in Kafka that nothing asks for now is taken for Topicfold's own if some earlier policy of the topic, or of
its namespace, in the life it has now, would have made it. Anything else is somebody else's, and is left alone.
"""

from __future__ import annotations

import asyncio

from topicfold.enforcement.translation import sayings
from topicfold.errors import NotFound
from topicfold.model.events import AggregateKind, Kind
from topicfold.model.names import TopicName
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.runtime.chain import Chain
from topicfold.runtime.engine import Engine
from topicfold.runtime.group import Target

Sayings = frozenset[tuple[str, str]]

_NOTHING: Sayings = frozenset()
_SECONDS_A_WALK = 30.0


class FormerSayings:
    """Walks histories, one at a time, and remembers what it found until they go on."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._found: dict[tuple[int, str], tuple[bytes, Sayings]] = {}
        self._walking = asyncio.Lock()

    async def of(self, name: TopicName) -> Sayings:
        """Return each (setting, value) that policies of the topic or of its namespace ever told Kafka.

        Where the log no longer goes back to the beginning, what came before is not among them. Cost: a walk back
        through the log, where the topic or its namespace has changed since the last one.

        Raises:
            LogUnavailable: the log did not answer in time.
        """
        topic = self._engine.target(AggregateKind.TOPIC, str(name), name.namespace)
        namespace = self._engine.target(AggregateKind.NAMESPACE, name.namespace)
        return await self._of(topic) | await self._of(namespace)

    async def _of(self, target: Target) -> Sayings:
        async with self._walking:
            version = self._engine.states[target.partition].current(target.kind, target.name).version
            known, found = self._found.get((target.kind, target.name), (b"", _NOTHING))
            if known != version:
                found = await self._walk(target)
                self._found[target.kind, target.name] = (version, found)
            return found

    async def _walk(self, target: Target) -> Sayings:
        deadline = asyncio.get_running_loop().time() + _SECONDS_A_WALK
        found = _NOTHING
        try:
            chain = Chain(self._engine, target, deadline)
        except NotFound:
            return found
        while (link := await chain.step()) is not None and link.event.kind == Kind.PUT:
            match link.record:
                case TopicRecord() as topic:
                    found |= sayings(topic.local) | sayings(topic.global_)
                case NamespaceRecord() as namespace:
                    found |= sayings(namespace.policies)
        return found
