"""FastAPI around our own routes, for the spans that it makes of requests. Only nodes that trace them import this."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.types import ASGIApp, Receive, Scope, Send

from topicfold import __version__
from topicfold.server.document import TITLE

_PROBES = frozenset(("/livez", "/readyz", "/metrics"))
"""What is asked every few seconds, and nobody looks for."""

_TELEMETRY: TelemetryConfig = {
    "auto_configure": True,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "exclude": lambda scope: scope.get("path") in _PROBES,
}
"""What FastAPI is to tell: spans of requests alone. Its metrics and logs say what ours do."""


class Traced(FastAPI):
    """Hands requests to `entry`, each within its span."""

    def __init__(self, entry: ASGIApp) -> None:
        super().__init__(title=TITLE, version=__version__, openapi_url=None, telemetry=_TELEMETRY)
        self._entry = entry

    def build_middleware_stack(self) -> ASGIApp:
        """Return what FastAPI hands requests to, and word of the server's start and stop."""

        async def traced(scope: Scope, receive: Receive, send: Send) -> None:
            await (self.router if scope["type"] == "lifespan" else self._entry)(scope, receive, send)

        return traced
