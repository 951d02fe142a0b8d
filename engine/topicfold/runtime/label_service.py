"""The labels of topics, for programs that run an engine in the same process: PIP-451's service surface.

Questions are answered from the folded state. Each listener is called in a task of its own, outside the reader's publish
step: no listener waits for another, and what one raises is logged and affects neither the others nor the fold.

Source: PIP-451 (`getTopicsByLabels`, `getAllLabels`, label listeners of a namespace).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import islice

import structlog

from topicfold.errors import InvalidRequest, NotReady
from topicfold.model.finding.query import TopicQuery
from topicfold.model.finding.selector import selector_of_labels
from topicfold.model.names import local_of_key, parse_namespace, topic_of_key
from topicfold.model.namespaces import Namespaces
from topicfold.model.system_topics import is_system_topic
from topicfold.runtime.engine import Engine
from topicfold.runtime.finding.finding import Finding
from topicfold.runtime.listener_call import call_listener
from topicfold.runtime.reading import Reading
from topicfold.runtime.slices import CHUNK, Slice
from topicfold.runtime.task_end import end_tasks
from topicfold.state.change import Change, NamespaceTurn, Outcome, TopicChange, TopicDelta, TopicRow
from topicfold.state.topic_table import TopicTable

_STEP = 256

_log = structlog.get_logger(__name__)

Labels = Mapping[str, str]
LabelListener = Callable[[str, Labels | None], Awaitable[None] | None]
"""Takes a topic's full name and all of its labels, or None if the topic was deleted.

A plain function runs in a thread, so it may block; it must not use what belongs to the loop, this service included.
"""


class LabelService:
    """The labels of one node's topics. Stop it before the engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._reading = Reading(engine)
        self._finding = Finding(engine)
        self._followers: dict[str, dict[LabelListener, _Follower]] = {}
        self._telling: set[asyncio.Task[None]] = set()
        self._is_stopped = False

    async def get_topics_by_labels(self, labels: Labels, namespaces: Iterable[str]) -> list[str]:
        """Return the full names of the topics of `namespaces` that have all of `labels`, sorted.

        Raises:
            InvalidRequest: `labels` is empty, which every topic would match.
            InvalidSelector: labels that no topic may have.
            NamespaceNotFound, NotReady: a namespace does not exist, or is not folded yet.
        """
        if not labels:
            raise InvalidRequest("no labels to find topics by")
        places = [await self._ready(namespace) for namespace in dict.fromkeys(namespaces)]
        found = await self._finding.find(Namespaces(tuple(places)), TopicQuery(selector_of_labels(labels)), _everything)
        names: list[str] = []
        turn = Slice()
        for section, numbers in found.all_after(None):
            while some := list(islice(numbers, CHUNK)):
                names += section.names(some)
                await turn.rest()
        return names

    async def get_all_labels(self, namespace: str) -> dict[str, list[str]]:
        """Return every label key in use in a namespace with its values, sorted.

        Raises:
            NamespaceNotFound, NotReady: the namespace does not exist, or is not folded yet.
            Overloaded: too much has changed meanwhile.
        """
        return await self._reading.all_labels(await self._ready(namespace))

    def register_label_listener(self, namespace: str, listener: LabelListener) -> None:
        """Call `listener` for each topic of a namespace whose labels change from now on, and for each that is deleted.

        Pulsar's own topics are left out, as wherever topics are found.

        If a topic changes again before the listener was called, there is one call, with the newest labels; if these
        are what they were at first, there is none. The namespace need not exist yet. Registering a listener again does
        nothing.

        Raises:
            InvalidName: it breaks the rules.
            NotReady: stopped.
        """
        name = parse_namespace(namespace)
        if self._is_stopped:
            raise NotReady("this service is stopped")
        if not self._followers:
            self._engine.reader.listen(self._publish)
        followers = self._followers.setdefault(name, {})
        if listener not in followers:
            followers[listener] = _Follower(listener, self._engine.tables.of(name))

    def unregister_label_listener(self, namespace: str, listener: LabelListener) -> None:
        """Begin no more calls of `listener` for a namespace; nothing happens if it is not registered."""
        followers = self._followers.get(namespace, {})
        follower = followers.pop(listener, None)
        if follower is None:
            return
        follower.forget()
        if not followers:
            del self._followers[namespace]
        if not self._followers:
            self._engine.reader.leave(self._publish)

    async def stop(self) -> None:
        """End all listening, including calls that have begun; a plain function ends by itself in its thread.

        A listener may call this, and runs to its end.
        """
        self._is_stopped = True
        self._engine.reader.leave(self._publish)
        for followers in self._followers.values():
            for follower in followers.values():
                follower.forget()
        self._followers.clear()
        await end_tasks(self._telling)

    def _publish(self, partition: int, change: Change) -> None:
        """Notify the listeners that a change concerns; called by the reader."""
        effect = change.effect
        if effect is None or change.outcome is not Outcome.ACCEPTED:
            return
        followers = self._followers.get(effect.namespace)
        if not followers or (isinstance(effect, TopicChange) and is_system_topic(local_of_key(effect.key))):
            return
        seen = effect.delta() if isinstance(effect, TopicChange) else effect
        for follower in followers.values():
            if isinstance(seen, TopicDelta):
                follower.note(topic_of_key(seen.namespace, seen.key), seen.before, seen.after)
            else:
                follower.turn(seen, self._engine.tables.of(seen.namespace))
            task = follower.wake()
            if task is not None:
                self._telling.add(task)
                task.add_done_callback(self._telling.discard)

    async def _ready(self, namespace: str) -> str:
        """Return a namespace's name once it is folded up to the end that the log had at the start."""
        name = parse_namespace(namespace)
        engine = self._engine
        await engine.readiness.wait([engine.partition(name)], engine.options.ready_timeout_seconds)
        self._reading.require_namespace(name)
        return name


_Pending = dict[str, tuple[Labels | None, Labels | None]]
"""Topics that somebody is to be told of: their labels when that was noted first, and now."""


class _Follower:
    """One listener of one namespace, and the calls that are due."""

    def __init__(self, listener: LabelListener, table: TopicTable | None) -> None:
        self._listener = listener
        self._table = table
        self._pending: _Pending = {}
        self._ended: deque[tuple[str, TopicTable, _Pending]] = deque()
        self._task: asyncio.Task[None] | None = None

    def note(self, topic: str, before: TopicRow | None, after: TopicRow | None) -> None:
        """Have it told of a topic that was `before` and is `after`, if its labels are others then."""
        old = self._pending.pop(topic)[0] if topic in self._pending else _labels(before)
        new = _labels(after)
        if (new is None and old is not None) or (old or {}) != (new or {}):
            self._pending[topic] = old, new

    def turn(self, turn: NamespaceTurn, table: TopicTable | None) -> None:
        """Have it told of all topics that end with their namespace: the table that ended stays as it was."""
        if not turn.is_live and self._table is not None:
            self._ended.append((turn.namespace, self._table, self._pending))
            self._pending = {}
        self._table = table

    def forget(self) -> None:
        """Begin no further call."""
        self._pending.clear()
        self._ended.clear()

    def wake(self) -> asyncio.Task[None] | None:
        """Return a new task that tells it, None where there is nothing to tell or one is at it."""
        if not (self._pending or self._ended) or (self._task is not None and not self._task.done()):
            return None
        self._task = asyncio.get_running_loop().create_task(self._tell())
        return self._task

    async def _tell(self) -> None:
        while self._pending or self._ended:
            if self._ended:
                await self._tell_of_end(*self._ended[0])
                if self._ended:
                    self._ended.popleft()
                continue
            topic = next(iter(self._pending))
            _, labels = self._pending.pop(topic)
            await self._call(topic, labels)

    async def _tell_of_end(self, namespace: str, table: TopicTable, pending: _Pending) -> None:
        """Tell it of the end of each topic that it knows of: those in `pending` as they were before that."""
        for topic in [topic for topic, (_, new) in pending.items() if new is None]:
            if not self._ended:
                return
            await self._call(topic, None)
        for count, number in enumerate(table.live - table.system - table.ending):
            if not self._ended:
                return
            topic = topic_of_key(namespace, table.keys[number])
            if topic not in pending or pending[topic][0] is not None:
                await self._call(topic, None)
            elif not count % _STEP:
                await asyncio.sleep(0)

    async def _call(self, topic: str, labels: Labels | None) -> None:
        error = await call_listener("label-listener", self._listener, topic, labels)
        if error is not None:
            _log.error("label_listener_failed", topic=topic, exc_info=error)


def _labels(row: TopicRow | None) -> Labels | None:
    return None if row is None else dict(row.labels)


def _everything(namespace: str) -> None:
    """Leave no topic of a namespace out."""
