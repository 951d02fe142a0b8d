"""Errors as answers: problem documents with the right status and headers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, cast

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match, Route, Router
from starlette.types import Scope

from topicfold.errors import TopicfoldError, Wait
from topicfold.wire import headers
from topicfold.wire.problems import TYPE_PREFIX, problem_of

RETRY_AFTER_SECONDS = 1


def problem_answer(error: TopicfoldError | HTTPException, scope: Scope, request_id: str) -> Response:
    """Return the answer that `error` is."""
    extra: dict[str, str] = {}
    if isinstance(error, HTTPException):
        document = _protocol_problem(error, scope, request_id)
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            extra["Allow"] = ", ".join(allowed_methods(scope))
    else:
        document = problem_of(error, request_id, under_admin=scope["path"].startswith("/admin/"))
        if isinstance(error, Wait) and document["status"] == HTTPStatus.SERVICE_UNAVAILABLE:
            extra[headers.RETRY_AFTER] = str(RETRY_AFTER_SECONDS)
    body = orjson.dumps(document, default=str)
    return Response(body, document["status"], extra, headers.PROBLEM_TYPE)


def allowed_methods(scope: Scope) -> list[str]:
    """Return the methods that the path of `scope` takes, sorted."""
    router = cast("Router", scope["router"])
    return sorted(
        method
        for route in router.routes
        if isinstance(route, Route) and route.matches(scope)[0] is not Match.NONE
        for method in route.methods or ()
    )


def _protocol_problem(error: HTTPException, scope: Scope, request_id: str) -> dict[str, Any]:
    """Return the problem of an error that HTTP itself has a name for and we have no class."""
    status = HTTPStatus(error.status_code)
    reason, hint = error.detail, ""
    if status is HTTPStatus.NOT_FOUND and reason == status.phrase:
        reason, hint = f"there is no route {scope['path'][:200]}", "GET /openapi.json lists all routes."
    elif status is HTTPStatus.METHOD_NOT_ALLOWED:
        reason = f"{scope['method']} is not possible here; {', '.join(allowed_methods(scope))} is"
    code = status.name.lower()
    return {
        "type": TYPE_PREFIX + code,
        "title": status.phrase,
        "status": status.value,
        "detail": reason,
        "code": code,
        "reason": reason,
        "hint": hint,
        "requestId": request_id,
    }
