"""Routes: how an operation is declared, documented and called.

Handlers take the request and return the answer: nothing is injected, so a call costs what the handler costs.
FastAPI keeps the table and writes the OpenAPI document from what is declared here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic.json_schema import models_json_schema
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from topicfold import errors
from topicfold.errors import TopicfoldError
from topicfold.wire import headers, resources
from topicfold.wire.problems import status_of
from topicfold.wire.resources import Problem, Resource

Handler = Callable[[Request], Awaitable[Response]]

READ_ERRORS: tuple[type[TopicfoldError], ...] = (
    errors.InvalidRequest, errors.InvalidName, errors.Forbidden, errors.NotReady, errors.PositionTimeout, errors.Resync,
)  # fmt: skip
WRITE_ERRORS = (
    *READ_ERRORS, errors.TooLarge, errors.KeyReused, errors.PreconditionFailed, errors.LogUnavailable,
    errors.OutcomeUnknown,
)  # fmt: skip

_SHAPES = [
    shape
    for shape in vars(resources).values()
    if isinstance(shape, type) and issubclass(shape, Resource) and shape not in (Resource, resources.PulsarResource)
]
_REF = "#/components/schemas/{model}"


class _DomainConvertor(StringConvertor):
    """The domain of a topic in a path; `topics` is PIP-451's spelling of `persistent`."""

    regex = "persistent|non-persistent|topics"


register_url_convertor("domain", _DomainConvertor())


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that a method does on a path.

    `answer` is the shape of a 200 or 201 (a class, or a JSON schema), None for no body. `query` describes the
    parameters by name; those that end in `*` may be repeated. `aliases` are further spellings of the path.
    """

    id: str
    method: str
    path: str
    handle: Handler
    summary: str
    status: int = 200
    answer: type[Resource] | Mapping[str, Any] | None = None
    body: type[Resource] | Mapping[str, Any] | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    errors: Sequence[type[TopicfoldError]] = ()
    aliases: Sequence[str] = ()


class DirectRoute(APIRoute):
    """A route whose endpoint is called with the request, and nothing between."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises:
            HTTPException: 405, the method is another.
        """
        if scope["method"] not in (self.methods or ()):
            raise HTTPException(405)
        response: Response = await self.endpoint(Request(scope, receive, send))
        await response(scope, receive, send)


class DocumentedApp(FastAPI):
    """FastAPI, with our shapes among the components of its document."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document, made once."""
        if self.openapi_schema is None:
            document = get_openapi(title=self.title, version=self.version, summary=self.summary, routes=self.routes)
            _, shapes = models_json_schema([(shape, "validation") for shape in _SHAPES], ref_template=_REF)
            document.setdefault("components", {}).setdefault("schemas", {}).update(shapes["$defs"])
            self.openapi_schema = document
        return self.openapi_schema


def add(app: FastAPI, operation: Operation) -> None:
    """Let `app` answer `operation`, in every spelling; the document shows the first."""
    for number, path in enumerate((operation.path, *operation.aliases)):
        app.router.add_api_route(
            path,
            operation.handle,
            methods=[operation.method],
            operation_id=operation.id,
            name=operation.id,
            summary=operation.summary,
            status_code=operation.status,
            response_class=Response,
            response_model=None,
            responses=_responses(operation),
            openapi_extra=_extra(operation),
            include_in_schema=number == 0,
            route_class_override=DirectRoute,
        )


def _responses(operation: Operation) -> dict[int | str, dict[str, Any]]:
    under_admin = operation.path.startswith("/admin/")
    codes: dict[int, list[str]] = {}
    for error in operation.errors:
        status = status_of(error.__new__(error), under_admin)
        if error.code not in codes.setdefault(status, []):
            codes[status].append(error.code)
    problem = {"application/problem+json": {"schema": {"$ref": _REF.format(model=Problem.__name__)}}}
    documented: dict[int | str, dict[str, Any]] = {
        status: {"description": ", ".join(found), "content": problem} for status, found in sorted(codes.items())
    }
    documented["default"] = {"description": "Any other error.", "content": problem}
    success: dict[str, Any] = {"description": "Done." if operation.answer is None else "The answer."}
    if operation.answer is not None:
        success["content"] = {"application/json": {"schema": _schema(operation.answer)}}
    if operation.path.startswith(("/admin/", "/api/")):
        success["headers"] = {name: {"schema": {"type": "string"}} for name in _answer_headers(operation)}
    documented[operation.status] = success
    return documented


def _answer_headers(operation: Operation) -> Sequence[str]:
    if operation.method == "GET":
        return (headers.LOG_POSITION, headers.LOG_AGE, headers.REQUEST_ID)
    return (headers.ETAG, headers.LOG_POSITION, headers.OPERATION_ID, headers.REQUEST_ID)


def _extra(operation: Operation) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [_path_parameter(name) for name in _names_in(operation.path)]
    for name, description in operation.query.items():
        text = {"type": "string"}
        schema = {"type": "array", "items": text} if name.endswith("*") else text
        parameters.append({"name": name.rstrip("*"), "in": "query", "description": description, "schema": schema})
    if operation.path.startswith(("/admin/", "/api/")):
        for name in _request_headers(operation):
            parameters.append({"name": name, "in": "header", "schema": {"type": "string"}})
    extra: dict[str, Any] = {"parameters": parameters} if parameters else {}
    if operation.body is not None:
        extra["requestBody"] = {"content": {"application/json": {"schema": _schema(operation.body)}}}
    return extra


def _request_headers(operation: Operation) -> Sequence[str]:
    common = (headers.MIN_POSITION, headers.REQUEST_ID)
    if operation.method == "GET":
        return (*common, headers.CONSISTENCY)
    return (*common, headers.IDEMPOTENCY_KEY, headers.CHANGE_REASON, headers.IF_MATCH)


def _names_in(path: str) -> list[str]:
    return [part[1:-1].partition(":")[0] for part in path.split("/") if part.startswith("{")]


def _path_parameter(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if name == "domain":
        schema["enum"] = _DomainConvertor.regex.split("|")
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _schema(shape: type[Resource] | Mapping[str, Any]) -> Mapping[str, Any]:
    return {"$ref": _REF.format(model=shape.__name__)} if isinstance(shape, type) else shape
