"""How an answer ends that is given before its request has been read."""

from __future__ import annotations

import asyncio

import httpx2
import pytest
from starlette.types import Message, Receive, Scope, Send

from tests.server.rest import ORDERS, RestNode


async def test_an_answer_ends_though_the_rest_of_the_body_does_not_come(
    rest: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.server.connections.exchange.LINGER_SECONDS", 0.01)

    async def never() -> Message:
        return await asyncio.Future()

    async def entry(scope: Scope, receive: Receive, send: Send) -> None:
        await rest.app(scope, never, send)

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(entry)) as client:
        answer = await client.put(f"http://127.0.0.1{ORDERS}", content=b"x", headers={"content-encoding": "gzip"})
    assert (answer.status_code, answer.headers["connection"]) == (415, "close")
