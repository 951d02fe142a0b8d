"""An answer that goes on: bytes written straight to the connection, whoever has them, whenever there are any.

A response through the application costs a task's turn for each part of it, for each client. What thousands of
clients are sent is written to their connections in one go instead; HTTP sees the chunks of one body.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from starlette.types import Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl

_KEY = "topicfold.line"


class Line:
    """One connection, for as long as it lasts: what an answer that goes on is written to."""

    def __init__(self, transport: asyncio.Transport, flow: FlowControl) -> None:
        self._transport = transport
        self._flow = flow
        self._on_lost: Callable[[], None] | None = None
        self._is_lost = False

    @property
    def is_lost(self) -> bool:
        """Whether the client is gone."""
        return self._is_lost

    @property
    def is_full(self) -> bool:
        """Whether 64 KiB wait for the client to read."""
        return self._flow.write_paused

    def write(self, data: bytes) -> None:
        """Send one part of the body; nothing is sent to a client that is gone, and nothing for no bytes."""
        if data and not self._transport.is_closing():
            self._transport.write(b"%x\r\n%b\r\n" % (len(data), data))

    async def drained(self) -> None:
        """Return once the client has read most of what waits, or is gone."""
        await self._flow.drain()

    def abort(self) -> None:
        """Close the connection at once, whatever was not read."""
        self._transport.abort()

    def watch(self, on_lost: Callable[[], None] | None) -> None:
        """Call `on_lost` once the client is gone, now if it is; None for nobody."""
        self._on_lost = on_lost
        if self._is_lost and on_lost is not None:
            on_lost()

    def lost(self) -> None:
        """Tell who writes that the client is gone."""
        self._is_lost = True
        self._flow.resume_writing()
        if self._on_lost is not None:
            self._on_lost()


def note_line(scope: Scope, line: Line) -> None:
    """Let a request know its connection."""
    scope[_KEY] = line


def line_of(scope: Scope) -> Line:
    """Return the connection of a request."""
    line: Line = scope[_KEY]
    return line


def is_client_gone(scope: Scope) -> bool:
    """Return whether the client of a request is gone, as far as its connection tells."""
    line: Line | None = scope.get(_KEY)
    return line is not None and line.is_lost


async def client_has_read(scope: Scope) -> None:
    """Return once the client of a request has read most of what was sent to it, or is gone."""
    line: Line | None = scope.get(_KEY)
    if line is not None:
        await line.drained()


async def open_body(send: Send, headers: Mapping[str, str]) -> None:
    """Begin a successful answer, whose head is sent with the first part of its body."""
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": 200, "headers": encoded})


async def open_line(send: Send, headers: Mapping[str, str]) -> None:
    """Begin a successful answer, whose body is then written to the line: its head is sent at once."""
    await open_body(send, headers)
    await send({"type": "http.response.body", "body": b"", "more_body": True})


async def close_body(send: Send) -> None:
    """End the answer."""
    await send({"type": "http.response.body", "body": b""})
