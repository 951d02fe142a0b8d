"""Nodes behind REST, for tests: called in process, or over a real connection for what no HTTP library would send."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import orjson
from uvicorn.server import ServerState

from tests.memory_log import MemoryStore
from tests.runtime.nodes import Node, running
from tests.server.documented import undocumented
from topicfold.clock import wall_clock_ms
from topicfold.model.policy.changes import change_namespace, set_value
from topicfold.runtime.watching.window import SIZE
from topicfold.server.app import Application, create_app
from topicfold.server.connections.connection import Connection
from topicfold.server.run import listen, server_of
from topicfold.settings import Settings

ORDERS = "/admin/v2/persistent/public/default/orders"
LABELS = f"{ORDERS}/custom-labels"
NATIVE = "/api/v1/topics/public/default/orders"


@dataclass
class RestNode:
    """One node and its REST API."""

    node: Node
    client: httpx2.AsyncClient
    settings: Settings
    app: Application

    async def send(self, method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        """Send one request; `headers` are written with `_` for `-`. A `bytes` body goes as it stands.

        The OpenAPI document must say all of the answer.
        """
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
        if content is not None:
            named.setdefault("content-type", "application/json")
        raw_headers = [(name.encode(), value.encode()) for name, value in named.items()]
        answer = await self.client.request(method, path, content=content, headers=raw_headers)
        missing = undocumented(self.app, method, answer)
        assert not missing, missing
        return answer

    async def get(self, path: str, **headers: str) -> Any:
        """Return the JSON of an answer that must be 200."""
        answer = await self.send("GET", path, **headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def done(self, method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        """Make a change that must succeed."""
        answer = await self.send(method, path, body, **headers)
        assert answer.status_code in (201, 204), answer.text
        return answer

    async def problem(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
        """Return status and code of an answer that must be a whole problem document."""
        answer = await self.send(method, path, body, **headers)
        return problem_in(answer.status_code, answer.headers, answer.content)


@asynccontextmanager
async def rest_node(
    store: MemoryStore,
    first_id: int = 0,
    *,
    window_size: int = SIZE,
    clock_ms: Callable[[], int] = wall_clock_ms,
    **settings: Any,
) -> AsyncIterator[RestNode]:
    """Run a ready node over `store` behind REST."""
    told = Settings(port=0, **settings)
    options: dict[str, Any] = {"label_rules": told.label_rules, "limits": told.policy_limits, "snapshot": told.snapshot}
    options |= {"window_size": window_size, "clock_ms": clock_ms, "past_max_events": told.past_max_events}
    async with running(store, first_id, **options) as node:
        app = create_app(node.engine, told)
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield RestNode(node, client, told, app)


@asynccontextmanager
async def listening(rest: RestNode) -> AsyncIterator[int]:
    """Serve `rest` on a real socket meanwhile, with the connections of the product; gives its port."""
    config = server_of(rest.node.engine, rest.settings).config
    config.load()
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(config=config, server_state=state, app_state={}),
        sock=listen(rest.settings),
        ssl=config.ssl,
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for each in list(state.connections):
            each.transport.abort()
        await server.wait_closed()
        await asyncio.gather(*state.tasks)


async def raw(port: int, request: bytes, *, then_wait: bool = False) -> tuple[int, Mapping[str, str], bytes]:
    """Send bytes over a connection of their own; return status, headers and body of the first answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        async with asyncio.timeout(60):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            status, *lines = head.rstrip().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            if then_wait:
                await reader.read()
        return int(status.split()[1]), headers, body
    finally:
        writer.close()


def problem_in(status: int, headers: Mapping[str, str], content: bytes) -> tuple[int, str]:
    """Return status and code, after seeing that the answer is a whole problem document."""
    assert headers["content-type"] == "application/problem+json", content
    problem = orjson.loads(content)
    assert problem["status"] == status
    assert problem["reason"] == problem["detail"] != ""
    assert problem["type"] == "urn:topicfold:problem:" + problem["code"]
    assert problem["title"]
    assert "hint" in problem
    assert problem["requestId"]
    return status, problem["code"]


async def say_of_namespace(rest: RestNode, policy: str, value: Any) -> None:
    """Set a policy of the namespace."""
    update = change_namespace("public/default", set_value(policy, value))
    await rest.node.writing.change_namespace("public/default", update, rest.node.asked())
