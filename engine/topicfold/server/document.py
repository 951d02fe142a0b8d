"""The OpenAPI document, made from what is declared of each operation; it shows the first spelling of a path."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import orjson
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response

from topicfold import __version__
from topicfold.model.permissions import Access, Need
from topicfold.server.answers import JSON_TYPE
from topicfold.server.bodies import MERGE_PATCH_TYPE
from topicfold.server.ownership import ANSWERED_HERE, may_redirect
from topicfold.server.parameters import Parameter
from topicfold.server.paths import DOMAIN_IN_QUERY
from topicfold.server.refused_at import BY_STATE, PLACED
from topicfold.server.routes import DOMAIN, Operation, parameters_of
from topicfold.server.shapes import REF, ShapesOfModels, tidied
from topicfold.wire import diagnosis, headers, history, resources
from topicfold.wire.problems import status_of
from topicfold.wire.resources import Problem, Resource

TITLE = "Topicfold"
SUMMARY = "Labels and policies for Kafka topics."
PERMISSION = "x-topicfold-permission"

_ABOUT = (
    "Errors are problem documents (RFC 9457). Every GET except a watch also takes HEAD. "
    "A 200 without a body means that a policy is not set."
)
_GROUPS = {
    "node": "State of a node.",
    "native": "Topics and namespaces: find, change and watch them; their past, and that of tenants.",
    "tenants": "Tenants, with Pulsar's API.",
    "namespaces": "Namespaces, with Pulsar's API.",
    "topics": "Topics, with Pulsar's API.",
    "clusters": "Clusters, with Pulsar's API.",
    "brokers": "Settings that a Pulsar broker would report.",
}
"""Of operations, with what each is about."""
_SHAPES = [
    shape
    for shape in (vars(resources) | vars(history) | vars(diagnosis)).values()
    if isinstance(shape, type) and issubclass(shape, Resource) and shape not in (Resource, resources.PulsarResource)
]
_UNDER_ROOT = ("/admin/", "/api/")
_OF_BODIES = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
_ALLOW = "Allow"

_ASKED = {
    headers.MIN_POSITION: "Answer only from a state at least as new as this `X-Log-Position` of an earlier answer.",
    headers.REQUEST_ID: "The request's ID in logs and problem documents; 1 to 128 visible ASCII characters.",
    headers.CONSISTENCY: f"`{headers.LINEARIZABLE}`: append a barrier to the log, and answer once it has been folded.",
    headers.IDEMPOTENCY_KEY: "However often the change is sent with the same key, it takes effect once; up to "
    f"{headers.MAX_IDEMPOTENCY_KEY_LENGTH} characters.",
    headers.CHANGE_REASON: "The reason for the change, for the history; percent-encoded UTF-8, up to "
    f"{headers.MAX_CHANGE_REASON_LENGTH} characters.",
    headers.IF_NONE_MATCH: "Answer 304 if the current version has this ETag. For a change, only `*`: make it only if "
    "the record does not exist; otherwise 412.",
    headers.IF_MATCH: "Change the record only if its current version has this ETag; otherwise 412.",
}
_SAID = {
    headers.REQUEST_ID: "The request's ID in logs and problem documents.",
    headers.ETAG: "The version of the record that was read, or that the change produced.",
    headers.LOG_POSITION: "The position in the log of the answer or of the change; send it as `X-Min-Position`.",
    headers.LOG_AGE: "How old the answer may be, in seconds.",
    headers.OPERATION_ID: "The ID of the change; `GET /api/v1/operations/{id}` tells its outcome.",
    headers.DELETED_KAFKA_TOPIC: "The Kafka topic that was deleted too, with all its messages, if any was.",
    headers.TAKEN_KAFKA_TOPIC: "The Kafka topic that was there before and was taken over as it is, if one was.",
    headers.RETRY_AFTER: "Seconds to wait before retrying.",
    headers.AUTHENTICATE: "How to authenticate.",
    headers.QUERY: "How the query was understood, as JSON.",
    headers.PROPERTIES: "The properties that the listing took into account, as JSON, if it uses any.",
    _ALLOW: "The methods that this path supports.",
    "Cache-Control": "Tells caches to store nothing.",
    "X-Accel-Buffering": "Tells a proxy not to buffer the stream.",
}


@dataclass(slots=True)
class Document:
    """The handler: the document of `described`, made when it is first asked for, beside the loop that it would hold."""

    described: Sequence[Operation]
    _bytes: bytes = b""
    _making: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def get(self, request: Request) -> Response:
        """Answer the document."""
        async with self._making:
            self._bytes = self._bytes or await asyncio.to_thread(self._made)
        return Response(self._bytes, media_type=JSON_TYPE)

    def _made(self) -> bytes:
        return orjson.dumps(document_of(self.described))


def operations(described: Sequence[Operation]) -> Sequence[Operation]:
    """Return what can be asked about the API itself, of which `described` is all the rest."""
    return (
        Operation("openapi", "GET", "/openapi.json", Document(described).get, "Read the OpenAPI document",
                  answer={"type": "object"}, needs=Access.PUBLIC),
    )  # fmt: skip


def document_of(operations: Iterable[Operation]) -> dict[str, Any]:
    """Return the OpenAPI document of `operations`."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = operation.path.replace(DOMAIN, "{domain}")
        paths.setdefault(path, {})[operation.method.lower()] = _description(operation)
    _, shapes = models_json_schema(
        [(shape, "validation") for shape in _SHAPES], ref_template=REF, schema_generator=ShapesOfModels
    )
    named, paths = tidied(shapes["$defs"], paths)
    return {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "summary": SUMMARY, "description": _ABOUT, "version": __version__},
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": text} for name, text in _GROUPS.items()],
        "paths": paths,
        "components": {
            "schemas": named,
            "headers": {name: _described(text) for name, text in _SAID.items()},
            "parameters": {name: {"name": name, "in": "header"} | _described(text) for name, text in _ASKED.items()},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}, {}],
    }


def _described(text: str) -> dict[str, Any]:
    return {"description": text, "schema": {"type": "string"}}


def _description(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": operation.id,
        "tags": [_group(operation.path)],
        PERMISSION: _permission(operation.needs),
    }
    parameters = _parameters(operation)
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        media_types = (MERGE_PATCH_TYPE, JSON_TYPE) if operation.method == "PATCH" else (JSON_TYPE,)
        bodies = {**dict.fromkeys(media_types, operation.body), **operation.other_bodies}
        absent = operation.without_body
        said = {"description": f"Without a body, {absent}."} if absent else {"required": True}
        described["requestBody"] = said | {
            "content": {name: {"schema": _schema(each)} for name, each in bodies.items()}
        }
    if operation.needs is Access.PUBLIC:
        described["security"] = []
    return described | {"responses": _responses(operation)}


def _group(path: str) -> str:
    """Return which of `_GROUPS` a path is in: generators make one class of each."""
    match path.split("/"):
        case ["", "admin", "v2", kind, *_]:
            return "topics" if kind == DOMAIN else kind
        case ["", "api", *_]:
            return "native"
        case _:
            return "node"


def _permission(needs: Need) -> dict[str, str]:
    if isinstance(needs, Access):
        return {"access": needs.value}
    return {"permission": needs.permission.value, "scope": needs.scope.name.lower()}


def _responses(operation: Operation) -> dict[str, dict[str, Any]]:
    documented = _refusals(operation)
    if may_redirect(operation):
        documented["307"] = {
            "description": "Another node serves this namespace, according to the server's settings.",
            "headers": _headers(headers.REQUEST_ID)
            | {"Location": {"required": True, "schema": {"type": "string", "format": "uri"}}},
        }
    answered = _headers(headers.REQUEST_ID, *_answer_headers(operation))
    content = _content(operation)
    success: dict[str, Any] = {"description": "The answer." if content else "Done.", "headers": answered}
    if content:
        success["content"] = content
    documented[str(operation.status)] = success
    for status, why in operation.empty.items():
        empty = documented.setdefault(str(status), {"description": "", "headers": answered})
        empty["description"] = f"{empty['description']} No body: {why}".strip()
    if operation.unwell is not None:
        documented[str(operation.unwell)]["content"] |= {JSON_TYPE: content[JSON_TYPE]}
    return documented


def _refusals(operation: Operation) -> dict[str, dict[str, Any]]:
    """Return the problems that an operation may be answered with, by status."""
    under_admin = operation.path.startswith("/admin/")
    codes: dict[int, list[str]] = {}
    by_state: set[int] = set()
    for error in operation.errors:
        status = status_of(error.__new__(error), under_admin)
        if error.code not in codes.setdefault(status, []):
            codes[status].append(error.code)
        if issubclass(error, BY_STATE) and PLACED & {*parameters_of(operation.path)}:
            by_state.add(status)
    if operation.body is not None:
        codes |= {each.value: [each.name.lower()] for each in _OF_BODIES}
    problem = {headers.PROBLEM_TYPE: {"schema": _schema(Problem)}}
    documented: dict[str, dict[str, Any]] = {}
    for status, found in sorted(codes.items()):
        said = _refusal_headers(status) | _headers(*(_log_headers(operation) if status in by_state else ()))
        documented[str(status)] = {"description": ", ".join(found), "headers": said, "content": problem}
    any_other = _headers(headers.REQUEST_ID, headers.RETRY_AFTER, headers.AUTHENTICATE, _ALLOW)
    documented["default"] = {"description": "Any other error.", "headers": any_other, "content": dict(problem)}
    return documented


def _content(operation: Operation) -> dict[str, Any]:
    content = {media_type: {"schema": {"type": "string"}} for media_type in operation.media_types}
    if operation.answer is None:
        return content
    return {JSON_TYPE: {"schema": _schema(operation.answer)}} | content


def _answer_headers(operation: Operation) -> Sequence[str]:
    if not operation.path.startswith(_UNDER_ROOT):
        return ()
    settles = () if operation.method == "GET" else (headers.OPERATION_ID,)
    return (headers.ETAG, *_log_headers(operation), *settles, *operation.headers)


def _log_headers(operation: Operation) -> Sequence[str]:
    return (headers.LOG_POSITION, headers.LOG_AGE) if operation.method == "GET" else (headers.LOG_POSITION,)


def _refusal_headers(status: int) -> dict[str, Any]:
    also = {HTTPStatus.UNAUTHORIZED: (headers.AUTHENTICATE,), HTTPStatus.SERVICE_UNAVAILABLE: (headers.RETRY_AFTER,)}
    return _headers(headers.REQUEST_ID, *also.get(HTTPStatus(status), ()))


def _headers(*names: str) -> dict[str, Any]:
    """Return what answers say in headers; none has to be there."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    parameters = [_path_parameter(name) for name in parameters_of(operation.path)]
    query = {**operation.query, **(ANSWERED_HERE.declared if may_redirect(operation) else {})}
    for name, said in query.items():
        if isinstance(said, Parameter):
            description, schema = said.description, said.schema
        else:
            text = {"type": "string"}
            description, schema = said, {"type": "array", "items": text} if name.endswith("*") else text
        parameters.append({"name": name.rstrip("*"), "in": "query", "description": description, "schema": schema})
    if operation.path.startswith(_UNDER_ROOT):
        parameters += [{"$ref": f"#/components/parameters/{name}"} for name in _request_headers(operation)]
    return parameters


def _path_parameter(name: str) -> dict[str, Any]:
    schema = DOMAIN_IN_QUERY.values_schema if name == DOMAIN_IN_QUERY.name else {"type": "string"}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _request_headers(operation: Operation) -> Sequence[str]:
    common = (headers.MIN_POSITION, headers.REQUEST_ID)
    if operation.method == "GET":
        known = (headers.IF_NONE_MATCH,) if HTTPStatus.NOT_MODIFIED in operation.empty else ()
        return (*common, headers.CONSISTENCY, *known)
    return (*common, headers.IDEMPOTENCY_KEY, headers.CHANGE_REASON, headers.IF_MATCH, headers.IF_NONE_MATCH)


def _schema(shape: type[Resource] | Mapping[str, Any]) -> Mapping[str, Any]:
    return {"$ref": REF.format(model=shape.__name__)} if isinstance(shape, type) else shape
