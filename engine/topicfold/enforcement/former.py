"""Former sayings: which settings policies told Kafka before, read from the log's history and from notes.

An override in Kafka that nothing asks for now is taken for Topicfold's own if a policy of the topic, or of its
namespace, would have made it, in the life it has now and after the last pass that left nothing of former ones; or a
default that is noted. Anything else is somebody else's, and is left alone.

Known limit: Kafka does not tell who set a value. One that is set by hand, and equal to what such a policy said, cannot
be told from it until a pass has taken that policy's own away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from topicfold.enforcement.notes import Notes
from topicfold.errors import NotFound
from topicfold.model.events import AggregateKind, Kind
from topicfold.model.names import TopicName
from topicfold.model.policy.kafka_settings import Sayings, sayings
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.runtime.engine import Engine
from topicfold.runtime.past.chain import Chain
from topicfold.runtime.writing.update import Target

_NOTHING: Sayings = frozenset()
_PATIENCE_SECONDS = 30.0
"""For one step of a walk. The whole may take long, and would begin anew if it were given up."""


class FormerSayings:
    """Walks histories, one at a time, and remembers what it found until they go on."""

    def __init__(self, engine: Engine, notes: Notes) -> None:
        self._engine = engine
        self._notes = notes
        self._found: dict[tuple[int, str], tuple[tuple[bytes, int] | None, Sayings]] = {}
        self._clean: dict[str, int] = {}
        self._walking = asyncio.Lock()

    def note_clean(self, name: str, offset: int) -> None:
        """Note that the topic `name` has nothing in Kafka any more of what was said before `offset`."""
        self._clean[name] = offset

    async def of(self, name: TopicName) -> Sayings:
        """Return each (setting, value) that policies of the topic or of its namespace told Kafka, and noted defaults.

        Not of what lies before the offset from which on the topic, or by the notes its partition, is clean. Where the
        log no longer goes back as far as it has to, what came before is not among them. Cost: a walk back
        through the log, where the topic or its namespace has changed since the last one.

        Raises:
            LogUnavailable: the log did not answer in time.
        """
        topic = self._engine.target(AggregateKind.TOPIC, str(name), name.namespace)
        namespace = self._engine.target(AggregateKind.NAMESPACE, name.namespace)
        noted = self._notes.read()
        since = max(self._clean.get(str(name), 0), noted.clean.get(topic.partition, 0))
        return noted.sayings | await self._of(topic, since) | await self._of(namespace, since)

    def topics(self) -> set[str]:
        """Return the topics that something is remembered of."""
        return {name for kind, name in self._found if kind == AggregateKind.TOPIC} | self._clean.keys()

    def forget(self, name: str) -> None:
        """Remember nothing of a topic that is gone."""
        self._found.pop((AggregateKind.TOPIC, name), None)
        self._clean.pop(name, None)

    def forget_namespaces(self, names: Iterable[str]) -> None:
        """Remember nothing of what namespaces that are gone said themselves; of their topics `forget` is told."""
        for name in names:
            self._found.pop((AggregateKind.NAMESPACE, name), None)

    async def _of(self, target: Target, since: int) -> Sayings:
        async with self._walking:
            version = self._engine.states[target.partition].current(target.kind, target.name).version
            known, found = self._found.get((target.kind, target.name), (None, _NOTHING))
            if known != (version, since):
                found = await self._walk(target, since)
                self._found[target.kind, target.name] = ((version, since), found)
            return found

    async def _walk(self, target: Target, since: int) -> Sayings:
        """Return what was said by each version that was the current one at `since` or later."""
        loop, found = asyncio.get_running_loop(), _NOTHING
        try:
            chain = Chain(self._engine, target, loop.time() + _PATIENCE_SECONDS)
        except NotFound:
            return found
        while (link := await chain.step()) is not None and link.event.kind == Kind.PUT:
            chain.deadline = loop.time() + _PATIENCE_SECONDS
            match link.record:
                case TopicRecord() as topic:
                    found |= sayings(topic.local) | sayings(topic.global_)
                case NamespaceRecord() as namespace:
                    found |= sayings(namespace.policies)
            if link.offset < since:
                break
        return found
