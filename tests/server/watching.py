"""Streams over a real connection: each frame as it comes, and how the stream ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tests.guarantees.watch_history import Frame, parsed

SECONDS = 60.0
LINES = {"accept": "application/x-ndjson"}


class Opened:
    """One answer that goes on."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        status: int,
        headers: Mapping[str, str],
    ) -> None:
        self.status = status
        self.headers = headers
        self.received = b""
        self.ended_politely = False
        self._reader = reader
        self._writer = writer
        self._frames: list[Frame] = []
        self._rest = b""

    async def frame(self, seconds: float = SECONDS) -> Frame:
        """Return the next frame; fail where the stream ends or none comes in time."""
        async with asyncio.timeout(seconds):
            while not self._frames:
                assert await self._read(), f"the stream ended after {self.received!r}"
        return self._frames.pop(0)

    async def frames(self, number: int) -> list[Frame]:
        """Return the next so many frames."""
        return [await self.frame() for _ in range(number)]

    async def rest(self, seconds: float = SECONDS) -> list[Frame]:
        """Return all frames until the stream ends."""
        async with asyncio.timeout(seconds):
            while await self._read():
                pass
        return self._frames

    async def until(self, text: bytes, seconds: float = SECONDS) -> None:
        """Return once `text` was received."""
        async with asyncio.timeout(seconds):
            while text not in self.received:
                assert await self._read(), f"the stream ended after {self.received!r}"

    async def problem(self) -> Any:
        """Return the problem document that the answer is."""
        async with asyncio.timeout(SECONDS):
            return json.loads(await self._reader.readexactly(int(self.headers["content-length"])))

    def cut(self) -> None:
        """Cut the connection."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()

    async def _read(self) -> bool:
        try:
            size = int(await self._reader.readuntil(b"\r\n"), 16)
            data = await self._reader.readexactly(size + 2)
        except (asyncio.IncompleteReadError, ConnectionError):
            return False
        if not size:
            self.ended_politely = True
            return False
        self.received += data[:-2]
        frames, self._rest = parsed(self._rest + data[:-2])
        self._frames += frames
        return True


@asynccontextmanager
async def opened(port: int, query: str = "", **headers: str) -> AsyncIterator[Opened]:
    """Ask for a watch with this query; `headers` are written with `_` for `-`."""
    stream = await ask(port, query, **headers)
    try:
        yield stream
    finally:
        stream.cut()


async def ask(port: int, query: str = "", **headers: str) -> Opened:
    """Return an answer to be cut by the caller."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join((f"GET /api/v1/watch?{query} HTTP/1.1", "host: localhost", *lines, "", ""))
    writer.write(head.encode())
    try:
        async with asyncio.timeout(SECONDS):
            status, *answered = (await reader.readuntil(b"\r\n\r\n")).decode().rstrip().split("\r\n")
    except BaseException:
        writer.transport.abort()
        raise
    named = {name.lower(): value for name, _, value in (line.partition(": ") for line in answered)}
    return Opened(reader, writer, int(status.split()[1]), named)
