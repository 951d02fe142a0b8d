"""Clients that watch real nodes over HTTP: cut off at any frame, resumed on any node that runs, judged by the log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from typing import TypeVar
from urllib.parse import urlencode

import httpx2

from tests.guarantees.watch_clients import EVERYWHERE, NAMESPACES
from tests.guarantees.watch_history import Asked, Frame, History, Positions, Stream
from tests.guarantees.watch_world import TOPICS
from tests.integration.node import Node
from tests.server.watching import LINES, Opened, ask
from topicfold.model.events import partition_of

PARTITIONS = 8

T = TypeVar("T")


@dataclass
class HttpClient:
    """One client with a query of its own; `history` is what it received."""

    asked: Asked
    random: Random
    history: History = field(init=False)
    is_done: bool = False
    cursor: str = ""

    def __post_init__(self) -> None:
        self.history = History(self.asked, {each: partition_of(each, PARTITIONS) for each in EVERYWHERE}, PARTITIONS)
        self._headers = self.random.choice(({}, LINES))
        self._since: Positions | None = None

    async def follow(self, nodes: Sequence[Node]) -> None:
        """Watch one node after another, each from where the one before ended, until it is done."""
        while not self.is_done:
            with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                await self.stream(self.random.choice(nodes).port, self.random.randrange(1, 40))
            await asyncio.sleep(0.02)

    async def stream(self, port: int, most: int, query: str = "") -> None:
        """Watch until so many frames have come, or the stream ends."""
        by_header = bool(self.cursor) and not self._headers and self.random.random() < 0.5
        headers = {"last_event_id": self.cursor} if by_header else self._headers
        stream = Stream(self._since if self.cursor else None, await positions_of(port))
        asked = self._query() if by_header else self._query() | ({"since": self.cursor} if self.cursor else {})
        opened = await ask(port, urlencode(asked, doseq=True) + query, **headers)
        self.history.streams.append(stream)
        try:
            if opened.status != HTTPStatus.OK:
                stream.refused = opened.status
                if opened.status == HTTPStatus.GONE:
                    self.cursor = ""
                return
            while len(stream.frames) < most and (frame := await self._next(opened)):
                stream.frames.append(frame)
                if frame.positions is not None:
                    self.cursor, self._since = frame.cursor, frame.positions
            stream.ended_politely = opened.ended_politely
        finally:
            opened.cut()

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
        query: dict[str, object] = {"namespace": asked.texts, "match": asked.patterns}
        if asked.selector:
            query["labelSelector"] = asked.selector
        if asked.regex is not None:
            query["regex"] = asked.regex
        return query


async def positions_of(port: int) -> Positions:
    """Return where the node is, or fails as a connection does."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"GET /readyz?verbose HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        async with asyncio.timeout(60):
            body = (await reader.read()).partition(b"\r\n\r\n")[2]
    finally:
        writer.transport.abort()
    if not body.endswith(b"}"):
        raise ConnectionError("the node went away")
    return {int(number): each["position"] for number, each in json.loads(body)["partitions"].items()}


async def followed(nodes: Sequence[Node], clients: Sequence[HttpClient], meanwhile: Awaitable[T]) -> T:
    """Have `clients` watch nodes as long as `meanwhile` takes, and then the first to the end; return what that did."""
    following = [asyncio.create_task(client.follow(nodes)) for client in clients]
    done = await meanwhile
    for client in clients:
        client.is_done = True
    await asyncio.gather(*following)
    for client in clients:
        client.is_done = False
    await asyncio.gather(*(client.stream(nodes[0].port, 10**6, "&timeoutSeconds=2") for client in clients))
    return done


async def change(client: httpx2.AsyncClient, url: str, random: Random) -> None:
    """Do something, on few names; whether it is refused, or the node is gone, does not matter."""
    namespace, topic = random.choice(NAMESPACES), random.choice(TOPICS)
    path = f"{url}/admin/v2/persistent/{namespace}/{topic}"
    labels = {"labels": {random.choice("kl"): random.choice("vw37")}}
    try:
        match random.choices(range(5), (20, 3, 60, 5, 0.1))[0]:
            case 0:
                await client.put(path)
            case 1:
                await client.delete(path)
            case 2:
                await client.post(f"{path}/custom-labels", json=labels)
            case 3:
                await client.delete(f"{path}/custom-labels", params={"keys": "k"})
            case _:
                await client.delete(f"{url}/admin/v2/namespaces/{namespace}?force=true")
                await client.put(f"{url}/admin/v2/namespaces/{namespace}")
    except httpx2.TransportError:
        pass
