"""The OpenAPI document that is checked in is the one that is served."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from typing import Any

import pytest

from tests.memory_log import MemoryStore
from tests.server.document import DOCUMENT, as_text, current_document
from tests.server.rest import rest_node
from topicfold.server import document
from topicfold.server.routes import Operation

_SECONDS = 60.0


async def test_the_document_that_is_checked_in_is_the_one_that_is_served() -> None:
    again = "python -m tests.server.document writes it anew"
    assert DOCUMENT.read_text() == as_text(await current_document()), again


async def test_the_document_is_made_once_and_while_the_loop_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    has_gone_on = threading.Event()
    made: list[bool] = []

    def slowly(described: Iterable[Operation]) -> dict[str, Any]:
        made.append(has_gone_on.wait(_SECONDS))
        return {}

    monkeypatch.setattr(document, "document_of", slowly)
    async with rest_node(MemoryStore(1)) as node:
        asking = [asyncio.create_task(node.send("GET", "/openapi.json")) for _ in range(2)]
        await node.send("GET", "/livez")
        has_gone_on.set()
        assert [(await each).json() for each in asking] == [{}, {}]
    assert made == [True]
