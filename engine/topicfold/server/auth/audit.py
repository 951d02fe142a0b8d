"""Who changed what, and who was refused: one log line for each change and each denial, whatever became of it.

The client is the address that the request came from: a proxy's, where there is one. The target is the path as it was
sent, so it is ASCII and on one line. No line holds a token, a query or a body.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import structlog
from starlette.exceptions import HTTPException
from starlette.types import Scope

from topicfold.errors import Forbidden, TopicfoldError, Unauthenticated
from topicfold.server.auth.principal import actor_of
from topicfold.server.connections.exchange import Exchange, is_dry_run, method_asked
from topicfold.server.tracing import TRACE_ID

_log = structlog.get_logger("topicfold.audit")

DONE = "done"
TRIED = "tried"
"""A dry run, that would not have been refused."""
FAILED = "failed"
"""By a fault of ours, or unanswered as the client or this node left: the topic's history says what became of it."""


def write_audit(scope: Scope, exchange: Exchange, failure: Exception | None) -> None:
    """Write down a request that has ended with `failure`, or none, if it was to change something or was refused."""
    route, client = scope.get("route"), scope.get("client")
    said: dict[str, Any] = {
        "actor": actor_of(scope),
        "method": method_asked(scope),
        "operation": "" if route is None else route.operation.id,
        "target": scope["raw_path"].decode("ascii", "backslashreplace"),
        "request_id": exchange.request_id,
        "client": client[0] if client else "",
    }
    if TRACE_ID in scope:
        said["trace_id"] = scope[TRACE_ID]
    if isinstance(failure, (Forbidden, Unauthenticated)):
        _log.warning("audit", outcome=failure.code, reason=failure.reason, **said)
    elif route is not None and scope["method"] != "GET":
        _log.info("audit", outcome=_outcome(scope, failure, exchange.status), **said)


def _outcome(scope: Scope, failure: Exception | None, status: int) -> str:
    match failure:
        case None if 0 < status < HTTPStatus.MULTIPLE_CHOICES:
            return TRIED if is_dry_run(scope) else DONE
        case None if status:
            return str(status)
        case TopicfoldError():
            return failure.code
        case HTTPException():
            return str(failure.status_code)
        case _:
            return FAILED
