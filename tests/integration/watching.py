"""Clients that watch real nodes over HTTP: cut off at any frame, resumed on any node that runs, judged by the log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from urllib.parse import urlencode

from tests.guarantees.watch_clients import NAMESPACES
from tests.guarantees.watch_history import Asked, Frame, History, Stream
from tests.integration.node import Node
from tests.server.watching import LINES, Opened, ask
from topicfold.model.events import partition_of

PARTITIONS = 8


@dataclass
class HttpClient:
    """One client with a query of its own; `history` is what it received."""

    asked: Asked
    random: Random
    history: History = field(init=False)
    is_done: bool = False
    cursor: str = ""

    def __post_init__(self) -> None:
        self.history = History(self.asked, {each: partition_of(each, PARTITIONS) for each in NAMESPACES})
        self._headers = self.random.choice(({}, LINES))

    async def follow(self, nodes: Sequence[Node]) -> None:
        """Watch one node after another, each from where the one before ended, until it is done."""
        while not self.is_done:
            with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                await self.stream(self.random.choice(nodes).port, self.random.randrange(1, 40))
            await asyncio.sleep(0.02)

    async def stream(self, port: int, most: int, query: str = "") -> None:
        """Watch until so many frames have come, or the stream ends."""
        opened = await ask(port, urlencode(self._query(), doseq=True) + query, **self._headers)
        if opened.status != 200:
            opened.cut()
            return
        since = self.history.streams[-1].last_positions() if self.cursor and self.history.streams else None
        stream = Stream(since, since or {}, is_lines=bool(self._headers))
        self.history.streams.append(stream)
        try:
            while len(stream.frames) < most and (frame := await self._next(opened)):
                stream.frames.append(frame)
                if frame.positions is not None:
                    self.cursor = frame.cursor
            stream.ended_politely = opened.ended_politely
        finally:
            opened.cut()
            if since is not None and stream.last_positions() is None:
                # Nothing was learnt: the next one goes on from the same place.
                self.history.streams.remove(stream)

    async def _next(self, opened: Opened) -> Frame | None:
        while not self.is_done:
            try:
                return await opened.frame(0.2)
            except TimeoutError:
                continue
            except AssertionError:
                return None
        return None

    def _query(self) -> dict[str, object]:
        asked = self.asked
        query: dict[str, object] = {"namespace": asked.namespaces, "match": asked.patterns}
        if asked.selector:
            query["labelSelector"] = asked.selector
        if asked.regex is not None:
            query["regex"] = asked.regex
        if self.cursor:
            query["since"] = self.cursor
        return query
