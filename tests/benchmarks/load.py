"""The load generator: keep-alive HTTP/1.1 connections on raw sockets, each with one request outstanding.

Runs in a worker's process of its own and takes about 18 µs a request, a quarter of a core where the server's cheapest
route is at its ceiling; `rest_reads` states how busy it was.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

from tests.benchmarks.report import percentile

CLIENT = "CLIENT"
NUMBER = "NUMBER"
_ANSWER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Flow:
    """Requests that `connections` clients repeat, each as soon as it has its answer, or every `every_seconds`.

    In path and body `CLIENT` stands for the number of the connection and `NUMBER` for that of the request.
    """

    method: str
    path: str
    body: str = ""
    connections: int = 8
    every_seconds: float = 0.0
    token: str = ""


@dataclass(frozen=True, slots=True)
class Flowed:
    """What a flow came to."""

    per_second: float
    p50_seconds: float


@dataclass(frozen=True, slots=True)
class Load:
    """Where the requests go."""

    host: str
    port: int


@asynccontextmanager
async def load_on(port: int) -> AsyncIterator[Load]:
    """Give a load generator for the server on a loopback port."""
    yield Load("127.0.0.1", port)


async def drive(load: Load, seconds: float, *flows: Flow) -> list[Flowed]:
    """Run all flows at once for so long; return what came of each. An answer that is not 2xx fails the run."""
    until = time.perf_counter() + seconds
    parties = [[_Client(_requests(load, flow, client), until, flow.every_seconds) for client in range(flow.connections)]
               for flow in flows]  # fmt: skip
    loop = asyncio.get_running_loop()
    for party in parties:
        for client in party:
            await loop.create_connection(lambda client=client: client, load.host, load.port)  # type: ignore[misc]
    async with asyncio.timeout_at(loop.time() + seconds + _ANSWER_SECONDS):
        for party in parties:
            for client in party:
                await client.done
    return [_flowed(party, seconds) for party in parties]


async def busy_share(load: Load, seconds: float, flow: Flow) -> float:
    """Return which share of one core this process uses while it runs `flow`."""
    used = time.process_time()
    await drive(load, seconds, flow)
    return (time.process_time() - used) / seconds


class _Client(asyncio.Protocol):
    """One connection."""

    def __init__(self, next_request: Callable[[], bytes], until: float, every_seconds: float) -> None:
        self._next_request = next_request
        self._until = until
        self._every_seconds = every_seconds
        self._loop = asyncio.get_running_loop()
        self._buffer = b""
        self._sent = 0.0
        self._transport: asyncio.Transport | None = None
        self.taken: list[float] = []
        self.done = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer = self._buffer + data if self._buffer else data
        end = buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        at = buffer.lower().find(b"content-length:", 0, end)
        length = int(buffer[at + 15 : buffer.index(b"\r", at)]) if at >= 0 else 0
        if len(buffer) < end + 4 + length:
            return
        now = time.perf_counter()
        self._buffer = b""
        if buffer[9:10] != b"2":
            self.done.set_exception(ConnectionError(f"refused: {buffer[:500]!r}"))
            return
        if now >= self._until:
            self._finish()
            return
        self.taken.append(now - self._sent)
        if self._every_seconds:
            self._loop.call_later(max(0.0, self._sent + self._every_seconds - now), self._send)
        else:
            self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed the connection"))

    def _send(self) -> None:
        assert self._transport
        self._sent = time.perf_counter()
        self._transport.write(self._next_request())

    def _finish(self) -> None:
        assert self._transport
        self.done.set_result(None)
        self._transport.close()


def _requests(load: Load, flow: Flow, client: int) -> Callable[[], bytes]:
    path, body = flow.path.replace(CLIENT, str(client)), flow.body.replace(CLIENT, str(client))
    number = 0

    def request() -> bytes:
        nonlocal number
        number += 1
        return _request(load, flow, path.replace(NUMBER, str(number)), body.replace(NUMBER, str(number)))

    if NUMBER in path + body:
        return request
    always = _request(load, flow, path, body)
    return lambda: always


def _request(load: Load, flow: Flow, path: str, body: str) -> bytes:
    about_body = f"Content-Type: application/json\r\nContent-Length: {len(body.encode())}\r\n" if body else ""
    who = f"Authorization: Bearer {flow.token}\r\n" if flow.token else ""
    return f"{flow.method} {path} HTTP/1.1\r\nHost: {load.host}:{load.port}\r\n{who}{about_body}\r\n{body}".encode()


def _flowed(party: Sequence[_Client], seconds: float) -> Flowed:
    taken = [each for client in party for each in client.taken]
    return Flowed(len(taken) / seconds, percentile(taken, 50))
