"""The OpenAPI document, made from what is declared of each operation; it shows the first spelling of a path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response

from topicfold import __version__
from topicfold.model.names import DOMAINS
from topicfold.model.permissions import Access, Need
from topicfold.server.answers import JSON_TYPE
from topicfold.server.bodies import MERGE_PATCH_TYPE
from topicfold.server.ownership import may_redirect
from topicfold.server.routes import DOMAIN, TOPICS_DOMAIN, Operation, parameters_of
from topicfold.wire import diagnosis, headers, history, resources
from topicfold.wire.problems import status_of
from topicfold.wire.resources import Problem, Resource

TITLE = "Topicfold"
SUMMARY = "Labels and policies for Kafka topics."
PERMISSION = "x-topicfold-permission"

_SHAPES = [
    shape
    for shape in (vars(resources) | vars(history) | vars(diagnosis)).values()
    if isinstance(shape, type) and issubclass(shape, Resource) and shape not in (Resource, resources.PulsarResource)
]
_REF = "#/components/schemas/{model}"
_UNDER_ROOT = ("/admin/", "/api/")


@dataclass(frozen=True)
class Document:
    """The handler: the document of `described`, made when it is first asked for."""

    described: Sequence[Operation]

    async def get(self, request: Request) -> Response:
        """Answer the document."""
        return Response(self._bytes, media_type=JSON_TYPE)

    @cached_property
    def _bytes(self) -> bytes:
        return orjson.dumps(document_of(self.described))


def operations(described: Sequence[Operation]) -> Sequence[Operation]:
    """Return what can be asked about the API itself, of which `described` is all the rest."""
    return (
        Operation("openapi", "GET", "/openapi.json", Document(described).get, "Read the OpenAPI document",
                  needs=Access.PUBLIC),
    )  # fmt: skip


def document_of(operations: Iterable[Operation]) -> dict[str, Any]:
    """Return the OpenAPI document of `operations`."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = operation.path.replace(DOMAIN, "{domain}")
        paths.setdefault(path, {})[operation.method.lower()] = _description(operation)
    _, shapes = models_json_schema([(shape, "validation") for shape in _SHAPES], ref_template=_REF)
    return {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "summary": SUMMARY, "version": __version__},
        "paths": paths,
        "components": {
            "schemas": shapes["$defs"],
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}, {}],
    }


def _description(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": operation.id,
        PERMISSION: _permission(operation.needs),
    }
    parameters = _parameters(operation)
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        media_types = (MERGE_PATCH_TYPE, JSON_TYPE) if operation.method == "PATCH" else (JSON_TYPE,)
        described["requestBody"] = {"content": {each: {"schema": _schema(operation.body)} for each in media_types}}
    if operation.needs is Access.PUBLIC:
        described["security"] = []
    return described | {"responses": _responses(operation)}


def _permission(needs: Need) -> dict[str, str]:
    if isinstance(needs, Access):
        return {"access": needs.value}
    return {"permission": needs.permission.value, "scope": needs.scope.name.lower()}


def _responses(operation: Operation) -> dict[str, dict[str, Any]]:
    under_admin = operation.path.startswith("/admin/")
    codes: dict[int, list[str]] = {}
    for error in operation.errors:
        status = status_of(error.__new__(error), under_admin)
        if error.code not in codes.setdefault(status, []):
            codes[status].append(error.code)
    problem = {"application/problem+json": {"schema": _schema(Problem)}}
    documented: dict[str, dict[str, Any]] = {
        str(status): {"description": ", ".join(found), "content": problem} for status, found in sorted(codes.items())
    }
    if may_redirect(operation):
        documented["307"] = {
            "description": "Another node answers for the namespace, where the settings say which.",
            "headers": {"Location": {"required": True, "schema": {"type": "string", "format": "uri"}}},
        }
    documented["default"] = {"description": "Any other error.", "content": problem}
    success: dict[str, Any] = {"description": "Done." if operation.answer is None else "The answer."}
    if operation.answer is not None:
        success["content"] = {"application/json": {"schema": _schema(operation.answer)}}
    elif operation.media_types:
        success["content"] = {media_type: {"schema": {"type": "string"}} for media_type in operation.media_types}
    if operation.path.startswith(_UNDER_ROOT):
        success["headers"] = {name: {"schema": {"type": "string"}} for name in _answer_headers(operation)}
    documented[str(operation.status)] = success
    return documented


def _answer_headers(operation: Operation) -> Sequence[str]:
    if operation.method == "GET":
        return (headers.LOG_POSITION, headers.LOG_AGE, headers.REQUEST_ID)
    return (headers.ETAG, headers.LOG_POSITION, headers.OPERATION_ID, headers.REQUEST_ID)


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    parameters = [_path_parameter(name) for name in parameters_of(operation.path)]
    for name, description in operation.query.items():
        text = {"type": "string"}
        schema = {"type": "array", "items": text} if name.endswith("*") else text
        parameters.append({"name": name.rstrip("*"), "in": "query", "description": description, "schema": schema})
    if operation.path.startswith(_UNDER_ROOT):
        for name in _request_headers(operation):
            parameters.append({"name": name, "in": "header", "schema": {"type": "string"}})
    return parameters


def _path_parameter(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if name == "domain":
        schema["enum"] = [*DOMAINS, TOPICS_DOMAIN]
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _request_headers(operation: Operation) -> Sequence[str]:
    common = (headers.MIN_POSITION, headers.REQUEST_ID)
    if operation.method == "GET":
        return (*common, headers.CONSISTENCY)
    return (*common, headers.IDEMPOTENCY_KEY, headers.CHANGE_REASON, headers.IF_MATCH)


def _schema(shape: type[Resource] | Mapping[str, Any]) -> Mapping[str, Any]:
    return {"$ref": _REF.format(model=shape.__name__)} if isinstance(shape, type) else shape
