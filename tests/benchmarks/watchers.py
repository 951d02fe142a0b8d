"""A process that has watches open by the thousand: raw connections whose lines are kept with the time they came at.

A line is kept as it is and read after a measurement: that takes 3 µs a frame, so it is the server that is measured.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple, cast

_START_SECONDS = 120.0
_AT_ONCE = 200
_LOOK_SECONDS = 0.002
_SMALL_BUFFER = 4_096
_BOOKMARK = b'{"type":"BOOKMARK"'

Came = tuple[float, bytes]
"""When a line was read, and the line."""


class Asked(NamedTuple):
    """A watch to be opened: its query, and whether the client's end of it takes as little as can be."""

    query: str
    is_small: bool = False


class Delivery(NamedTuple):
    """When the first and the last of some frames came, and how many there were."""

    first: float
    last: float
    frames: int


class Watch(asyncio.Protocol):
    """One watch. `frames` are the changes that came after its start."""

    def __init__(self, party: Party, query: str) -> None:
        self._party = party
        self._query = query
        self._rest = b""
        self._is_open = False
        self.frames: list[Came] = []
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        head = f"GET /api/v1/watch?{self._query} HTTP/1.1\r\nHost: 127.0.0.1:{self._party.port}\r\n"
        self.transport.write(f"{head}Accept: application/x-ndjson\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line[:1] != b"{":
                continue
            if line.startswith(_BOOKMARK):
                if not self._is_open:
                    self._is_open = True
                    self._party.opened += 1
            elif self._is_open:
                self.frames.append((now, line))
                self._party.frames += 1

    def connection_lost(self, error: Exception | None) -> None:
        self._party.lost += 1


class Party:
    """The watches of this process, on the server at `port`."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.watches: list[Watch] = []
        self.opened = self.frames = self.lost = 0

    async def open(self, asked: Asked) -> None:
        """Open a watch; it has started once `opened` has counted it."""
        watch = Watch(self, asked.query)
        self.watches.append(watch)
        end = socket.socket()
        end.setblocking(False)
        if asked.is_small:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(end, ("127.0.0.1", self.port))
        await loop.create_connection(lambda: watch, sock=end)

    async def wait(self, holds: Callable[[], bool], seconds: float) -> None:
        """Return once `holds` says so, or the time is over."""
        until = time.perf_counter() + seconds
        while not holds() and time.perf_counter() < until:  # noqa: ASYNC110 -- an event would be set a million times
            await asyncio.sleep(_LOOK_SECONDS)

    async def wait_for_frames(self, frames: int, seconds: float) -> None:
        """Return once so many have come since the last were taken, or the time is over."""
        await self.wait(lambda: self.frames >= frames, seconds)

    def taken(self) -> list[list[Came]]:
        """Return the frames of each watch, and forget them."""
        taken = [watch.frames for watch in self.watches]
        for watch in self.watches:
            watch.frames = []
        self.frames = 0
        return taken


@asynccontextmanager
async def party_on(port: int) -> AsyncIterator[Party]:
    """Give a process without watches yet."""
    yield Party(port)


async def open_watches(party: Party, asked: Sequence[Asked]) -> None:
    """Return once all of these have started."""
    for first in range(0, len(asked), _AT_ONCE):
        await asyncio.gather(*map(party.open, asked[first : first + _AT_ONCE]))
        await party.wait(lambda: party.opened == len(party.watches), _START_SECONDS)
    assert (party.opened, party.lost) == (len(party.watches), 0)


async def close_watches(party: Party) -> None:
    """Return once all are closed."""
    for watch in party.watches:
        watch.transport.abort()
    await party.wait(lambda: party.lost == len(party.watches), _START_SECONDS)
    party.watches = []
    party.opened = party.frames = party.lost = 0


async def delivery_of(party: Party, frames: int, seconds: float = 30.0) -> Delivery:
    """Return when so many frames came, counted from the last call; fewer where they did not come in time."""
    await party.wait_for_frames(frames, seconds)
    times = [when for frames_of_one in party.taken() for when, _ in frames_of_one]
    return Delivery(min(times), max(times), len(times))
