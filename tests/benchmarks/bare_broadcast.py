"""The bare broadcast that ours is measured against: a uvloop server that writes the same bytes to all connections.

No HTTP but its bytes, no state, no commit: the least that a single process can do for each of them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from tests.benchmarks.machine import resident_bytes

_OPENING = b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n14\r\n{"type":"BOOKMARK"}\n\r\n'


class Broadcast:
    """The server's connections, and the port it is at."""

    def __init__(self) -> None:
        self.lines: set[asyncio.Transport] = set()
        self.port = 0


class _Line(asyncio.Protocol):
    def __init__(self, broadcast: Broadcast) -> None:
        self._broadcast = broadcast
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        assert self._transport
        self._broadcast.lines.add(self._transport)
        self._transport.write(_OPENING)

    def connection_lost(self, error: Exception | None) -> None:
        if self._transport:
            self._broadcast.lines.discard(self._transport)


@asynccontextmanager
async def broadcasting() -> AsyncIterator[Broadcast]:
    """Give a server that answers every request with a stream that has begun."""
    broadcast = Broadcast()
    server = await asyncio.get_running_loop().create_server(lambda: _Line(broadcast), "127.0.0.1", 0, backlog=2_048)
    broadcast.port = server.sockets[0].getsockname()[1]
    try:
        yield broadcast
    finally:
        server.close()


async def port_of(broadcast: Broadcast) -> int:
    """Return where the server is."""
    return broadcast.port


async def broadcast_to_all(broadcast: Broadcast, size: int) -> float:
    """Write a line of `size` bytes to every connection; return when that began."""
    line = b'{"type":"ADDED"%b}\n' % (b" " * max(0, size - 17))
    started = time.perf_counter()
    chunk = b"%x\r\n%b\r\n" % (len(line), line)
    for transport in broadcast.lines:
        transport.write(chunk)
    return started


async def bare_bytes(_: Broadcast) -> int:
    """Return how much memory the server's process holds."""
    return resident_bytes()
