"""Clients: they ask random things of random nodes, send requests again, share keys, hang up, and read."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from random import Random

from tests.simulation.fake_log import FakeStore
from tests.simulation.history import ACTOR, Call, Crashed, History, Read, Span, Status
from tests.simulation.listening import Ear
from tests.simulation.node import Node
from tests.simulation.operations import Operation
from tests.simulation.requests import Requests
from tests.simulation.setup import Setup
from topicfold.errors import NotReady, OutcomeUnknown, TopicfoldError, Wait
from topicfold.model.events import operation_of, partition_of
from topicfold.model.names import parse_topic, topic_of_key
from topicfold.runtime.asking import Asked, Consistency, Written
from topicfold.runtime.reading import FOLD_SECONDS
from topicfold.runtime.revision import Revision

_Sent = tuple[Operation, str]
_INSTANT = 1e-6


class Clients:
    """All clients of a run; what they did is in `history`."""

    def __init__(self, setup: Setup, rng: Random, store: FakeStore, nodes: list[Node], history: History) -> None:
        self._setup = setup
        self._rng = rng
        self._store = store
        self._nodes = nodes
        self._history = history
        self._requests = Requests(setup, rng)
        self._left = setup.operations
        self._keyed: list[_Sent] = []
        self._etags: dict[str, str] = {}
        self._latest: Revision | None = None
        self._pipelines = 0

    async def make_all(self) -> None:
        """Make every tenant, namespace and topic there is a name for."""
        for operation in self._requests.makers():
            await self.call(self._any_node(), operation, None, seconds=15.0)

    async def run(self) -> None:
        """Return when all clients have had their answers."""
        await asyncio.gather(*(self._client() for _ in range(self._setup.clients)))

    async def _client(self) -> None:
        while self._left > 0:
            self._left -= 1
            roll = self._rng.random()
            if roll < 0.25:
                await self.read(self._any_node(), self._requests.topic())
            elif roll < 0.30:
                await self._pipeline()
            elif roll < 0.34:
                await self._rebirth()
            elif roll < 0.38:
                await self._listen(self._any_node(), self._requests.topic())
            elif self._rng.random() < self._setup.keyed:
                await self._keyed_call()
            else:
                await self.call(self._any_node(), self._requests.operation(), None)
            await asyncio.sleep(self._rng.uniform(0, 2) * self._setup.pause_seconds)

    async def _keyed_call(self) -> None:
        """Send a request under a key until it is settled, now and then twice at once, or an old key once more."""
        if self._keyed and self._rng.random() < 0.2:
            operation, key = self._rng.choice(self._keyed)
            if self._rng.random() < 0.2:
                operation = replace(operation, marker=f"{operation.marker}x", labels=self._requests.labels())
        else:
            operation, key = self._requests.operation(), f"key-{len(self._keyed)}"
            self._keyed.append((operation, key))
        for _ in range(4):
            sent = [self.call(self._any_node(), operation, key)]
            while self._rng.random() < 0.3:
                sent.append(self._after(self._rng.choice((0.0, 0.002, 0.05)), operation, key))
            answers = await asyncio.gather(*sent)
            if not any(isinstance(answer, (Crashed, OutcomeUnknown, Wait)) for answer in answers):
                return
            if self._rng.random() < 0.2:
                return
            await asyncio.sleep(self._rng.choice((0.0, 0.02, 0.5)))

    async def _after(self, seconds: float, operation: Operation, key: str) -> object:
        await asyncio.sleep(seconds)
        return await self.call(self._any_node(), operation, key)

    async def _pipeline(self) -> None:
        """Send several changes of one topic to one node without waiting for answers."""
        self._pipelines += 1
        topic, node = self._requests.topic(), self._any_node()
        await asyncio.gather(*(
            self.call(node, self._requests.set_labels(topic), None, sequence=(self._pipelines, place))
            for place in range(3)
        ))  # fmt: skip

    async def _rebirth(self) -> None:
        """End a namespace and make it again: what was sent to its former life may still land."""
        for operation in self._requests.rebirth():
            await self.call(self._any_node(), operation, None)

    async def _listen(self, node: Node, topic: Operation) -> None:
        """Listen to a topic's policies on a node, for as long as both live."""
        if node.engine is not None and node.service is not None:
            ear = Ear(node, topic.name, partition_of(topic.namespace, self._setup.partitions))
            self._history.ears.append(ear)
            with contextlib.suppress(Crashed, NotReady):
                await node.run(ear.listen())

    async def call(
        self, node: Node, operation: Operation, key: str | None, sequence: tuple[int, int] | None = None,
        seconds: float = 0.0,
    ) -> object:  # fmt: skip
        """Send one request, due in `seconds` (0 for any time), and note what came of it; return the answer."""
        is_conditional = (
            not seconds and key is None and sequence is None and self._rng.random() < self._setup.conditional
        )
        call = Call(
            len(self._history.calls),
            node.name,
            operation,
            partition_of(operation.owner, self._setup.partitions),
            key,
            self._etags.get(operation.name, "*") if is_conditional else "",
            self._span(seconds or self._rng.choice((0.05, 0.5, 2.0, 15.0, 15.0))),
            sequence=sequence,
        )
        self._history.calls.append(call)
        asked = Asked(
            call.span.deadline, ACTOR, "", call.request_id, operation.method.value, key, operation.body, call.if_match
        )
        patience = self._rng.uniform(0, 0.1) if not seconds and self._rng.random() < 0.03 else None
        try:
            call.answer = await node.run(self._put(node, call, asked), patience)
        except (Crashed, TopicfoldError) as error:
            call.answer = error
        self._end(call.span)
        if isinstance(call.answer, Written):
            self._etags[operation.name] = call.answer.etag
            self._latest = call.answer.revision.merged(self._latest)
        if isinstance(call.answer, OutcomeUnknown):
            await self._ask_for_outcome(call.answer)
        return call.answer

    async def _put(self, node: Node, call: Call, asked: Asked) -> Written:
        try:
            return await call.operation.put_to(node.writing, asked)
        finally:
            if node.engine is not None:
                call.folded = node.engine.states[call.partition].position

    async def _ask_for_outcome(self, unknown: OutcomeUnknown) -> None:
        """Ask some node, as `GET /operations/{id}` does, what became of an operation."""
        partition_text, _, handle_text = unknown.values["operation"].partition("-")
        partition, node = int(partition_text), self._any_node()
        handle = bytes.fromhex(handle_text)
        if node.engine is not None:
            settled = node.reading.operation(partition, ACTOR, handle)
            position = node.engine.states[partition].position
            verdict = None if settled is None else settled.verdict
            self._history.statuses.append(Status(node.name, partition, operation_of(ACTOR, handle), position, verdict))

    async def read(self, node: Node, topic: Operation) -> Read:
        """Read a topic's labels, and who has them; note what was seen, and return it."""
        consistency = self._rng.choice((Consistency.LOCAL, Consistency.BARRIER, Consistency.BARRIER,
                                        Consistency.LINEARIZABLE))  # fmt: skip
        partition = partition_of(topic.namespace, self._setup.partitions)
        span = self._span(self._rng.choice((0.5, 15.0)))
        read = Read(node.name, topic.name, topic.namespace, partition, consistency, span)
        minimum = self._latest if self._rng.random() < 0.5 else None
        read.minimum = minimum.positions.get(partition, 0) if minimum else 0
        asked = Asked(span.deadline, minimum=minimum, consistency=consistency)
        log = node.log
        self._history.reads.append(read)
        try:
            await node.run(self._look(node, read, asked))
        except (Crashed, TopicfoldError) as error:
            read.error = error
        self._end(span)
        hard = log.hard_queries if log is not None else []
        took = min(FOLD_SECONDS, span.deadline - span.began) - _INSTANT
        read.is_excused |= span.ended - span.began > took or any(
            ended >= span.began and began <= span.ended for began, ended in hard
        )
        return read

    async def _look(self, node: Node, read: Read, asked: Asked) -> None:
        reading, engine = node.reading, node.engine
        assert engine is not None
        read.is_excused = not engine.freshness.is_reachable
        cut = await reading.settle([read.partition], asked)
        read.is_excused |= read.partition in engine.reader.faults
        read.position = engine.states[read.partition].position
        read.confirmed = self._store.loop.time() - cut.age_seconds
        try:
            read.labels, read.etag = reading.labels(parse_topic(read.topic))
            record = reading.topic(parse_topic(read.topic)).record
        except TopicfoldError:
            return
        read.policies = (record.local, record.global_) if record else (None, None)
        self._etags[read.topic] = read.etag
        table = engine.states[read.partition].topics[read.namespace]
        for pair in read.labels.items():
            found = table.matching(dict([pair])) - table.ending
            read.found_by[pair] = frozenset(topic_of_key(read.namespace, table.keys[each]) for each in found)

    def _span(self, seconds: float) -> Span:
        now = self._store.loop.time()
        return Span(now, now + seconds, self._store.lengths())

    def _end(self, span: Span) -> None:
        span.ended, span.ends_after = self._store.loop.time(), self._store.lengths()

    def _any_node(self) -> Node:
        return self._rng.choice(self._nodes)
