"""The application: all routes over one node, behind the guard."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from topicfold import __version__
from topicfold.runtime.engine import Engine
from topicfold.server import health, labels, namespaces, native_topics, operations, tenants, topics
from topicfold.server.guard import Guard
from topicfold.server.node import Node
from topicfold.server.routes import DocumentedApp, add
from topicfold.settings import Settings
from topicfold.telemetry import Metrics


def create_app(engine: Engine, settings: Settings) -> FastAPI:
    """Return the REST API of `engine`, which the caller starts before and stops after."""
    node = Node.of(engine, settings)
    metrics = Metrics(engine)
    app = DocumentedApp(
        title="Topicfold",
        version=__version__,
        summary="Labels and policies for Kafka topics.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.exception_handlers.clear()
    app.add_exception_handler(HTTPException, _leave_to_the_guard)
    app.add_middleware(Guard, allowed_hosts=settings.allowed_hosts, metrics=metrics)
    # A path is compared with these in their order: first what is asked most.
    for each in (
        *native_topics.operations(node),
        *labels.operations(node),
        *health.operations(node, metrics),
        *topics.operations(node),
        *namespaces.operations(node),
        *tenants.operations(node),
        *operations.operations(node),
    ):
        add(app, each)
    return app


async def _leave_to_the_guard(request: Request, error: Exception) -> Response:
    """Raise `error` again: the guard turns errors into answers, whoever raised them."""
    raise error
