"""Connections that never become a request."""

from __future__ import annotations

import asyncio

import pytest

from tests.server.rest import NATIVE, RestNode, listening
from topicfold.server import connection


async def closed_after(port: int, sent: bytes) -> bool:
    """Return whether the server closes a connection that sends this and nothing more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    try:
        async with asyncio.timeout(2):
            return await reader.read() == b""
    except ConnectionResetError:
        return True
    finally:
        writer.close()


@pytest.mark.parametrize("sent", [b"", b"GET /livez HTTP/1.1\r\nHost: loc"])
async def test_a_head_that_does_not_arrive_closes_the_connection(
    orders: RestNode, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.05)
    async with listening(orders) as port:
        assert await closed_after(port, sent)


async def test_a_head_without_an_end_closes_the_connection(port: int) -> None:
    assert await closed_after(port, b"GET /livez HTTP/1.1\r\n" + b"X-A: b\r\n" * 400_000)


async def test_requests_follow_each_other_on_one_connection(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    request = f"GET {NATIVE} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    writer.write(request * 3)
    for _ in range(3):
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK")
        length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length"))
        await reader.readexactly(int(length.partition(b": ")[2]))
    writer.close()
