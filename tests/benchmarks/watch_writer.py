"""A process that writes labels over one connection and takes the time of each acknowledgement."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple


class Write(NamedTuple):
    """Labels for a topic."""

    topic: str
    labels: Mapping[str, str]


class Written(NamedTuple):
    """When a write was sent, and when its answer was there."""

    sent: float
    answered: float

    @property
    def seconds(self) -> float:
        """How long the answer took."""
        return self.answered - self.sent


class Writer:
    """One connection to a server."""

    def __init__(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._host = f"Host: 127.0.0.1:{port}"
        self._reader = reader
        self._writer = writer

    async def request(self, method: str, path: str, content: object) -> None:
        """Send a request and return once it is answered; what is not 2xx fails the run."""
        body = json.dumps(content).encode()
        head = f"{method} {path} HTTP/1.1\r\n{self._host}\r\nContent-Type: application/json\r\n"
        self._writer.write(b"%bContent-Length: %d\r\n\r\n%b" % (head.encode(), len(body), body))
        answer = await self._reader.readuntil(b"\r\n\r\n")
        _, found, rest = answer.lower().partition(b"content-length:")
        if found:
            await self._reader.readexactly(int(rest.partition(b"\r")[0]))
        if answer[9:10] != b"2":
            raise ConnectionError(f"refused: {answer[:500]!r}")


@asynccontextmanager
async def writer_on(port: int) -> AsyncIterator[Writer]:
    """Give a connection to the server at a loopback port."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Writer(port, reader, writer)
    finally:
        writer.close()


async def make(writer: Writer, writes: Sequence[Write]) -> None:
    """Make topics of the default namespace that bear these labels."""
    for topic, labels in writes:
        await writer.request("PUT", f"/api/v1/topics/public/default/{topic}", {"labels": labels})


async def write(writer: Writer, writes: Sequence[Write], every_seconds: float) -> list[Written]:
    """Set labels, each `every_seconds` after the one before, or late where that is not answered yet."""
    written: list[Written] = []
    due = time.perf_counter()
    for topic, labels in writes:
        due += every_seconds
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        sent = time.perf_counter()
        path = f"/admin/v2/persistent/public/default/{topic}/custom-labels"
        await writer.request("POST", path, {"labels": labels})
        written.append(Written(sent, time.perf_counter()))
    return written
