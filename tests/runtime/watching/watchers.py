"""Watchers of nodes in this process, and what they were sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.guarantees.watch_clients import Pipe
from tests.guarantees.watch_history import Frame, Stream
from tests.runtime.nodes import Node, turns
from topicfold.model.finding.query import TopicQuery
from topicfold.model.finding.regex import parse_regex
from topicfold.model.finding.selector_text import parse_selector
from topicfold.model.namespaces import parse_namespaces
from topicfold.runtime.watching.ports import Viewer
from topicfold.runtime.watching.subject import Subject
from topicfold.runtime.watching.watcher import Watcher
from topicfold.server.frames import Frames

Admits = Callable[[], Awaitable[None]]


@dataclass
class Counting(Pipe):
    """A client that counts the bytes and pings it was sent."""

    pings: int = 0
    writes: list[bytes] = field(default_factory=list)

    def write(self, data: bytes) -> None:
        """Take frames."""
        self.pings += data.split(b"\n").count(b":")
        self.writes.append(data)
        super().write(data)


class Watching:
    """One watcher of one node, running until it ends."""

    def __init__(
        self,
        node: Node,
        selector: str = "",
        *namespaces: str,
        reads: bool = True,
        capacity: int = 64 * 1024,
        viewer: Viewer | None = None,
        admits: Admits | None = None,
        regex: str | None = None,
        **start: Any,
    ) -> None:
        self.node = node
        watches = node.engine.watches
        self.stream = Stream(None, watches.now(frozenset(node.engine.states)))
        self.pipe = Counting(self.stream, 10**9, reads, capacity)
        encoding = Frames(node.engine.identity, as_events=True)
        query = TopicQuery(parse_selector(selector), regex=None if regex is None else parse_regex(regex))
        subject = Subject(query, parse_namespaces(namespaces or ("public/default",)), encoding, viewer)
        self.watcher = self.pipe.watcher = Watcher(watches, subject, self.pipe, admits)
        self.task = asyncio.create_task(self.watcher.run(**start))

    @property
    def frames(self) -> list[Frame]:
        """All that came."""
        return self.stream.frames

    def kinds(self) -> list[str]:
        """Return the kinds of all that came, in a word each."""
        return [frame.kind for frame in self.frames]

    def told(self) -> list[tuple[str, Mapping[str, str]]]:
        """Return kind and labels of all topics that came."""
        return [(frame.kind, frame.members["topic"]["labels"]) for frame in self.frames if "topic" in frame.members]

    @property
    def is_up_to_date(self) -> bool:
        """Whether it is a member of its group."""
        group = self.node.engine.watches.groups.find(self.watcher.subject)
        return group is not None and self.watcher in group.members

    async def up_to_date(self) -> None:
        """Return once it is a member of its group, or has ended."""
        async with asyncio.timeout(60):
            while not self.is_up_to_date and not self.task.done():
                await turns(1)

    async def ended(self) -> list[str]:
        """End it, and return the kinds of all that came."""
        self.watcher.end()
        await asyncio.wait_for(self.task, 60)
        return self.kinds()


async def quiet(node: Node) -> None:
    """Return once the pump has nothing to do."""
    pump = node.engine.watches.pump
    async with asyncio.timeout(60):
        while not (pump.has_matched_all and (pump._task is None or pump._task.done())):
            await turns(1)


def tell(node: Node) -> None:
    """Tell everybody how far they are, as the beat does."""
    node.engine.watches.pump.tell(node.engine.watches.groups)


async def many(node: Node, number: int, selector: str = "", **start: Any) -> list[Watching]:
    """Return so many watchers of the same, all up to date."""
    made = [Watching(node, selector, **start) for _ in range(number)]
    for each in made:
        await each.up_to_date()
    return made
