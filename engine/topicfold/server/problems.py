"""Errors as answers: problem documents with their status and headers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from topicfold.errors import TopicfoldError, Unauthenticated, Wait
from topicfold.wire import headers
from topicfold.wire.problems import NO_ROUTE, TYPE_PREFIX, problem_of

RETRY_AFTER_SECONDS = 1
REFUSED_AT_KEY = "topicfold.refused_at"
"""In a request's scope: headers of the answer, where it is known from where in the log its refusal comes."""


def problem_answer(error: TopicfoldError | HTTPException, scope: Scope, request_id: str) -> Response:
    """Return the answer that `error` is."""
    extra: dict[str, str] = dict(scope.get(REFUSED_AT_KEY, {}))
    if isinstance(error, HTTPException):
        document = _protocol_problem(error, scope["path"], request_id)
        extra.update(error.headers or {})
    else:
        document = problem_of(error, request_id, under_admin=scope["path"].startswith("/admin/"))
        if isinstance(error, Unauthenticated):
            extra[headers.AUTHENTICATE] = headers.BEARER
        if isinstance(error, Wait) and document["status"] == HTTPStatus.SERVICE_UNAVAILABLE:
            extra[headers.RETRY_AFTER] = str(RETRY_AFTER_SECONDS)
    body = orjson.dumps(document, default=str)
    return Response(body, document["status"], extra, headers.PROBLEM_TYPE)


def _protocol_problem(error: HTTPException, path: str, request_id: str) -> dict[str, Any]:
    """Return the problem of an error that HTTP itself has a name for and we have no class."""
    status = HTTPStatus(error.status_code)
    is_no_route = status is HTTPStatus.NOT_FOUND
    code = NO_ROUTE if is_no_route else status.name.lower()
    return {
        "type": TYPE_PREFIX + code,
        "title": status.phrase,
        "status": status.value,
        "detail": error.detail,
        "code": code,
        "reason": error.detail,
        "hint": _route_hint(path) if is_no_route else "",
        "requestId": request_id,
    }


def _route_hint(path: str) -> str:
    """Return what to do where `path` is no route: no route has a slash at its end."""
    return f"{'Leave out the slash at the end. ' if path.endswith('/') else ''}GET /openapi.json lists all routes."
