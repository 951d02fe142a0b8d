"""The document leaves nothing out of what is declared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.nodes import running
from topicfold.server.app import Application, create_app
from topicfold.server.document import document_of
from topicfold.settings import Settings
from topicfold.wire.problems import error_classes, status_of

CLASSES = list(error_classes())
SAID_BY_THE_PATH_OR_THE_QUERY = {
    "setNamespaceDispatcherPauseOnAckStatePersistent",
    "setNamespaceProperty",
    "setTopicDispatcherPauseOnAckStatePersistentEnabled",
    "setTopicMessageTTLInSeconds",
    "setTopicSubscriptionExpirationTimeInMinutes",
}
PROBLEM = {"$ref": "#/components/schemas/Problem"}


@pytest.fixture
async def app() -> Application:
    async with running(MemoryStore(partitions=1)) as node:
        return create_app(node.engine, Settings())


def document(app: Application) -> dict[str, Any]:
    """Return the document of all that the app answers."""
    return document_of([route.operation for route in app.table.routes])


def operations(app: Application) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield path, method and description of everything the document shows."""
    for path, methods in document(app)["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def references(value: Any) -> Iterator[str]:
    """Yield every `$ref` inside a document."""
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


async def test_no_two_operations_share_an_id(app: Application) -> None:
    ids = Counter(operation["operationId"] for _, _, operation in operations(app))
    assert [each for each, count in ids.items() if count > 1] == []


async def test_every_operation_documents_its_answer_and_its_errors(app: Application) -> None:
    for path, method, operation in operations(app):
        responses = operation["responses"]
        assert any(status.startswith("2") for status in responses), (path, method)
        problems = {status: response for status, response in responses.items() if status[0] not in "23"}
        assert "default" in problems
        for response in problems.values():
            assert response["content"]["application/problem+json"]["schema"] == PROBLEM, (path, method)
        if path.startswith(("/admin/", "/api/")):
            assert {"401", "403", "503", "504"} < set(problems), (path, method)


async def test_every_parameter_in_a_path_is_described(app: Application) -> None:
    for path, _, operation in operations(app):
        described = {each["name"] for each in operation.get("parameters", ()) if each.get("in") == "path"}
        assert described == {part[1:-1] for part in path.split("/") if part.startswith("{")}


async def test_every_change_with_a_body_describes_it(app: Application) -> None:
    without = {operation["operationId"] for _, method, operation in operations(app) if "requestBody" not in operation}
    changes = {operation["operationId"] for _, method, operation in operations(app) if method in ("put", "post")}
    assert without & changes == SAID_BY_THE_PATH_OR_THE_QUERY


async def test_every_reference_in_the_document_leads_somewhere(app: Application) -> None:
    described = document(app)
    known = {f"#/components/{kind}/{name}" for kind, parts in described["components"].items() for name in parts}
    assert set(references(described)) <= known


async def test_every_error_is_documented_under_the_status_it_has(app: Application) -> None:
    for path, _, operation in operations(app):
        for status, response in operation["responses"].items():
            if status.startswith(("4", "5")):
                under_admin = path.startswith("/admin/")
                has = {each.code for each in CLASSES if status_of(each.__new__(each), under_admin) == int(status)}
                has.add(HTTPStatus(int(status)).name.lower())
                assert set(response["description"].split(", ")) <= has, (path, status)
