"""Traces: a span for each request, where OpenTelemetry is set up; FastAPI makes them (`traced`), the routes name them.

Where it is not, nobody asks about it while serving: FastAPI looks for it at each request, which is a tenth of what a
read costs. Spans say what the audit does, and queries beside it; no body and no token.
"""

from __future__ import annotations

import os
from importlib import import_module

import structlog
from opentelemetry import trace
from starlette.types import Scope

from topicfold.server.connections.exchange import method_asked
from topicfold.server.routing import Route, RouteTable

TRACE_ID = "topicfold.trace"
"""Where in the scope the trace's id is, in hexadecimal digits."""

_log = structlog.get_logger(__name__)

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_EXPORTER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


class TracedRoutes(RouteTable):
    """All routes of the API; a route that is found names the span of its request."""

    def find(self, scope: Scope) -> Route:
        """Return the route of a request, as `RouteTable.find` does, and note the trace in `scope`."""
        route = super().find(scope)
        span = trace.get_current_span()
        if span.get_span_context().is_valid:
            span.update_name(f"{method_asked(scope)} {route.path_format}")
            span.set_attribute("http.route", route.path_format)
            scope[TRACE_ID] = trace.format_trace_id(span.get_span_context().trace_id)
        return route


def is_traced() -> bool:
    """Return whether requests are to be traced: spans have somewhere to go, or OpenTelemetry is set up already."""
    if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return True
    said = os.environ.get
    asked = [name for name in _ENDPOINTS if said(name)]
    if not asked or said("OTEL_SDK_DISABLED", "").lower() == "true" or said("OTEL_TRACES_EXPORTER") == "none":
        return False
    try:
        import_module(_EXPORTER)
    except ImportError:
        _log.warning("requests_are_not_traced", setting=asked[0], hint="pip install 'topicfold[otel]'")
        return False
    return True
