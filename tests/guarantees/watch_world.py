"""A world to watch: nodes on one log in memory, random changes, and clients that are cut off at any frame."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from tests.guarantees.watch_clients import NAMESPACES, ROLES, WatchClient, any_query
from tests.guarantees.watch_log import WatchedLog
from tests.guarantees.watch_validators import violations
from tests.memory_log import MemoryLog, MemoryStore
from tests.runtime.nodes import Node, running
from tests.snapshot.making import compacted_further
from topicfold.errors import TopicfoldError
from topicfold.model.grants import grant, revoke
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.model.updates import topic_missing
from topicfold.runtime.watching import pump, rest, watcher, watches
from topicfold.snapshot.commits import sequences

PARTITIONS = 3
TOPICS = ("x", "y", "x__y", "x__z", "z__z", "x__y__z", "a" * 28)


LIMITS: Mapping[ModuleType, Mapping[str, float]] = {
    pump: {"MAX_SENT_BYTES": 1_000}, rest: {"PART": 4}, watcher: {"CHUNK": 2, "CLOSE_SECONDS": 60.0},
    watches: {"CLOSE_SECONDS": 60.0},
}  # fmt: skip
"""What is written at once is so little that a client that does not read comes to it within a world.

When a node stops, all clients read: that one is cut off meanwhile would tell of the machine, not of the node.
"""
MAY_HOLD = 4_000
"""A full connection, and what is written at once with these limits."""


async def change(node: Node, random: Random) -> None:
    """Do something, on few names; whether it is refused does not matter."""
    name = parse_topic(f"{random.choice(NAMESPACES)}/{random.choice(TOPICS)}")
    asked, writing = node.asked(), node.writing
    try:
        match random.choices(range(9), (15, 5, 40, 8, 0.3, 3, 20, 15, 2))[0]:
            case 0:
                await writing.create_topic(name, TopicRecord(), asked)
            case 1:
                await writing.delete_topic(name, asked)
            case 2:
                await writing.set_labels(name, {random.choice("kl"): random.choice("vw37")}, asked)
            case 3:
                await writing.remove_labels(name, random.choice((None, ["k"], ["l"])), asked)
            case 4:
                await writing.delete_namespace(name.namespace, asked, force=random.random() < 0.5)
            case 5:
                await writing.create_namespace(name.namespace, NamespaceRecord(), asked)
            case 6:
                updater = grant(random.choice(ROLES), ("list-topics",), topic_missing(str(name)))
                await writing.change_topic(name, updater, asked)
            case 7:
                await writing.change_topic(name, revoke(random.choice(ROLES), topic_missing(str(name))), asked)
            case _:
                await writing.set_labels(name, {}, node.asked(key=str(random.randrange(9)), method="m"))
    except TopicfoldError:
        pass


class World:
    """Nodes that come and go; `nodes` are those that run. With `snapshot` they start from there, and it grows."""

    def __init__(self, seed: int, window: int, *, lags: bool, snapshot: Path | None = None) -> None:
        self.random = Random(seed)
        self.window = window
        self.lags = lags
        self.snapshot = snapshot
        self.store = MemoryStore(PARTITIONS)
        self.nodes: list[Node] = []
        self.clients: list[WatchClient] = []
        self._stacks: list[AsyncExitStack] = []
        self._started = 0

    async def start_node(self) -> None:
        """Start one more node."""
        for node in self.nodes:
            node.log.resume()
        self._started += 1
        stack = AsyncExitStack()
        options: dict[str, Any] = {"window_size": self.window, "request_timeout_seconds": 5.0}
        if self.snapshot is not None and self.clients:
            await self._compact(self.snapshot)
            options["snapshot"] = self.snapshot
        node = await stack.enter_async_context(running(self.store, self._started * 10**9, **options))
        self.nodes.append(node)
        self._stacks.append(stack)

    async def stop_node(self) -> None:
        """Stop the oldest node; its streams end politely, but for those that nobody reads."""
        node, stack = self.nodes.pop(0), self._stacks.pop(0)
        node.log.resume()
        reading = asyncio.create_task(self._read_all())
        await stack.aclose()
        reading.cancel()
        assert not node.engine.watches.watchers

    async def close(self) -> None:
        """Stop all nodes."""
        while self.nodes:
            await self.stop_node()

    async def trouble(self, changes: int) -> None:
        """Make changes, and things happen meanwhile."""
        random = self.random
        for _ in range(changes):
            writers = [node for node in self.nodes if not node.log.is_paused]
            done = [change(random.choice(writers), random) for _ in range(random.choice((1, 2, 8)))]
            await asyncio.gather(*done, self._tell())
            match random.randrange(12):
                case 0:
                    client = random.choice(self.clients)
                    if client.pipe is not None:
                        client.pipe.abort()
                case 1 | 2 | 3 | 4:
                    self._read_some()
                case 5 if random.random() < (0.2 if self.snapshot is None else 0.6):
                    await self.start_node()
                    await self.stop_node()
                case 6 | 7 | 8:
                    await asyncio.sleep(0)
                case 9 if self.lags:
                    self._lag()

    async def _compact(self, snapshot: Path) -> None:
        """Bring the snapshot up to the log's end, which some clients have not heard of, or leave it as it is."""
        for client in self.clients:
            if client.pipe is not None:
                client.pipe.abort()
        for _ in range(4):
            await change(self.nodes[0], self.random)
        if not sequences(snapshot) or self.random.random() < 0.5:
            log = MemoryLog(self.store)
            await compacted_further(log, snapshot)
            await log.close()

    async def _tell(self) -> None:
        """Tell some watchers how far they are, in the middle of whatever goes on."""
        if self.random.random() < 0.3:
            watches = self.random.choice(self.nodes).engine.watches
            for _ in range(self.random.randrange(12)):
                await asyncio.sleep(0)
            watches.pump.tell(watches.groups)

    def _lag(self) -> None:
        """Let the newest node's log go on, or stop."""
        log = self.nodes[-1].log
        (log.resume if log.is_paused else log.pause)()

    def _read_some(self) -> None:
        for client in self.clients:
            if client.pipe is not None and self.random.random() < (0.1 if client.is_slow else 0.3):
                client.pipe.read()

    async def _read_all(self) -> None:
        while True:
            for client in self.clients:
                if client.pipe is not None:
                    client.pipe.read()
            await asyncio.sleep(0)

    def log(self) -> WatchedLog:
        """Return what the log says in the end."""
        return WatchedLog([entry for entries in self.store.entries for entry in entries], PARTITIONS)


@asynccontextmanager
async def world(
    seed: int, window: int, nodes: int = 2, *, lags: bool = False, snapshot: Path | None = None
) -> AsyncIterator[World]:
    """Run a world of small limits with the namespaces there."""
    made = World(seed, window, lags=lags, snapshot=snapshot)
    for _ in range(nodes):
        await made.start_node()
    patch = pytest.MonkeyPatch()
    for module, limits in LIMITS.items():
        for name, limit in limits.items():
            patch.setattr(module, name, limit)
    try:
        for namespace in NAMESPACES:
            node = made.nodes[0]
            await node.writing.create_namespace(namespace, NamespaceRecord(), node.asked())
            for topic in TOPICS[::2]:
                await node.writing.create_topic(parse_topic(f"{namespace}/{topic}"), TopicRecord(), node.asked())
        yield made
    finally:
        await made.close()
        patch.undo()


async def lived(
    seed: int,
    *,
    clients: int = 50,
    changes: int = 150,
    window: int = 100_000,
    lags: bool = False,
    snapshot: Path | None = None,
) -> list[str]:
    """Return what is wrong with the history of a world: all that its clients received, judged by the log."""
    async with world(seed, window, lags=lags, snapshot=snapshot) as made:
        for number in range(clients):
            random = Random(f"{seed}/{number}")
            is_slow = number % 5 == 0
            query, as_events = any_query(random), random.random() < 0.5
            made.clients.append(WatchClient(query, as_events, random, PARTITIONS, is_slow, MAY_HOLD))
        is_done = asyncio.Event()
        following = [asyncio.create_task(client.follow(made.nodes, is_done)) for client in made.clients]
        await made.trouble(changes)
        is_done.set()
        for client in made.clients:
            client.cuts = False
        for node in made.nodes:
            node.log.resume()
            await node.caught_up()
        await made.close()
        await asyncio.gather(*following)
        log = made.log()
    return [
        f"seed {seed}, {client.asked}: {said}"
        for client in made.clients
        for said in [*violations(client.history, log, window), *_unfinished(client, log)]
    ]


def _unfinished(client: WatchClient, log: WatchedLog) -> list[str]:
    """Return where a client that nobody cut off in the end does not know the end of the log."""
    last = client.history.streams[-1]
    ends = {partition: log.ends[partition] for partition in client.history.partitions}
    if last.ended_politely and last.last_positions() not in (ends, None):
        return [f"ended at {last.last_positions()}, the log at {ends}"]
    return []
