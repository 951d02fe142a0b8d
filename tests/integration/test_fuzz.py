"""Fuzzing over the whole OpenAPI document: whatever fits it, or nearly, a running server answers without a 5xx.

With authentication, nor does it do anything for who was granted nothing. `FUZZ_REQUESTS` is how many requests are sent
at least, a tenth of them with authentication; 100,000 is the nightly size.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.schemas import OpenApiSchema

from tests import plain_http
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

TOKENS = {"root": "t-root", "editor": "t-editor", "stranger": "t-stranger"}
"""Roles, and the tokens they bring: `root` may do everything, `editor` something, `stranger` nothing."""
NOBODY = {"Authorization": "Bearer t-unknown"}

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


@pytest.fixture(scope="module")
def closed_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Give a node of its own that wants to know who asks."""
    directory = tmp_path_factory.mktemp("closed")
    tokens = directory / "tokens"
    tokens.write_text("".join(f"{token} {role}\n" for role, token in TOKENS.items()))
    tokens.chmod(0o600)
    who = ["--auth-static-tokens-file", str(tokens), "--superusers", "root"]
    node = Node(["--log", str(directory / "log.db"), *who], directory / "node.txt")
    node.start()
    yield node
    node.stop()


def as_role(role: str) -> dict[str, str]:
    """Return the header of a request of `role`."""
    return {"Authorization": f"Bearer {TOKENS[role]}"}


def make_what_is_known(server: Node, headers: dict[str, str] | None = None) -> None:
    """Make the tenants, namespaces and topics of `KNOWN` that an earlier request may have ended; `gone` never is."""
    with plain_http.client(base_url=f"{server.url}/admin/v2", headers=headers) as admin:
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
        return {name: _switched(name, value) for name, value in (query or {}).items()} | _bounded(context.operation)

    return schema


def _bounded(operation: Any) -> dict[str, str]:
    """Return what makes a stream end, which would else go on for a day."""
    names = {each.get("name") for each in operation.definition.raw.get("parameters", ())}
    return {"timeoutSeconds": "1"} if "timeoutSeconds" in names else {}


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

        @settings(max_examples=examples, database=None, phases=(Phase.explicit, Phase.generate),
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
    assert plain_http.get(f"{server.url}/readyz").status_code == 200


def answered_by(case: schemathesis.Case) -> set[str]:
    """Return the roles that may have an answer, by what the document says of the operation."""
    access = case.operation.definition.raw["x-topicfold-permission"].get("access")
    strangers = {"public": {"nobody", "stranger"}, "anyone": {"stranger"}}
    return {"root", "editor"} | strangers.get(access, set())


@pytest.mark.slow
def test_nobody_makes_a_closed_server_fail_and_who_was_granted_nothing_gets_nothing(closed_server: Node) -> None:
    operations = [found.ok() for found in document_with_names().get_all_operations()]
    examples = math.ceil(REQUESTS / 10 / len(operations) / (len(TOKENS) + 1))
    succeeded = dict.fromkeys([*TOKENS, "nobody"], 0)
    for operation in operations:
        make_what_is_known(closed_server, as_role("root"))
        for namespace in ("public/default", "acme/pay"):
            grant = f"{closed_server.url}/admin/v2/namespaces/{namespace}/permissions/editor"
            plain_http.post(grant, json=["read-policies", "update-policies", "produce"], headers=as_role("root"))

        @settings(max_examples=examples, database=None, phases=(Phase.explicit, Phase.generate),
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(case=operation.as_strategy())
        def fuzz(case: schemathesis.Case) -> None:
            for role in ("nobody", "stranger", "editor", "root"):
                headers = NOBODY if role == "nobody" else as_role(role)
                answer = case.call(base_url=closed_server.url, timeout=20, headers=headers)
                said = f"{role}: {answer.status_code} {case.as_curl_command()}\n{answer.text}"
                assert answer.status_code < 500, said
                assert answer.status_code >= 300 or role in answered_by(case), said
                succeeded[role] += answer.status_code < 300

        fuzz()
    assert succeeded["root"] > succeeded["editor"] > succeeded["stranger"] > succeeded["nobody"] > 0
    assert plain_http.get(f"{closed_server.url}/readyz").status_code == 200
