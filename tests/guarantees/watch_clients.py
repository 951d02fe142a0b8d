"""Clients that watch nodes of this process: each with a query of its own, cut off at any frame, resumed on any node."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from random import Random

from tests.guarantees.watch_history import MOST_HELD_BYTES, Asked, History, Stream, parsed
from tests.runtime.nodes import Node
from topicfold.errors import TopicfoldError
from topicfold.model.events import partition_of
from topicfold.model.finding.pattern import parse_pattern
from topicfold.model.finding.query import TopicQuery
from topicfold.model.finding.regex import parse_regex
from topicfold.model.finding.selector_text import parse_selector
from topicfold.model.namespaces import parse_namespaces
from topicfold.runtime.revision import Revision
from topicfold.runtime.watching.subject import Subject
from topicfold.runtime.watching.watcher import Watcher
from topicfold.server.auth.viewer import Viewer
from topicfold.server.frames import Frames

CAPACITY = 800
"""Bytes at which a connection counts as full."""
NAMESPACES = ("public/a", "public/b", "public/c", "public/e")
EVERYWHERE = (*NAMESPACES, "public/default")
"""All that have topics in any test."""
PLACES = (("*",), ("public/*",), ("p*c/*a*",), ("*/b", "public/c"), ("none*/*", "public/e*"), ("*ic/d*", "public/a"))
"""What some are meant by: at least one pattern."""
ROLES = ("ann", "bob")
SELECTORS = (
    "", "k=v", "k", "!k", "k=v,l=w", "k in (v,w)", "k notin (v)", "k!=v", "l", "l=w,!k", "k,l", "k>1", "l<5",
)  # fmt: skip
PATTERNS: tuple[tuple[str, ...], ...] = ((), (), (), ("x__*",), ("*__y",), ("x__**", "y"), ("*",), ("z__z", "x__y"))
EXPRESSIONS = (None, None, None, "x.*", "[^x]+", "x__[yz]|y", "(a+)+$")


@dataclass
class Pipe:
    """Where a watcher writes: a client that reads at once, or only when told to, and is cut off after some frames."""

    stream: Stream
    cut_after: int
    reads_at_once: bool
    capacity: int = CAPACITY
    watcher: Watcher | None = None
    held: int = 0
    is_cut: bool = False
    _rest: bytes = b""
    _has_read: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_full(self) -> bool:
        """Whether the client should read."""
        return not self.is_cut and self.held > self.capacity

    def write(self, data: bytes) -> None:
        """Take frames, up to where the connection is cut."""
        assert data
        if self.is_cut:
            return
        frames, self._rest = parsed(self._rest + data)
        assert not self._rest, "a frame in two parts"
        self.stream.frames += frames
        self.held = 0 if self.reads_at_once else self.held + len(data)
        self.stream.most_held = max(self.stream.most_held, self.held)
        if len(self.stream.frames) >= self.cut_after:
            del self.stream.frames[self.cut_after :]
            self.abort()

    async def drained(self) -> None:
        """Return once the client has read, or is gone."""
        self._has_read.clear()
        if self.is_full:
            await self._has_read.wait()

    def read(self) -> None:
        """Read all that is held."""
        self.held = 0
        self._has_read.set()

    def abort(self) -> None:
        """Cut the connection."""
        self.is_cut = True
        self._has_read.set()
        if self.watcher is not None:
            self.watcher.abandon()


@dataclass
class WatchClient:
    """One client. `history` is what it asked for and received. One that is slow does not read for long whiles."""

    asked: Asked
    as_events: bool
    random: Random
    partitions: int
    is_slow: bool = False
    may_hold: int = MOST_HELD_BYTES
    cuts: bool = True
    pipe: Pipe | None = None

    def __post_init__(self) -> None:
        self.history = History(
            self.asked, {each: partition_of(each, self.partitions) for each in EVERYWHERE}, self.partitions
        )

    async def stream(self, node: Node, since: Mapping[int, int] | None = None, *, cut_after: int | None = None) -> None:
        """Watch one node, from `since`, until cut off or told to end."""
        random = self.random
        if cut_after is None:
            cut_after = random.randrange(1, 300 if self.is_slow else 30) if self.cuts else 10**9
        watches = node.engine.watches
        stream = Stream(since, watches.now(frozenset(range(self.partitions))), may_hold=self.may_hold)
        self.history.streams.append(stream)
        pipe = self.pipe = Pipe(stream, cut_after, reads_at_once=not self.is_slow and random.random() < 0.7)
        watcher = pipe.watcher = Watcher(watches, self.subject(node), pipe)
        try:
            if since is None:
                await watcher.run()
            else:
                await watcher.run(since, reaching=self._reach(node, since))
            stream.ended_politely = not pipe.is_cut
        except TopicfoldError as error:
            pipe.write(watcher.subject.encoding.error(error, ""))
        finally:
            stream.node_left_at = watches.now(frozenset(range(self.partitions)))

    async def follow(self, nodes: Sequence[Node], is_done: asyncio.Event) -> None:
        """Watch one of `nodes` after another, each from where the one before ended, until it is done."""
        while not is_done.is_set() and (open_nodes := [each for each in nodes if not each.engine.watches.is_closed]):
            await self.stream(self.random.choice(open_nodes), self.last())
            if self.pipe is not None and self.pipe.is_cut and self.random.random() < 0.6:
                await self._stay_away()

    async def _reach(self, node: Node, since: Mapping[int, int]) -> None:
        """Return once a node can go on from there, as its server sees to."""
        await node.engine.reach(Revision(b"", since), asyncio.get_running_loop().time() + 5)
        await node.engine.window_refill.reach({each: since[each] for each in self.history.partitions})

    async def _stay_away(self) -> None:
        """Let much change meanwhile, as the rights that it had."""
        for _ in range(self.random.randrange(400)):
            await asyncio.sleep(0)

    def last(self) -> Mapping[int, int] | None:
        """Return the positions of the last cursor that came; None for none, or for a RESET since."""
        frames = (frame for stream in reversed(self.history.streams) for frame in reversed(stream.frames))
        return next((each.positions for each in frames if each.positions is not None or each.kind == "RESET"), None)

    def subject(self, node: Node) -> Subject:
        """Return what this client watches."""
        asked = self.asked
        query = TopicQuery(
            parse_selector(asked.selector),
            tuple(map(parse_pattern, asked.patterns)),
            None if asked.regex is None else parse_regex(asked.regex),
        )
        viewer = None if asked.roles is None else Viewer(asked.roles, asked.whole)
        return Subject(query, parse_namespaces(asked.texts), Frames(node.engine.identity, self.as_events), viewer)


def any_query(random: Random) -> Asked:
    """Return something to watch."""
    meant_by: tuple[str, ...] = ()
    namespaces = tuple(random.sample(NAMESPACES, random.choice((1, 1, 1, 2, 3))))
    if random.random() < 0.3:
        meant_by = random.choice(PLACES)
        namespaces = tuple(each for each in EVERYWHERE if any(fnmatchcase(each, place) for place in meant_by))
    roles, whole = None, frozenset[str]()
    if random.random() < 0.3:
        roles = frozenset(random.sample(ROLES, random.choice((1, 2))))
        whole = frozenset(random.sample(namespaces, random.randrange(len(namespaces))))
    return Asked(
        random.choice(SELECTORS),
        random.choice(PATTERNS),
        random.choice(EXPRESSIONS),
        namespaces,
        roles,
        whole,
        meant_by,
    )
