"""Fuzzing over the whole OpenAPI document: whatever fits it, or nearly, a running server answers without a 5xx.

`FUZZ_REQUESTS` is how many requests are sent at least; 100,000 is the nightly size.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterator
from itertools import product
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.schemas import OpenApiSchema

from tests.integration.node import Node
from tests.server.document import DOCUMENT

REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "5000"))
SHARDS = 4
KNOWN = {
    "domain": ("persistent", "non-persistent"),
    "tenant": ("public", "acme"),
    "namespace": ("default", "pay"),
    "topic": ("orders", "parts", "gone"),
    "role": ("reader",),
    "cluster": ("standalone",),
    "subName": ("sub",),
}
"""Names that exist, or might: most requests go to these, for beyond an unknown name nothing is reached."""

SWITCHES = frozenset({"isGlobal", "applied", "authoritative", "force", "all", "includeSystemTopic"})
"""Parameters that are `true` or `false`; any other text is refused before anything else is looked at."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Give a node on a file of its own."""
    directory = tmp_path_factory.mktemp("fuzz")
    node = Node(["--log", str(directory / "log.db")], directory / "node.txt")
    node.start()
    yield node
    node.stop()


def make_what_is_known(server: Node) -> None:
    """Make the tenants, namespaces and topics of `KNOWN` that an earlier request may have ended; `gone` never is."""
    with httpx2.Client(base_url=f"{server.url}/admin/v2") as admin:
        admin.put("/tenants/acme", json={})
        for namespace in product(KNOWN["tenant"], KNOWN["namespace"]):
            admin.put("/namespaces/" + "/".join(namespace))
            for domain in KNOWN["domain"]:
                admin.put("/".join((f"/{domain}", *namespace, "orders")))
                admin.put("/".join((f"/{domain}", *namespace, "parts/partitions")), json=3)


def document_with_names() -> OpenApiSchema:
    """Return the document, with hooks that make most requests such as get past the first look."""
    schema = schemathesis.openapi.from_path(str(DOCUMENT))

    @schema.hook
    def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
        return path_parameters and {name: _known(name, value) for name, value in path_parameters.items()}

    @schema.hook
    def map_headers(context: Any, headers: Any) -> Any:
        return headers if headers is not None and _draw(dict(headers)) % 8 == 0 else {}

    @schema.hook
    def map_query(context: Any, query: dict[str, Any] | None) -> dict[str, Any] | None:
        return query and {name: _switched(name, value) for name, value in query.items()}

    return schema


def _known(name: str, value: Any) -> Any:
    number, names = _draw(value), KNOWN.get(name)
    return names[number % len(names)] if names and number % 8 else value


def _switched(name: str, value: Any) -> Any:
    number = _draw(value)
    return ("true", "false")[number % 2] if name in SWITCHES and number % 8 else value


def _draw(value: Any) -> int:
    """Return a number that follows from `value`, so that a failure can be had again."""
    return zlib.crc32(repr(value).encode("utf-8", "surrogatepass"))


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_request_that_the_document_suggests_makes_the_server_fail(server: Node, shard: int) -> None:
    operations = [found.ok() for found in document_with_names().get_all_operations()][shard::SHARDS]
    examples = math.ceil(REQUESTS / SHARDS / len(operations))
    sent = succeeded = 0
    for operation in operations:
        make_what_is_known(server)

        @settings(max_examples=examples, deadline=None, database=None, phases=(Phase.explicit, Phase.generate),
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(case=operation.as_strategy())
        def fuzz(case: schemathesis.Case) -> None:
            nonlocal sent, succeeded
            sent += 1
            answer = case.call(base_url=server.url, timeout=20)
            assert answer.status_code < 500, f"{case.as_curl_command()}\n{answer.text}"
            succeeded += answer.status_code < 300

        fuzz()
    assert sent >= REQUESTS / SHARDS * 0.9
    assert succeeded >= sent / 10, "the requests reach nothing"
    assert httpx2.get(f"{server.url}/readyz").status_code == 200
