"""Every request that there is, and what the application answers to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from starlette.types import Message

from topicfold.model.names import DOMAINS, PERSISTENT
from topicfold.server.app import Application
from topicfold.server.routes import TOPICS_DOMAIN, Operation

PARAMETERS = {"tenant": "acme", "namespace": "pay", "topic": "orders", "role": "somebody", "cluster": "standalone"}


@dataclass(frozen=True)
class Cell:
    """One request: an operation, in one spelling, about one domain."""

    operation: Operation
    path: str
    query: str
    domain: str

    @property
    def is_about_all_clusters(self) -> bool:
        """Whether it would change what holds on all clusters."""
        return "lobal=" in self.query and self.operation.method != "GET"


def cells(app: Application) -> Iterator[Cell]:
    """Yield every request that there is, up to names."""
    for route in app.table.routes:
        operation = route.operation
        domains = (*DOMAINS, TOPICS_DOMAIN) if "{domain}" in route.path_format else (PERSISTENT,)
        for domain in domains:
            path = route.path_format.format_map(_Filled(domain=domain, **PARAMETERS))
            queries = ["namespace=acme/pay"] if "namespace*" in operation.query else [""]
            if "isGlobal" in operation.query:
                queries += ["isGlobal=true", "is%47lobal=true", "isGlobal=maybe"]
            for query in queries:
                yield Cell(operation, path, query, domain)
            if "domain" in operation.query:
                yield Cell(operation, path, "domain=non-persistent", "non-persistent")


class _Filled(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return f"some-{key}"


async def answer_to(
    app: Application, cell: Cell, token: str, more: Sequence[tuple[bytes, bytes]] = (), body: bytes = b""
) -> tuple[int, bytes]:
    """Return status and body of a cell's answer to whoever brings `token`, "" for nobody, and `more` headers."""
    headers = [(b"host", b"localhost"), *([(b"authorization", token.encode())] if token else []), *more]
    scope = {
        "type": "http", "method": cell.operation.method, "path": cell.path, "raw_path": cell.path.encode(),
        "query_string": cell.query.encode(), "headers": headers,
    }  # fmt: skip
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return int(sent[0]["status"]), sent[1]["body"]
