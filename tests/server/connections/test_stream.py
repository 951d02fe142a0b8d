"""A connection that an answer goes on over."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.flow_control import FlowControl

from topicfold.server.connections.stream import Line


class Transport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True


def line() -> tuple[Line, Transport, FlowControl]:
    """Return a connection, what is beneath it, and what says whether it is full."""
    transport = Transport()
    flow = FlowControl(transport)
    return Line(transport, flow), transport, flow


async def test_what_is_written_is_one_chunk_and_nothing_is_none() -> None:
    made, transport, _ = line()
    made.write(b"0123456789abcdefg")
    made.write(b"")
    assert transport.written == b"11\r\n0123456789abcdefg\r\n"


async def test_nothing_is_written_to_who_is_gone() -> None:
    made, transport, _ = line()
    made.abort()
    made.write(b"x")
    assert (transport.is_aborted, transport.written) == (True, b"")


async def test_who_waits_for_the_client_to_read_is_told_when_it_is_gone() -> None:
    made, _, flow = line()
    flow.pause_writing()
    assert made.is_full
    waiting = asyncio.create_task(made.drained())
    await asyncio.sleep(0)
    assert not waiting.done()
    made.lost()
    await asyncio.wait_for(waiting, 60)


async def test_who_asks_late_is_told_at_once_that_the_client_is_gone() -> None:
    made, _, _ = line()
    calls: list[str] = []
    made.watch(lambda: calls.append("before"))
    made.lost()
    made.watch(lambda: calls.append("after"))
    made.watch(None)
    assert calls == ["before", "after"]
